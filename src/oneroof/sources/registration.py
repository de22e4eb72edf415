"""Registering sources: the tables that are tailed, as rows of `governance_source` (doc 39 §39.9).

A source is an ordinary or partitioned table whose columns exist in the catalog and whose key cannot be NULL; views,
system tables and our own tables are refused. Names come from the catalog and are quoted by the driver; no SQL text
is ever stored (promise 24).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import psycopg
from psycopg import sql

from oneroof.database import host_schema
from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import OneroofError, Refused
from oneroof.host import expected_tables
from oneroof.people import requests
from oneroof.sources.source import CHANGELOG, INVENTORY, REGISTER, Source

# Tables of our own that are followed like the host's: who answers for what, what is excused, what is judged by.
_OWN = {"governance_object_ownership", "governance_exception", "governance_ruleset"}
# And those whose rows are governed objects themselves, on request (`own`).
_OWN_OBJECTS = {"governance_rule", "governance_gate", "governance_worker_policy", "governance_source"}
_KEY_TYPES = {"smallint", "integer", "bigint", "uuid", "text", "character varying"}
_TIMESTAMP_TYPES = {"timestamp with time zone", "timestamp without time zone", "date"}
_NAME = 'a name as in SQL: births, app.births, "Odd Name"'
_READERS = ("oneroof_owner", "oneroof_reader", "oneroof_worker")


@dataclass(frozen=True, slots=True)
class Shape:
    """What the catalog says of a table that is to be tailed."""

    relation: int
    schema_name: str
    table_name: str
    kind: str
    persistence: str
    is_ours: bool
    columns: dict[str, str]
    nullable: list[str]


def listing(connection: Connection) -> list[Source]:
    """Every source whose table is still there."""
    with transaction(connection, doing="listing sources", read_only=True):
        found = [Source(*row) for row in connection.execute(queries("sources/registration")["listing"])]
    # A column that is no longer there has no type: the server refuses a statement that reads it, and no other.
    return [replace(each, types={**dict.fromkeys(each.columns, "text"), **each.types}) for each in found]


def lost(connection: Connection) -> list[str]:
    """The names of sources whose table was dropped."""
    with transaction(connection, doing="looking for lost sources", read_only=True):
        return [str(name) for (name,) in connection.execute(queries("sources/registration")["lost"])]


def find(connection: Connection, name: str) -> Source:
    """One source by its name."""
    for source in listing(connection):
        if source.source_name == name:
            return source
    if name in lost(connection):
        raise Refused(f"the table of source {name} is not there any more", hint=f"oneroof source remove {name}")
    raise Refused(f"there is no source {name}", hint="oneroof source list")


def add(
    connection: Connection,
    table: str,
    *,
    key: Sequence[str],
    kind: str = INVENTORY,
    timestamp: str | None = None,
    ref: str | None = None,
    group_by: Sequence[str] = (),
    facts: Sequence[str] = (),
    of_class: str | None = None,
    system: str | None = None,
    actor: str | None = None,
    births: bool = False,
) -> Source:
    """Register a table, and let our readers SELECT from it. The same table again replaces what was said of it."""
    shape = _look_up(connection, table)
    wanted = Source(
        source_name=_named(shape),
        schema_name=shape.schema_name,
        table_name=shape.table_name,
        source_kind=kind,
        timestamp_column=timestamp,
        key_columns=list(key),
        address_column=None,
        class_column=of_class,
        ref_column=ref,
        grain_column=None,
        group_columns=list(group_by),
        fact_columns=list(facts),
        types=shape.columns,
        system_column=system,
        actor_column=actor,
        births=births,
    )
    for problem in _problems(wanted, shape):
        raise problem
    with transaction(connection, doing=f"adding the source {wanted.source_name}"):
        # Of our own tables the right people may read, and only our functions write them.
        is_own = shape.is_ours and wanted.source_name in _OWN_OBJECTS
        for role in () if is_own else _READERS:
            connection.execute(sql.SQL("GRANT SELECT ON {} TO {}").format(wanted.table, sql.Identifier(role)))
        connection.execute("SET LOCAL ROLE oneroof_owner")
        connection.execute(queries("sources/registration")["take_back"], {"name": wanted.source_name})
        connection.execute(
            queries("sources/registration")["add"],
            {
                "name": wanted.source_name,
                "relation": shape.relation,
                "kind": kind,
                "timestamp": timestamp,
                "key": wanted.key_columns,
                "ref": ref,
                "group": wanted.group_columns,
                "facts": wanted.fact_columns,
                "class": of_class,
                "system": system,
                "actor": actor,
                "births": births,
                "is_own": is_own,
            },
        )
    return find(connection, wanted.source_name)


def request_trust(connection: Connection, name: str, *, reason: str) -> int:
    """Ask that the rows of a source count; another person decides. The number of the request."""
    source = find(connection, name)
    return requests.request(
        connection,
        kind="source.trust",
        subject=name,
        content={"relation": _regclass(connection, source)},
        reason=reason,
    )


def _regclass(connection: Connection, source: Source) -> str:
    with transaction(connection, doing=f"looking up {source.source_name}", read_only=True):
        name = source.table.as_string(connection)
        return str(one(connection, queries("sources/registration")["regclass"], {"table": name})[0])


def let_go(connection: Connection, name: str) -> None:
    """What is left of a source that was removed before is to be retired as well."""
    with transaction(connection, doing=f"letting the objects of {name} go", role="oneroof_owner"):
        connection.execute(
            queries("sources/registration")["let_go"], {"name": name, "keep": False, "with_objects": True}
        )


def remove(connection: Connection, name: str, *, retire: bool = False) -> Source | None:
    """Forget a source and how far its workers were. Its objects are kept as they are, which a proof tells, or are to be
    retired (`removal`). None if its table was gone before.
    """
    source = None if name in lost(connection) else find(connection, name)
    with transaction(connection, doing=f"removing the source {name}"):
        if source is not None and name not in (
            _OWN | _OWN_OBJECTS | {table.name for table in expected_tables.tables()}
        ):
            for role in _READERS:
                connection.execute(sql.SQL("REVOKE SELECT ON {} FROM {}").format(source.table, sql.Identifier(role)))
        connection.execute("SET LOCAL ROLE oneroof_owner")
        for statement in (
            "forget_open_rows",
            "forget_open_spans",
            "forget_cursors",
            "forget_untold",
            "forget_windows",
            "forget_seen",
            "remove",
        ):
            connection.execute(queries("sources/registration")[statement], {"name": name})
        has_objects = source is None or source.source_kind == INVENTORY
        connection.execute(
            queries("sources/registration")["let_go"], {"name": name, "keep": not retire, "with_objects": has_objects}
        )
    return source


def check(connection: Connection, source: Source) -> list[str]:
    """What has become wrong with a source since it was added; nothing, if all is well."""
    try:
        shape = _look_up(connection, sql.Identifier(source.schema_name, source.table_name).as_string(connection))
    except OneroofError as error:
        return [str(error)]
    return [str(problem) for problem in _problems(replace(source, types=shape.columns), shape)]


def _named(shape: Shape) -> str:
    """The name of a source: its table's, in the host's schema and in ours; the host's tables take no name of ours."""
    is_taken = not shape.is_ours and shape.table_name in _OWN | _OWN_OBJECTS
    if shape.is_ours or (shape.schema_name == host_schema.of_process() and not is_taken):
        return shape.table_name
    return f"{shape.schema_name}.{shape.table_name}"


def _look_up(connection: Connection, table: str) -> Shape:
    """The table that SQL would mean by these words."""
    try:
        # The name is resolved as a session would, everything else of it under the pinned path.
        path = f"{host_schema.quoted(host_schema.of_process())}, pg_temp"
        with transaction(connection, doing=f"looking up {table}", read_only=True, search_path=path):
            (relation,) = one(connection, queries("sources/registration")["resolve"], {"table": table})
        with transaction(connection, doing=f"looking up {table}", read_only=True):
            row = connection.execute(queries("sources/registration")["look_up"], {"relation": relation}).fetchone()
    except OneroofError as error:
        if isinstance(error.__cause__, (psycopg.errors.SyntaxError, psycopg.errors.InvalidName, psycopg.DataError)):
            raise Refused(
                f"{table!r} is not the name of a table", hint='a name as in SQL: table, "Odd Name", schema.table'
            ) from None
        raise
    if row is None:
        raise Refused(f"there is no table {table}", hint='a name as in SQL: table, "Odd Name", schema.table')
    return Shape(*row)


def _problems(source: Source, shape: Shape) -> Iterator[Refused]:
    name = f"{shape.schema_name}.{shape.table_name}"
    kinds = {"v": "a view", "m": "a materialized view", "f": "a foreign table", "S": "a sequence", "i": "an index"}
    if shape.schema_name in ("pg_catalog", "information_schema", "pg_toast"):
        yield Refused(f"{name} is a system table and cannot be tailed")
    elif shape.is_ours and source.source_name not in _OWN | _OWN_OBJECTS:
        yield Refused(f"{name} is oneroof's own and cannot be tailed")
    elif shape.kind not in ("r", "p"):
        what = kinds.get(shape.kind, "not a table")
        yield Refused(f"{name} is {what}; only ordinary and partitioned tables can be tailed")
    elif shape.persistence == "t":
        yield Refused(f"{name} is temporary and cannot be tailed")
    for column in source.columns:
        if column not in shape.columns:
            known = ", ".join(shape.columns)
            yield Refused(f"{name} has no column {column!r}", hint=f"its columns are {known}")
            return
    if not source.key_columns:
        yield Refused(f"{name} needs a key", hint="--key COLUMN[,COLUMN…]")
    for column in source.key_columns:
        if shape.columns[column] not in _KEY_TYPES:
            yield Refused(f"the key {column} of {name} is {shape.columns[column]}; a key is int, bigint, uuid or text")
        elif column in shape.nullable:
            yield Refused(f"the key {column} of {name} may be NULL, and a row without a key cannot be accounted")
    dated = source.timestamp_column
    if dated is not None and shape.columns[dated] not in _TIMESTAMP_TYPES:
        yield Refused(f"{dated} of {name} is {shape.columns[dated]}, not a timestamp or a date")
    if source.source_kind not in (INVENTORY, CHANGELOG, REGISTER):
        yield Refused(f"a source is an {INVENTORY}, a {CHANGELOG} or a {REGISTER}, not {source.source_kind!r}")
    elif source.births and source.source_kind != INVENTORY:
        yield Refused(f"{name} cannot hold births as a {source.source_kind}; only rows of an {INVENTORY} are objects")
