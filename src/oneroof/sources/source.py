"""A source: one tailed table, with the parts that its columns play (doc 39 §39.9: a new source is data, not code)."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql

INVENTORY = "inventory"
CHANGELOG = "changelog"
REGISTER = "register"


@dataclass(frozen=True, slots=True)
class Source:
    """One tailed table with the parts its columns play, and their types as the catalog has them now."""

    source_name: str
    schema_name: str
    table_name: str
    source_kind: str
    timestamp_column: str | None
    key_columns: list[str]
    address_column: str | None
    class_column: str | None
    ref_column: str | None
    grain_column: str | None
    group_columns: list[str]
    fact_columns: list[str]
    types: dict[str, str]
    own_column: str | None = None
    own_prefix: str | None = None
    system_column: str | None = None
    actor_column: str | None = None
    births: bool = False
    is_trusted: bool = False
    in_index_order: bool = False
    key_is_unique: bool = False

    @property
    def is_fast(self) -> bool:
        """Whether its newest rows are read: without an index by time that would read the table every time."""
        return self.timestamp_column is not None and self.in_index_order

    @property
    def table(self) -> sql.Identifier:
        return sql.Identifier(self.schema_name, self.table_name)

    @property
    def columns(self) -> list[str]:
        """Every column that plays a part."""
        single = (
            self.timestamp_column,
            self.address_column,
            self.class_column,
            self.ref_column,
            self.grain_column,
            self.own_column,
            self.system_column,
            self.actor_column,
        )
        return [*(c for c in single if c is not None), *self.key_columns, *self.group_columns, *self.fact_columns]
