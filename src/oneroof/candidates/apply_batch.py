"""A batch of rows becomes candidates, remembered versions or staged failures, in one statement each.

A first sweep inserts plainly, which is the fastest there is; if a key is already there the caller runs the batch again
as an upsert, in which a version that was applied before, or that comes back with the same facts, changes nothing
(promise 2). The first row that resolves to a key represents it (doc 31 §6: duplicates collapse). Statements are
composed once per shape and kept by the worker that runs them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

from oneroof.database.connection import Connection
from oneroof.database.statements import execute, queries
from oneroof.sources.source import Source

# A candidate that was not judged yet is undecided, under no ruleset.
NO_RULESET = "none"
EVERY = sql.SQL("true")
NO_MORE = sql.SQL("")
# An xid that no row has: versions below it are not remembered.
FORGET = 2**62
# What becomes of a candidate that a birth takes: whose it is, and the notes of both rows.
TAKING = ("taken", "unnoted", "given_up")
# How versions are remembered: each by itself; by what was written from them, and those by themselves from which nothing
# was; or what a transaction wrote from one row to another.
ROWS, UNWRITTEN, SPANS = "remembered", "unwritten", "spans"
# Of what a batch wrote, and of what is remembered, the planner does not know how much it is.
COMPARING = {"enable_nestloop": "off", "enable_seqscan": "off"}


@dataclass(frozen=True, slots=True)
class Applied:
    """What a batch did: rows read, those of them that count, candidates or marks written, the births among them, the
    changes that share another's mark, our own rows among those that count, the latest row to be believed (NULL,
    infinity and what is beyond now + 5 min mark nothing), who wrote the rows, and the keys of those that were put
    aside.
    """

    read: int
    counted: int
    written: int
    born: int
    coalesced: int
    own: int
    mark_ts: str | None
    mark_key: str | None
    xids: list[int]
    staged: list[str] = field(default_factory=list)

    @property
    def watermark(self) -> tuple[str, str] | None:
        """The timestamp and the key of the latest row to be believed."""
        return None if self.mark_ts is None or self.mark_key is None else (self.mark_ts, self.mark_key)

    def mark(self, source: Source) -> list[str] | None:
        """The same as a place in the order of the keyset."""
        if self.watermark is None:
            return None
        ts, key = self.watermark
        return [ts, *([key] if len(source.key_columns) == 1 else map(str, json.loads(key)))]


@dataclass(frozen=True, slots=True)
class Ask:
    """A statement, the parameters of it, and whether it is to be prepared at once."""

    statement: bytes
    given: dict[str, Any]
    prepare: bool | None = None


class Statements:
    """Statements of one worker on one source, composed when first asked for."""

    def __init__(self) -> None:
        self._composed: dict[Hashable, bytes] = {}

    def get(self, *shape: Hashable, compose: Callable[[], sql.Composed]) -> bytes:
        """The statement of this shape."""
        if shape not in self._composed:
            self._composed[shape] = compose().as_bytes(None)
        return self._composed[shape]


def seeding(rows: sql.Composed) -> sql.Composed:
    """Write rows whose keys are believed to be new; a key that is not raises UniqueViolation."""
    return sql.SQL(queries("candidates/apply_batch")["seed"]).format(judged=_judged(rows))


def reseeding(rows: sql.Composed) -> sql.Composed:
    """Write rows whose keys may be there."""
    return sql.SQL(queries("candidates/apply_batch")["reseed"]).format(
        judged=_judged(rows), upsert=sql.SQL(queries("candidates/apply_batch")["upsert"])
    )


def noting_duplicates(rows: sql.Composed) -> sql.Composed:
    """Note the rows that another row's candidate stands for, after they were written."""
    return sql.SQL(queries("candidates/apply_batch")["duplicates"]).format(rows=rows)


def taking(rows: sql.Composed) -> sql.Composed:
    """Give births the candidates of their objects, where a registry of the class had them before (doc 31 §7)."""
    words = {name: sql.SQL(queries("candidates/apply_batch")[name]) for name in TAKING}
    return sql.SQL(queries("candidates/apply_batch")["take"]).format(rows=rows, **words)


def met(rows: sql.Composed) -> sql.Composed:
    """Those of some rows whose key is among %(met)s."""
    return sql.SQL("SELECT * FROM ({}) AS r WHERE r.candidate_key = ANY (%(met)s::text[])").format(rows)


def unmet(rows: sql.Composed) -> sql.Composed:
    """The others."""
    return sql.SQL("SELECT * FROM ({}) AS r WHERE (r.candidate_key = ANY (%(met)s::text[])) IS NOT TRUE").format(rows)


def known_key(violation: psycopg.Error) -> str | None:
    """The key that was there already, which the server names in whatever language; None where it does not."""
    _, found, rest = (violation.diag.message_detail or "").partition("(candidate_key)=(")
    key, _, _ = rest.rpartition(")")
    return key if found and key else None


def staging(rows: sql.Composed, *, counts: sql.Composable = EVERY, memory: str = ROWS) -> sql.Composed:
    """Put bare rows aside that cannot be applied, and remember them like any other."""
    staged = sql.SQL("put AS ({})").format(sql.SQL(queries("candidates/apply_batch")["staged"]).format())
    told = sql.SQL(", ARRAY(SELECT source_key FROM put)")
    return effective(rows, staged, counts=counts, memory=memory, told=told)


def effective(
    rows: sql.Composed,
    effects: sql.Composable,
    *,
    counts: sql.Composable = EVERY,
    memory: str = ROWS,
    told: sql.Composable = NO_MORE,
) -> sql.Composed:
    """Do something with rows and remember their versions: table expressions, the last of which is `put`, a row for each
    that was written, which says whether it was born. Rows in the order of timestamp and key are remembered in
    spans.
    """
    remembered = sql.SQL("remembered AS ({})").format(sql.SQL(queries("candidates/apply_batch")[memory]))
    return sql.SQL(queries("candidates/apply_batch")["apply"]).format(
        rows=rows, effects=sql.SQL(", ").join([effects, remembered]), counts=counts, told=told
    )


def put(connection: Connection, source: Source, statement: bytes, parameters: dict[str, Any]) -> int:
    """Run a seeding or reseeding statement; rows written or changed."""
    return execute(connection, statement, _given(source, parameters)).rowcount


def ask(source: Source, statement: bytes, parameters: dict[str, Any], *, prepare: bool | None = None) -> Ask:
    """An applying or staging statement with all that it is given."""
    return Ask(statement, _given(source, parameters), prepare)


def apply(connection: Connection, asked: Ask) -> Applied:
    """Run an applying or staging statement."""
    row = execute(connection, asked.statement, asked.given, prepare=asked.prepare).fetchone()
    assert row is not None
    return Applied(*row)


def _judged(rows: sql.Composed) -> sql.Composed:
    return sql.SQL(queries("candidates/apply_batch")["judged"]).format(rows=rows)


def _given(source: Source, parameters: dict[str, Any]) -> dict[str, Any]:
    who = {"scope": source.source_name, "table": source.table_name, "births": source.births}
    return {**who, "ruleset": NO_RULESET, **parameters}
