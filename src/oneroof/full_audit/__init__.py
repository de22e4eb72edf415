"""The full audit: sources against candidates, both ways."""
