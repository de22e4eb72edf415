"""The estate: a replica of the host's substrate with simulated data, for trial, tests and benchmarks.

`build` makes it in an empty database, in one transaction; `live` keeps changing it at a rate. Both are never
used on a host: `build` refuses a database that has any of the tables, `live` one that `build` did not make.
"""
