"""The estate's build against bare inserts: at most twice the time of the same rows into the same tables.

Bare is one INSERT … SELECT from generate_series per table with the simplest values of about the same width, then the
same indexes; no plan, no small registries, no statistics. Both run in turn in one database, which is emptied
between runs; what is compared is the medians.

    python -m bench.estate 'host=… dbname=an_empty_database' [rows] [rounds]
"""

from __future__ import annotations

import sys
from statistics import median
from time import monotonic

from bench.figure import Figure
from bench.ground import Trial
from oneroof.config import load
from oneroof.database.connection import Connection, connect
from oneroof.database.statements import one
from oneroof.database.transaction import transaction
from oneroof.errors import Refused
from oneroof.estate.build import DEFAULT_ROWS, build, table_names
from oneroof.estate.statement import statement
from oneroof.estate.volumes import Volumes, volumes_of

NAME = "estate build / bare insert"
GOAL = 2.0

BARE = {
    "births": """INSERT INTO birth_registry (id, collection_name, entity_code, species_code, governance_role, status,
                                             certified, born_at, actor_ref, source_system, created_at)
                 SELECT n, 'collection_' || mod(n, 78), 'ABC-' || n, 'SPC-01', 'leaf', 'born', false,
                        '2026-02-17'::timestamptz + n * interval '1 second', 'host', 'birth_gate',
                        '2026-02-17'::timestamptz + n * interval '1 second'
                 FROM generate_series(1, %s) AS n""",
    "changes": """INSERT INTO registry_changelog (id, entity_type, entity_code, action, "timestamp", details)
                  SELECT n, 'collection_' || mod(n, 78), 'ABC-' || n, 'update',
                         '2026-02-17'::timestamp + n * interval '1 second', '{}'
                  FROM generate_series(1, %s) AS n""",
    "events": """INSERT INTO event_outbox (event_domain, event_type, event_stream, delivery_lane, event_severity,
                     event_subject_table, event_subject_ref, canonical_address, actor_ref, source_system,
                     safe_payload, occurred_at, created_at)
                 SELECT 'system', 'alert', 'system.alert', 'immediate', 'warn', 'system_issues', n::text,
                        'system_issues:' || n, 'host', 'host', '{"count": 42, "source": "system.alert"}',
                        '2026-02-17'::timestamptz + n * interval '1 second',
                        '2026-02-17'::timestamptz + n * interval '1 second'
                 FROM generate_series(1, %s) AS n""",
    "reads": """INSERT INTO event_read (event_id, actor_ref, read_at, read_status_source)
                SELECT gen_random_uuid(), 'GOV-SIV', '2026-02-17'::timestamptz + n * interval '1 second', 'digest'
                FROM generate_series(1, %s) AS n""",
    "issues": """INSERT INTO system_issues (id, issue_type, bucket, severity, status, title, entity_type, entity_code,
                     owner_ref, coalesce_key, business_logic_hash, violation_hash, first_seen_at, last_seen_at,
                     resolved_at, created_at, updated_at)
                 SELECT n, 'count_mismatch', 'silent_fail', 'medium', 'resolved', 'count mismatch in collection_42',
                        'collection_' || mod(n, 78), n::text, 'GOV-SIV', 'count_mismatch:collection_42:' || n,
                        md5(n::text), md5(n::text), t, t, t, t, t
                 FROM generate_series(1, %s) AS n,
                      LATERAL (SELECT '2026-02-17'::timestamptz + n * interval '1 second' AS t) AS at""",
}


def run(trial: Trial) -> list[Figure]:
    """In a database of its own."""
    return [measure(trial.server.dsn(), rows=trial.rows, rounds=trial.rounds)]


def measure(dsn: str, *, rows: int = DEFAULT_ROWS, rounds: int = 3) -> Figure:
    """The ratio of medians. The database must be empty, and is left empty."""
    connection = connect(dsn, settings=load(), application="oneroof bench")
    (empty,) = one(
        connection,
        "SELECT NOT EXISTS (SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace)",
    )
    if not empty:
        raise Refused("the benchmark wants an empty database, for it drops what it builds")
    ours, bare = [], []
    with connection:
        for _ in range(rounds):
            bare.append(_time_bare(connection, volumes=volumes_of(rows)))
            _empty(connection)
            ours.append(build(connection, rows=rows).seconds)
            _empty(connection)
    print(f"build {median(ours):.2f} s, bare {median(bare):.2f} s, {rounds} rounds of {rows} births", file=sys.stderr)
    return Figure(name=NAME, value=median(ours) / median(bare), goal=GOAL)


def main(arguments: list[str]) -> int:
    """Print the ratio; 0 if the goal is met."""
    if not 1 <= len(arguments) <= 3:
        print(__doc__, file=sys.stderr)
        return 2
    dsn, *numbers = arguments
    figure = measure(dsn, **dict(zip(("rows", "rounds"), map(int, numbers), strict=False)))
    print(f"{figure.name}: {figure.shown} (goal {figure.wanted})")
    return 0 if figure.is_met else 1


def _time_bare(connection: Connection, *, volumes: Volumes) -> float:
    started = monotonic()
    with transaction(connection, doing="inserting bare rows", search_path="public, pg_temp"):
        connection.execute("SET LOCAL maintenance_work_mem = '256MB'")
        connection.execute(statement("tables"))
        for volume, insert in BARE.items():
            connection.execute(insert, (getattr(volumes, volume),))
        connection.execute(statement("indexes"))
    return monotonic() - started


def _empty(connection: Connection) -> None:
    """Drop the tables and the view; the logins stay."""
    with transaction(connection, doing="emptying the database", search_path="public, pg_temp"):
        connection.execute("DROP VIEW v_registry_counts")
        tables = [name for name in table_names() if name != "v_registry_counts"]
        connection.execute(f"DROP TABLE {', '.join(tables)}")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
