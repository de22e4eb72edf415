"""What of a row is read: its key, the candidate it is, its group, grain and facts, as SQL over an alias `s`.

Names come from the catalog and are quoted by the driver (promise 24); every value is taken as text, so that nothing
depends on the type of a host's column, on its collation or on the session's settings.
"""

from __future__ import annotations

import json
import re

from psycopg import sql

from oneroof.sources.source import REGISTER, Source

SHORT = ("smallint", "integer", "bigint", "uuid")
DATED, UNDATED = "dated", "undated"
EPOCH = 2**32
_BITS = {"smallint": 15, "integer": 31, "bigint": 63}
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NEXT = "(SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint)"


def key_text(source: Source) -> sql.Composable:
    """A row's key as one text: itself, or a JSON array where it has several columns."""
    if len(source.key_columns) == 1:
        return sql.SQL('{}::text COLLATE "default"').format(named(source.key_columns[0]))
    columns = sql.SQL(", ").join(named(name) for name in source.key_columns)
    return sql.SQL("jsonb_build_array({})::text").format(columns)


def keyset_columns(source: Source, part: str) -> list[str]:
    """What the keyset goes by: the timestamp, where there is one, and the key."""
    dated = [source.timestamp_column] if part == DATED and source.timestamp_column is not None else []
    return [*dated, *source.key_columns]


def key_values(source: Source, key: sql.Composable) -> list[sql.Composable]:
    """The columns of a key that `key_text` has written, each of its type."""
    types = [sql.SQL(source.types[name]) for name in source.key_columns]
    if len(types) == 1:
        return [sql.SQL("{}::{}").format(key, types[0])]
    return [sql.SQL("({}::jsonb ->> {})::{}").format(key, sql.Literal(i), kind) for i, kind in enumerate(types)]


def could_be_key(source: Source, key: str) -> bool:
    """Whether a text can be asked for as a key at all."""
    types = [source.types[name] for name in source.key_columns]
    if len(types) == 1:
        return _fits(types[0], key)
    try:
        parts = json.loads(key)
    except ValueError:
        return False
    return isinstance(parts, list) and len(parts) == len(types) and all(map(_fits, types, map(str, parts)))


def _fits(kind: str, text: str) -> bool:
    if kind in _BITS:
        return bool(_WHOLE.fullmatch(text)) and -(2 ** _BITS[kind]) <= int(text) < 2 ** _BITS[kind]
    return kind != "uuid" or bool(_UUID.fullmatch(text))


def row_xid(alias: str) -> sql.Composable:
    """The 64-bit xid behind a 32-bit xmin: the last one before the next that has these low bits. The next is asked for
    once.
    """
    return sql.SQL(f"{_NEXT} - mod({_NEXT} - {alias}.xmin::text::bigint, {EPOCH})")


def key_mark(source: Source) -> sql.Composable:
    """The key as the open set keeps it: itself, unless it could be too long for an index."""
    if all(source.types[name] in SHORT for name in source.key_columns):
        return key_text(source)
    return sql.SQL("oneroof.gov_key_mark({})").format(key_text(source))


def is_own(source: Source) -> sql.Composable:
    """Whether oneroof wrote the row itself, into a channel that it also follows: counted, never acted on."""
    if source.own_column is None:
        return sql.SQL("false")
    return sql.SQL("coalesce(starts_with({}, {}), false)").format(
        text(source.own_column), sql.Literal(source.own_prefix or "")
    )


def candidate_key(source: Source) -> sql.Composable:
    """coalesce(canonical_address, collection ‖ ':' ‖ code) (doc 39 §39.4); source and key where it has neither."""
    built = sql.SQL("coalesce({}, '') || ':' || coalesce({}, '')").format(class_of(source), ref(source))
    # Columns of different collations have none in common, and nothing of ours depends on the host's.
    return sql.SQL('coalesce({}, {}) COLLATE "default"').format(text(source.address_column), built)


def grain(source: Source) -> sql.Composable:
    """A leaf is accounted under its container; roots, containers and all others count by themselves (doc 31 §6)."""
    if source.grain_column is None:
        return sql.SQL("'governed'")
    return sql.SQL("CASE WHEN {} = 'leaf' THEN 'inherited' ELSE 'governed' END").format(text(source.grain_column))


def facts_hash(source: Source) -> sql.Composable:
    """Of the columns one by one, each with a seed of its own, so that NULL is not the empty text and no two columns run
    into each other.
    """
    each: list[sql.Composable] = [
        sql.SQL('coalesce(hashtextextended({} COLLATE "C", {}), {})').format(text(name), seed, seed)
        for seed, name in enumerate(fact_names(source), start=1)
    ]
    return sql.SQL("({})").format(sql.SQL(" # ").join([sql.SQL("0::bigint"), *each]))


def fact_names(source: Source) -> list[str]:
    """Whatever a judgement may depend on, each column once: grouping, facts, class and grain. In a register every
    column but the timestamp, where no facts are named.
    """
    if source.source_kind == REGISTER and not source.fact_columns:
        return sorted(name for name in source.types if name != source.timestamp_column)
    parts = [*source.group_columns, *source.fact_columns, source.class_column, source.grain_column]
    return list(dict.fromkeys(name for name in parts if name is not None))


def part_names(source: Source) -> list[str]:
    """What a handoff may say of a row: its facts, and who made it what it is (doc 32 §7)."""
    names = [*fact_names(source), source.system_column, source.actor_column]
    return list(dict.fromkeys(name for name in names if name is not None))


def parts(source: Source) -> sql.Composable:
    """The values of these columns as an array of texts, which costs little for every row and is read for few."""
    return sql.SQL("ARRAY[{}]::text[]").format(sql.SQL(", ").join(map(text, part_names(source))))


def ref(source: Source) -> sql.Composable:
    """What a row is called: its object's name, else its key."""
    return text(source.ref_column) if source.ref_column else key_text(source)


def class_of(source: Source) -> sql.Composable:
    """The class of a row, in the estate its collection; a source without such a column is a class of its own."""
    return text(source.class_column) if source.class_column else sql.Literal(source.source_name)


def class_mark(source: Source) -> sql.Composable:
    """The hash of the class, as `governance_fact_set` has it."""
    return sql.SQL("hashtext(left(coalesce({}, ''), 500) COLLATE \"C\")").format(class_of(source))


def group_key(source: Source) -> sql.Composable:
    parts = [sql.SQL(" || '/' || coalesce({}, '')").format(text(column)) for column in source.group_columns]
    return sql.SQL('({}{}) COLLATE "default"').format(sql.Literal(source.source_name), sql.Composed(parts))


def text(column: str | None) -> sql.Composable:
    return sql.SQL("NULL::text") if column is None else sql.SQL("{}::text").format(named(column))


def named(name: str) -> sql.Composable:
    return sql.SQL("s.{}").format(sql.Identifier(name))


def distinct_facts(source: Source, which: sql.Composable) -> sql.Composed:
    """Facts as texts, each set of them once, with what follows from them."""
    names = fact_names(source)
    texts: list[sql.Composable] = [sql.SQL("{} AS {}").format(text(name), sql.Identifier(name)) for name in names]
    pairs = [sql.SQL("{}::text, s.{}").format(sql.Literal(name), sql.Identifier(name)) for name in names]
    return sql.SQL(
        """SELECT {hash} AS facts_hash, {group} AS group_key, {kind} AS class, {grain} AS grain,
  jsonb_build_object({pairs}) AS row_facts
FROM (SELECT DISTINCT {texts} FROM {table} AS s {which}) AS s"""
    ).format(
        hash=facts_hash(source),
        group=group_key(source),
        kind=class_of(source),
        grain=grain(source),
        pairs=sql.SQL(", ").join(pairs),
        texts=sql.SQL(", ").join(texts or [sql.SQL("true")]),
        table=source.table,
        which=which,
    )
