"""Many small sources, each a table of its own."""

from __future__ import annotations

from psycopg import sql

from oneroof.database.connection import Connection
from oneroof.sources import registration, source


def add_sources(admin: Connection, *, many: int, rows: int, after: int = 0) -> None:
    """Tables `many_0`, `many_1` … with so many rows each, as trusted sources of births."""
    for i in range(after, after + many):
        name = f"many_{i}"
        table = sql.Identifier(name)
        admin.execute(
            sql.SQL("CREATE TABLE {} (id int PRIMARY KEY, at timestamptz, code text, status text)").format(table)
        )
        admin.execute(sql.SQL("CREATE INDEX ON {} (at, id)").format(table))
        admin.execute(
            sql.SQL(
                "INSERT INTO {} SELECT n, now() - n * interval '1 minute', {} || n, 'x'"
                " FROM generate_series(1, {}) AS n"
            ).format(table, sql.Literal(f"{name}/"), sql.Literal(rows))
        )
        registration.add(
            admin, name, key=["id"], timestamp="at", ref="code", group_by=["status"], kind=source.INVENTORY, births=True
        )
    admin.execute("UPDATE oneroof.governance_source SET trusted_at = now() WHERE trusted_at IS NULL")
