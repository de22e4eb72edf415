"""The embedded server: a private PostgreSQL that starts with its first user and goes with its last.

`EmbeddedServer.open` is all a caller needs. `binaries` finds PostgreSQL, `identity` says as whom it runs,
`cluster` knows the data folder, `warden` is the small process that owns the postmaster, `server` ties them.
For trial and tests; production brings its own server. How it lives and dies: docs/explanation/embedded.md.
"""
