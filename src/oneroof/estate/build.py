"""Build the estate: tables, data, indexes, statistics and logins in one transaction (doc 31 §2, doc 39 §39.2).

Set-based: each chunk is one INSERT … SELECT over generate_series joined to small temporary plan tables.
Killed, interrupted or out of disk, nothing is left. The same (rows, seed) gives the same contents on every
server, `estate_build.built_at` excepted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from oneroof import __version__
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.database.transaction import transaction
from oneroof.errors import HeldElsewhere, Refused, Usage
from oneroof.estate.logins import LOGINS, check_logins, create_logins
from oneroof.estate.statement import statement
from oneroof.estate.volumes import LARGEST, LIVE_BIRTHS, Volumes, volumes_of

DEFAULT_ROWS = LIVE_BIRTHS
DEFAULT_SEED = 20260601
CHUNK = 100_000
_LOCK = "oneroof.estate.build"
_MADE = re.compile(r"^CREATE (?:TABLE|VIEW) (\w+)", re.MULTILINE)

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estate:
    """What was built, and how long it took."""

    rows: int
    seed: int
    volumes: Volumes
    collections: int
    logins: tuple[str, ...]
    seconds: float


def table_names() -> tuple[str, ...]:
    """The tables and the view of the estate, and its mark."""
    return tuple(_MADE.findall(statement("tables")))


def build(
    connection: Connection,
    *,
    rows: int = DEFAULT_ROWS,
    seed: int = DEFAULT_SEED,
    progress: Progress = lambda _label, _done, _total: None,
) -> Estate:
    """Make the estate in a database that has none of its tables; `progress` is told of every chunk."""
    if not 1 <= rows <= LARGEST:
        raise Usage(f"--rows is {rows}; an estate has 1 to {LARGEST} births")
    if not -(2**63) <= seed < 2**63:
        raise Usage(f"--seed is {seed}; it must fit in 64 bits")
    started = monotonic()
    volumes = volumes_of(rows)
    with transaction(connection, doing="building the estate", search_path="public, pg_temp"):
        _check_database(connection)
        check_logins(connection)
        collections = _write(connection, volumes=volumes, seed=seed, progress=progress)
    return Estate(
        rows=rows,
        seed=seed,
        volumes=volumes,
        collections=collections,
        logins=LOGINS,
        seconds=monotonic() - started,
    )


def _check_database(connection: Connection) -> None:
    free, encoding = one(
        connection,
        "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0)), current_setting('server_encoding')",
        (_LOCK,),
    )
    if not free:
        raise HeldElsewhere("another estate is being built in this database", hint="wait for it to end")
    if encoding != "UTF8":
        raise Refused(
            f"the database's encoding is {encoding}; an estate needs UTF8",
            hint="CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
        )
    present = connection.execute(
        """SELECT relname::text FROM pg_catalog.pg_class
           WHERE relnamespace = 'public'::regnamespace AND relname = ANY (%s)
           UNION SELECT typname::text FROM pg_catalog.pg_type
           WHERE typnamespace = 'public'::regnamespace AND typname = ANY (%s) ORDER BY 1""",
        (list(table_names()), list(table_names())),
    ).fetchall()
    if present:
        raise Refused(
            f"the database already has {', '.join(name for (name,) in present)}; an estate is built in a "
            "database that has none of its tables",
            hint="name an empty database with --dsn or ONEROOF_DSN",
        )


def _write(connection: Connection, *, volumes: Volumes, seed: int, progress: Progress) -> int:
    """Fill first, index after: an index built over the rows is cheaper than one that grows with them."""
    connection.execute("SET LOCAL maintenance_work_mem = '256MB'")
    connection.execute(statement("tables"))
    connection.execute(statement("plan"))
    connection.execute(
        statement("volumes"),
        {
            "rows": volumes.births,
            "seed": seed,
            "certified": volumes.certified,
            "changes": volumes.changes,
            "events": volumes.events,
            "issues": volumes.issues,
            "gaps": volumes.gaps,
        },
    )
    connection.execute(statement("registries"))
    connection.execute(statement("members"))
    (members,) = one(connection, "SELECT members FROM pg_temp.estate_plan")
    steps = (
        ("birth_registry", members, volumes.births),
        ("registry_changelog", 0, volumes.changes),
        ("event_outbox", 0, volumes.events),
        ("event_read", 0, volumes.reads),
        ("system_issues", 0, volumes.issues),
    )
    # The indexes and statistics take about half as long as the rows.
    done, total = members, volumes.total + 3 * (volumes.total // 6)
    for table, start, end in steps:
        for first in range(start + 1, end + 1, CHUNK):
            last = min(first + CHUNK - 1, end)
            connection.execute(statement(table), {"first": first, "last": last})
            done += last - first + 1
            progress(table, done, total)
    for script in ("routes", "indexes", "finish"):
        progress(script, done, total)
        connection.execute(statement(script))
        done += volumes.total // 6
    (collections,) = one(connection, "SELECT count(*) FROM collection_registry")
    connection.execute(
        "INSERT INTO estate_build (rows, seed, built_at, version) VALUES (%s, %s, now(), %s)",
        (volumes.births, seed, __version__),
    )
    create_logins(connection)  # last: a build in another database waits for this commit
    return int(collections)
