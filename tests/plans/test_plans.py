"""What every statement of the tail may touch on 200,000 births: a few batches, never the table (promise 14).

Plans are taken with EXPLAIN ANALYZE under the settings of a worker's transaction. What counts is rows times loops that
a scan has looked at, those it threw away included: a LIMIT on top of a filter bounds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql

from bed import Bed, connect, eventually
from oneroof.backfill import ranges
from oneroof.candidates import apply_batch
from oneroof.candidates.apply_batch import COMPARING
from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.fence.fenced_batch import SETTINGS
from oneroof.intake import change_marks
from oneroof.sources import registration
from oneroof.sources.row_expressions import DATED, UNDATED
from oneroof.sources.source import Source
from oneroof.tail import header_queries, row_queries, table_files
from oneroof.tail.row_queries import SLOTS, Bounds, Range
from oneroof.workers import handoff_intake

BIRTHS = 200_000
UNDATED_BIRTHS = 4_000
BATCH = 1_000
WHO: dict[str, Any] = {"worker": handoff_intake.NAME, "source": "birth_registry", "cursor": 1, "keep": 0, "beyond": 0}
WHO |= {"births": True, "again": False}
ALL = Bounds(frontier=None, horizon=None)
FILL = f"""
  INSERT INTO birth_registry (id, collection_name, entity_code, born_at)
  SELECT n, 'plans', 'code ' || n,
         CASE WHEN n % {BIRTHS // UNDATED_BIRTHS} > 0 THEN timestamptz '2026-01-01' + n * interval '1 second' END
  FROM generate_series(1, {BIRTHS}) AS n;
  INSERT INTO oneroof.governance_retry
    (worker_name, source_name, source_key, key_mark, row_xid, state, next_attempt_at, sqlstate, last_error)
  SELECT '{handoff_intake.NAME}', 'birth_registry', n::text, n::text, n,
         CASE n % 500 WHEN 0 THEN 'waiting' WHEN 1 THEN 'dead' ELSE 'done' END,
         CASE n % 500 WHEN 0 THEN now() END, '54000', 'too long'
  FROM generate_series(1, 100000) AS n
"""


@dataclass(frozen=True)
class Plan:
    """A plan that was carried out."""

    nodes: list[dict[str, Any]]

    @property
    def kinds(self) -> set[str]:
        return {node["Node Type"] for node in self.nodes}

    def touched(self, relation: str) -> int:
        """Rows of a table that were looked at, also those that a filter threw away."""
        return sum(
            round(
                node["Actual Loops"]
                * (
                    node["Actual Rows"]
                    + node.get("Rows Removed by Filter", 0)
                    + node.get("Rows Removed by Index Recheck", 0)
                )
            )
            for node in self.nodes
            if node.get("Relation Name") == relation
        )

    def scans(self, relation: str) -> set[str]:
        """How a table was read."""
        return {
            node["Node Type"]
            for node in self.nodes
            if node.get("Relation Name") == relation and node["Node Type"] != "ModifyTable"
        }

    def sorted_rows(self) -> int:
        """The most rows that any one step put in order."""
        return max(
            (
                round(node["Actual Loops"] * below["Actual Rows"])
                for node in self.nodes
                if "Sort" in node["Node Type"]
                for below in node["Plans"]
            ),
            default=0,
        )


@pytest.fixture(scope="module")
def connection(bed: Bed) -> Iterator[Connection]:
    """A registry of 200,000 births, all swept and all behind the frontier."""
    with bed.database(bed.installed()) as name, connect(bed.dsn(name), prepare_threshold=None) as made:
        made.execute("TRUNCATE birth_registry")
        made.execute(sql.SQL(FILL))
        made.execute("VACUUM ANALYZE birth_registry, oneroof.governance_retry")
        yield made


@pytest.fixture(scope="module")
def births(connection: Connection) -> Source:
    return registration.find(connection, "birth_registry")


@contextmanager
def as_worker(connection: Connection) -> Iterator[None]:
    with transaction(connection, doing="explaining", role="oneroof_worker", statement_timeout=5, settings=SETTINGS):
        yield


def explain(connection: Connection, statement: sql.Composable, parameters: dict[str, Any]) -> Plan:
    """Carry a statement out as a worker would, and undo it."""
    assert " OFFSET " not in statement.as_string(connection).upper()
    text = sql.SQL("EXPLAIN (ANALYZE, FORMAT JSON) {}").format(statement)
    with as_worker(connection), connection.transaction(force_rollback=True):
        row = connection.execute(text, parameters).fetchone()
    assert row is not None
    return Plan(list(flatten(row[0][0]["Plan"])))


def flatten(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", ()):
        yield from flatten(below)


def after(connection: Connection, part: str, share: float) -> list[str] | None:
    """A place in the keyset, so far into it."""
    if share == 0:
        return None
    presence, key = ("IS NOT NULL", "born_at, id") if part == DATED else ("IS NULL", "id")
    with as_worker(connection):
        row = connection.execute(
            f"SELECT ARRAY[{key.replace(',', '::text,')}::text] FROM public.birth_registry WHERE born_at {presence}"
            f" AND id >= %s ORDER BY {key} LIMIT 1",
            (int(BIRTHS * share),),
        ).fetchone()
    assert row is not None
    place: list[str] = row[0]
    return place


def horizon(connection: Connection) -> int:
    (xid,) = one(connection, "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
    return int(xid)


PLACES = [(part, share) for part in (DATED, UNDATED) for share in (0, 0.5, 0.995)]


@pytest.mark.parametrize(("part", "share"), PLACES)
def test_the_end_of_a_batch_is_found_from_the_index(
    connection: Connection, births: Source, part: str, share: float
) -> None:
    """From the beginning, the middle and the end: a batch is looked at, nothing is put in order."""
    stretch = Range(part=part, after=after(connection, part, share), upto=None)
    given = {"batch": BATCH, "below": "1000", **stretch.parameters()}
    plan = explain(connection, row_queries.keyset_end(births, stretch), given)
    assert plan.scans("birth_registry") <= {"Index Scan", "Index Only Scan"}
    assert 0 < plan.touched("birth_registry") <= 2 * BATCH
    assert plan.sorted_rows() == 0


@pytest.mark.parametrize("how", ["seed", "reseed", "replay"])
@pytest.mark.parametrize(("part", "share"), PLACES)
def test_a_measured_batch_is_read_from_the_index(
    connection: Connection, births: Source, how: str, part: str, share: float
) -> None:
    """And written: every way of putting a batch touches its own rows."""
    start = after(connection, part, share)
    stretch = Range(part=part, after=start, upto=None)
    with as_worker(connection):
        given = {"batch": BATCH, "below": "1000", **stretch.parameters()}
        _, _, last, _ = one(connection, row_queries.keyset_end(births, stretch).as_string(connection), given)
    covered = Range(part=part, after=start, upto=last)
    where = [row_queries.in_stretch(births, covered, ALL), *([row_queries.news(births)] if how == "replay" else [])]
    rows = row_queries.rows(births, where=sql.SQL(" AND ").join(where), limit=False)
    statement = apply_batch.seeding(rows) if how == "seed" else apply_batch.reseeding(rows)
    given = {"scope": "birth_registry", "ruleset": apply_batch.NO_RULESET, **covered.parameters()}
    plan = explain(connection, statement, given)
    assert plan.scans("birth_registry") <= {"Index Scan", "Bitmap Heap Scan"}
    assert 0 < plan.touched("birth_registry") <= 2 * BATCH
    assert plan.sorted_rows() <= 2 * BATCH


def test_cutting_into_ranges_looks_at_a_sample(connection: Connection, births: Source) -> None:
    """So many pages, whatever the length of the table."""
    with as_worker(connection):
        blocks = table_files.read_ground(connection, births).blocks
    assert blocks > ranges.SAMPLE
    percent = 100.0 * ranges.SAMPLE / blocks
    whole = Range(part=DATED, after=None, upto=None)
    plan = explain(connection, row_queries.keyset_shares(births, whole), {"shares": 8, "percent": percent})
    assert plan.scans("birth_registry") == {"Sample Scan"}
    assert 0 < plan.touched("birth_registry") <= 2 * BIRTHS * percent / 100


@pytest.mark.parametrize("first", [0, 500, 2_000])
def test_a_piece_of_a_window_reads_its_pages_alone(connection: Connection, births: Source, first: int) -> None:
    """A range of ctids: counting its rows, cutting it, finding them, and reading all of it."""
    pages = 10
    bounds = Bounds(frontier=3, horizon=horizon(connection))
    given = {
        **bounds.parameters(),
        "first": row_queries.tid(first * SLOTS),
        "last": row_queries.tid((first + pages) * SLOTS),
    }
    (full,) = one(connection, "SELECT max((ctid::text::point)[1])::int FROM birth_registry")
    statements = {
        "count": header_queries.tid_count(births, bounds),
        "cut": header_queries.tid_cut(births, bounds),
        "found": header_queries.tid_found(births, bounds),
        "sweep": row_queries.rows(births, where=row_queries.TIDS, limit=False),
    }
    for name, statement in statements.items():
        plan = explain(connection, statement, {**given, **WHO, "most": 100, "batch": 20})
        assert plan.scans("birth_registry") == {"Tid Range Scan"}, name
        assert 0 < plan.touched("birth_registry") <= pages * (full + 1), name


@pytest.mark.parametrize("bare", [False, True])
def test_rows_that_were_found_are_read_where_they_lie(connection: Connection, births: Source, *, bare: bool) -> None:
    """Also bare, for the items that failed."""
    bounds = Bounds(frontier=3, horizon=horizon(connection))
    tids = "{" + ",".join(f'"({page},1)"' for page in range(0, 2_000, 100)) + "}"
    plan = explain(
        connection, header_queries.tid_rows(births, bounds, bare=bare), {**bounds.parameters(), **WHO, "tids": tids}
    )
    assert plan.scans("birth_registry") == {"Tid Scan"}
    assert plan.touched("birth_registry") == 20


def test_a_window_with_nothing_in_it_writes_nothing_and_sorts_nothing(connection: Connection, births: Source) -> None:
    """The everyday pass: headers only, no step above the scan sees a row."""
    bounds = Bounds(frontier=horizon(connection), horizon=horizon(connection) + 1)
    given = {**bounds.parameters(), "first": "(0,0)", "last": "(10000,0)"}
    plan = explain(connection, header_queries.tid_count(births, bounds), given)
    assert plan.scans("birth_registry") == {"Tid Range Scan"}
    assert plan.nodes[-1]["Actual Rows"] == 0


def fast_plan(connection: Connection, births: Source, *, since: str, frontier: int) -> Plan:
    bounds = Bounds(frontier=frontier, horizon=None)
    given = {**bounds.parameters(), **WHO, "since": since, "batch": BATCH, "done": "{}"}
    given |= {"passed": "(0,0)", "below": "0"}
    rows = row_queries.fast_rows(births, bounds, Range(part=DATED, after=None, upto=None))
    statement = change_marks.applying(births, rows)
    given |= {"scope": "birth_registry", "table": "birth_registry", "ruleset": apply_batch.NO_RULESET}
    return explain(connection, statement, given)


def test_the_fast_lane_reads_the_newest_rows(connection: Connection, births: Source) -> None:
    """With the watermark at the end it touches what is newer, whether that is news or not."""
    (since,) = one(
        connection, "SELECT (max(born_at) - interval '5 seconds')::text FROM birth_registry WHERE isfinite(born_at)"
    )
    for frontier in (3, horizon(connection)):
        plan = fast_plan(connection, births, since=since, frontier=frontier)
        assert plan.scans("birth_registry") == {"Index Scan"}
        assert 0 < plan.touched("birth_registry") <= 10


def test_the_fast_lane_reads_a_batch_of_many(connection: Connection, births: Source) -> None:
    """After a storm it takes a batch from where it is and stops."""
    plan = fast_plan(connection, births, since="2026-01-02", frontier=3)
    assert plan.scans("birth_registry") == {"Index Scan"}
    assert BATCH <= plan.touched("birth_registry") <= 2 * BATCH


def test_the_fast_lane_is_bounded_while_an_old_transaction_is_open(connection: Connection) -> None:
    """It begins where the oldest transaction did, but no further back than the overlap: the rest is the frontier's."""
    ask = "SELECT oneroof.gov_oldest_transaction(%(overlap)s::interval)::timestamp::text"
    late = "SELECT extract(epoch FROM clock_timestamp() - %s::text::timestamp AT TIME ZONE 'UTC')::float8"
    with connect(connection.info.dsn) as host, host.transaction():
        (began,) = one(host, "SELECT now()")
        passed = "SELECT clock_timestamp() > %s + interval '0.5 seconds'"
        eventually(lambda: one(connection, passed, (began,))[0], what="half a second")
        connection.execute("SET timezone = 'UTC'")
        for overlap, least, most in (("1 hour", 0.5, 60.0), ("100 milliseconds", 0.1, 0.4)):
            (since,) = one(connection, ask, {"overlap": overlap})
            (age,) = one(connection, late, (since,))
            assert least <= age <= most


def test_single_items_are_found_by_their_key(connection: Connection, births: Source) -> None:
    """What is tried again is looked up, one by one."""
    keys = [str(n) for n in range(1, BIRTHS, BIRTHS // 50)]
    plan = explain(connection, row_queries.item_rows(births), {"keys": keys})
    assert plan.scans("birth_registry") <= {"Index Scan", "Bitmap Heap Scan"}
    assert 0 < plan.touched("birth_registry") <= 2 * len(keys)


def test_items_with_a_key_of_several_columns_are_found_by_it(connection: Connection) -> None:
    """The same for a composite key, which comes as JSON."""
    connection.execute("CREATE TABLE paired (a int, b text, PRIMARY KEY (a, b))")
    connection.execute("INSERT INTO paired SELECT n / 10, 'b' || n % 10 FROM generate_series(1, 100000) AS n")
    connection.execute("ANALYZE paired")
    tailed = registration.add(connection, "paired", key=["a", "b"])
    keys = [f'[{n}, "b3"]' for n in range(1, 9_000, 200)]
    plan = explain(connection, row_queries.item_rows(tailed), {"keys": keys})
    assert plan.scans("paired") <= {"Index Scan", "Index Only Scan", "Bitmap Heap Scan"}
    assert 0 < plan.touched("paired") <= 2 * len(keys)


def test_due_items_come_from_their_index(connection: Connection) -> None:
    """However many have been done: 200 wait among 100,000."""
    given = {"worker": WHO["worker"], "source": WHO["source"], "most": 50}
    plan = explain(connection, sql.SQL(queries("failures/failed_items")["due"]), given)
    assert plan.scans("governance_retry") == {"Index Scan"}
    assert 0 < plan.touched("governance_retry") <= 250


@pytest.mark.parametrize("states", [["dead"], ["waiting"], ["waiting", "dead"]])
@pytest.mark.parametrize("worker", [None, handoff_intake.NAME])
def test_the_list_of_dead_letters_does_not_read_what_is_done(
    connection: Connection, states: list[str], worker: str | None
) -> None:
    """A page of them, of all workers or of one."""
    given = {"states": states, "worker": worker, "source": None, "error": None, "most": 50}
    plan = explain(connection, sql.SQL(queries("failures/failed_items")["listing"]), given)
    assert 0 < plan.touched("governance_retry") <= 1_000


def test_no_statement_says_offset() -> None:
    """Neither a named query nor anything that Python composes; what is composed is checked where it is explained."""
    folder = files("oneroof").joinpath("sql", "queries")
    texts = {each.name: each.read_text(encoding="utf-8") for each in Path(str(folder)).rglob("*.sql")}
    assert len(texts) > 10
    for name, text in texts.items():
        statements = re.sub(r"^--.*$", "", text, flags=re.MULTILINE)
        assert not re.search(r"\boffset\b", statements, re.IGNORECASE), name


def test_what_is_forgotten_is_found_by_the_index_although_the_plan_was_made_when_there_was_nothing(
    connection: Connection,
) -> None:
    """A plan is kept for as long as a session lives: one that was made for an empty table must do for a large one."""
    connection.execute("TRUNCATE oneroof.governance_open_row, oneroof.governance_open_span")
    statement = queries("fence/cursor")["prune"]
    with transaction(connection, doing="explaining", settings=COMPARING):
        rows = connection.execute(
            f"EXPLAIN {statement}", {"cursor": 1, "frontier": 10, "xid": 0, "mark": "", "span": 0, "most": 250}
        ).fetchall()
    lines = [line for (line,) in rows]
    for index in ("governance_open_row_pkey", "governance_open_span_pkey"):
        assert any(f"Index Scan using {index}" in line for line in lines), lines
    assert not any("Seq Scan" in line for line in lines), lines


@pytest.mark.parametrize(("what", "after"), [("judged", -(2**63)), ("objects", "")])
def test_the_rules_are_asked_once_of_all_although_the_planner_expects_nothing(
    connection: Connection, what: str, after: object
) -> None:
    """A deep proof judges sets of facts again: all in one call, and not all of them for each."""
    with connection.transaction(force_rollback=True):
        connection.execute(
            "INSERT INTO oneroof.governance_candidate_state (candidate_key, ruleset_version, group_key,"
            " source_name, source_key"
            ", source_version, facts_hash) SELECT 'k' || n, 'none', 'g', 'birth_registry', n::text, '3', n"
            " FROM generate_series(1, 50) AS n"
        )
        connection.execute(
            "INSERT INTO oneroof.governance_fact_set (source_name, facts_hash, group_key, class, grain, row_facts,"
            " is_dirty)"
            " SELECT 'birth_registry', n, 'g', 'c', 'governed', '{}', false FROM generate_series(1, 50) AS n"
        )
        connection.execute(
            "INSERT INTO oneroof.governance_object (candidate_key, facts, is_dirty)"
            " SELECT 'k' || n, '{}', false FROM generate_series(1, 50) AS n"
        )
        statement = sql.SQL(queries("proof/rederivation")[what])
        plan = explain(connection, statement, {"source": "birth_registry", "after": after, "most": 2_000})
    (asked,) = (node for node in plan.nodes if node.get("Function Name") == "gov_rules_evaluate")
    assert (asked["Actual Loops"], asked["Actual Rows"]) == (1, 50)


def test_the_relations_of_a_host_are_listed_once_for_all_classes(connection: Connection) -> None:
    """A host may have thousands of both: whether a class has its registry is not asked of all relations each time."""
    (body,) = one(connection, "SELECT prosrc FROM pg_proc WHERE proname = 'gov_catalog_classes'")
    plan = explain(connection, sql.SQL(body), {})
    (relations,) = one(connection, "SELECT count(*) FROM pg_class")
    assert 0 < plan.touched("pg_class") <= relations
