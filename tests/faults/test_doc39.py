"""The seven acceptance tests of doc 39 §39.10, by name and end to end: real commands on a real server."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from bed import Ran, as_user, command, connect, eventually, spawn
from by_hand import (
    CLOSED,
    LEASES,
    LEFT,
    SEEN,
    Server,
    add_births,
    add_login,
    assert_accounted,
    drop_code_indexes,
    end,
    number,
    running,
    server,
    set_policy,
)
from oneroof.database.connection import Connection
from oneroof.database.statements import one

pytestmark = pytest.mark.slow

TTL = 2.0
SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'worker'"
OPEN = "SELECT count(*) FROM system_issues WHERE status = 'open' AND issue_type ="


@pytest.fixture
def host() -> Iterator[Server]:
    """A server with an estate, on which leases run out fast, and a login that only the workers use."""
    with server() as made:
        with connect(made.dsn()) as admin:
            set_policy(admin, lease_ttl=f"{TTL} seconds", sweep_interval="1 second")
            add_login(admin, "worker")
        yield made


def worker_dsn(host: Server) -> str:
    return as_user(host.dsn(), "worker")


def test_doc39_10_1_resumability(host: Server) -> None:
    """kill -9 in the middle of a sweep: the next one does exactly the rest, with no gap and nothing twice."""
    with connect(host.dsn()) as admin:
        add_births(admin, "many", 100_000)
        rows = number(admin, "SELECT count(*) FROM birth_registry")
        killed = spawn("run", "backfill_sweep", dsn=worker_dsn(host))
        with running(killed):
            eventually(lambda: number(admin, SEEN) > 0, what="the sweep to be under way")
            killed.kill()
            killed.communicate()
        eventually(lambda: number(admin, SESSIONS) == 0, what="its session to end")
        done = number(admin, SEEN)
        assert 0 < done < rows

        def taken() -> Ran | None:
            ran = command("run", "backfill_sweep", "--until-idle", "--json", dsn=host.dsn())
            return None if ran.code == 5 else ran

        rest = eventually(taken, what="the lease to run out", seconds=TTL + 5)
        assert rest is not None
        assert rest.code == 0, rest.err
        assert rest.json["seen"] == rows - done
        assert_accounted(admin)


KEYED = {
    "keyed_uuid": ("id uuid PRIMARY KEY, at timestamptz", "id", "md5(n::text)::uuid"),
    "keyed_text": ("id text PRIMARY KEY, at timestamp", "id", "'key ' || n"),
    "keyed_pair": ("a int, b text, at date, PRIMARY KEY (a, b)", "a,b", "5 - n, 'b' || n"),
}
# One timestamp for all, so that only the key can order them: 9, 10 and 100 compare as numbers or not at all.
CHANGES = {
    "registry_changelog": """
      INSERT INTO registry_changelog (id, entity_type, entity_code, action, timestamp) SELECT n, 't', n, 'a', %s
      FROM unnest(ARRAY[1000009, 1000010, 1000100, 99999999, 100000000]) AS n""",
    "event_outbox": """
      INSERT INTO event_outbox (id, event_domain, event_type, event_stream, delivery_lane, event_subject_table,
                                canonical_address, actor_ref, source_system, occurred_at)
      SELECT md5(n::text)::uuid, 'iu', 't', 's', 'l', 'x', 'y', 'z', 'host', %s::timestamp AT TIME ZONE 'UTC'
      FROM generate_series(1, 5) AS n""",
    "birth_registry": """
      INSERT INTO birth_registry (id, collection_name, entity_code, born_at)
      SELECT n, 'typed', n, %s::timestamp AT TIME ZONE 'UTC'
      FROM unnest(ARRAY[1000009, 1000010, 1000100, 99999999, 100000000]) AS n""",
}
NEWEST = {
    "registry_changelog": "SELECT s.id::text FROM registry_changelog AS s ORDER BY s.timestamp DESC, s.id DESC LIMIT 1",
    "event_outbox": "SELECT s.id::text FROM event_outbox AS s ORDER BY s.occurred_at DESC, s.id DESC LIMIT 1",
    "birth_registry": "SELECT s.id::text FROM birth_registry AS s WHERE s.collection_name = 'typed'"
    " ORDER BY s.id DESC LIMIT 1",
}


def test_doc39_10_2_type_generality(host: Server) -> None:
    """Int, uuid, text and composite keys, with and without a zone, by one family; each ordered by its own type."""
    with connect(host.dsn()) as admin:
        admin.execute("ALTER ROLE worker SET timezone = 'Asia/Ho_Chi_Minh'")
        set_policy(admin, batch_size="7")
        for name, (columns, key, value) in KEYED.items():
            admin.execute(f"CREATE TABLE {name} ({columns})")
            admin.execute(
                f"INSERT INTO {name} SELECT {value}, '2026-01-01'::date + mod(n, 3) FROM generate_series(1, 60) AS n"
            )
            added = command("source", "add", name, "--key", key, "--timestamp", "at", dsn=host.dsn())
            assert added.code == 0, added.err
        first = command("run", "--until-idle", dsn=worker_dsn(host))
        assert first.code == 0, first.err
        for name in KEYED:
            counts = (
                "SELECT count(*), count(DISTINCT source_key) FROM oneroof.governance_candidate_state WHERE"
                " source_name ="
            )
            assert one(admin, f"{counts} %s", (name,)) == (60, 60)
        (at,) = one(admin, "SELECT (now() AT TIME ZONE 'UTC' + interval '3 minutes')::text")
        rows = {name: number(admin, f"SELECT count(*) FROM {name}") for name in CHANGES}
        before = tailed(admin)
        for insert in CHANGES.values():
            admin.execute(insert.encode(), (at,))
        second = command("run", "--until-idle", dsn=worker_dsn(host))
        assert second.code == 0, second.err
        after = tailed(admin)
        for name in CHANGES:
            grown = number(admin, f"SELECT count(*) FROM {name}") - rows[name]
            assert 5 <= after[name]["seen"] - before[name]["seen"] <= grown
            assert after[name]["at"] == at
            assert after[name]["key"] == one(admin, NEWEST[name])[0]
        for name in KEYED:
            assert after[name]["seen"] == 0


def tailed(admin: Connection) -> dict[str, dict[str, Any]]:
    """Each source's cursor of the intake: rows seen, and the watermark in UTC."""
    rows = admin.execute(
        "SELECT source_name, events_seen, (last_watermark_ts AT TIME ZONE 'UTC')::text, last_watermark_id"
        " FROM oneroof.gov_worker_cursor WHERE worker_name = 'gov_handoff_intake'"
    ).fetchall()
    return {name: {"seen": seen, "at": at, "key": key} for name, seen, at, key in rows}


def test_doc39_10_3_lease_safety(host: Server) -> None:
    """Two instances of one worker: one has the lease from beginning to end, the other backs off and says so."""
    with connect(host.dsn()) as admin:
        add_births(admin, "many", 50_000)
        holders: set[str] = set()

        def swept() -> bool:
            rows = admin.execute("SELECT lease_owner FROM queue_heartbeat WHERE executor_name LIKE 'gov_back%'")
            holders.update(owner for (owner,) in rows.fetchall() if owner)
            return bool(number(admin, CLOSED))

        both = [spawn("run", "backfill_sweep", "--instance", name, dsn=host.dsn()) for name in ("one", "two")]
        with running(*both):
            eventually(swept, what="the sweep")
            third = command("run", "backfill_sweep", "--until-idle", dsn=host.dsn())
            assert third.code == 5
            assert next(iter(holders)).split("/")[0] in third.err
            swept()
            assert [process.poll() for process in both] == [None, None]
            assert [end(process)[0] for process in both] == [0, 0]
        assert len(holders) == 1
        assert number(admin, LEASES) == 0
        assert_accounted(admin)


ATTEMPTS = 3


def test_doc39_10_4_dlq_not_drop(host: Server) -> None:
    """A birth that can never be applied is tried three times and then kept as a dead letter; all others are applied."""
    with connect(host.dsn()) as admin:
        set_policy(admin, attempts=str(ATTEMPTS), backoff_first="50 milliseconds", backoff_most="100 milliseconds")
        # 100 kB that cannot be compressed are no key of any index, the host's own included.
        drop_code_indexes(admin)
        poison = base64.b64encode(random.Random(39).randbytes(75_000)).decode()
        insert = "INSERT INTO birth_registry (collection_name, entity_code, born_at) VALUES ('poison', %s, now())"
        (key,) = one(admin, f"{insert} RETURNING id::text", (poison,))
        add_births(admin, "well", 6_000)
        process = spawn("run", dsn=host.dsn())
        with running(process):
            dead = "SELECT coalesce(sum(dead_lettered), 0) FROM oneroof.gov_worker_cursor"
            eventually(lambda: process.poll() is not None or number(admin, dead), what="the dead letter", seconds=40)
            assert process.poll() is None, process.communicate()[1]
            eventually(lambda: number(admin, LEFT) == 1, what="everything else")
            eventually(lambda: number(admin, f"{OPEN} 'cursor_dlq'") == 1, what="the finding cursor_dlq")
            batch = f"{OPEN} 'backfill_batch_failed'"
            eventually(lambda: number(admin, batch) == 1, what="the finding backfill_batch_failed")
            assert end(process)[0] == 0
        letters = admin.execute(
            "SELECT entity_ref, error_count, last_error IS NOT NULL, processed_at IS NULL FROM event_pending"
            " WHERE entity_table = 'birth_registry' AND error_count > 0"
        ).fetchall()
        assert letters == [(key, ATTEMPTS, True, True)]
        assert number(admin, dead) == 1
        assert number(admin, SEEN) == number(admin, "SELECT count(*) FROM birth_registry")
        listed = command("dlq", "list", "--json", dsn=host.dsn())
        assert listed.code == 0, listed.err
        (item,) = listed.json
        found = {name: item[name] for name in ("worker_name", "source_name", "source_key", "state", "attempts")}
        assert found == {
            "worker_name": "gov_backfill_sweep",
            "source_name": "birth_registry",
            "source_key": key,
            "state": "dead",
            "attempts": ATTEMPTS,
        }
        assert item["item_id"]
        assert item["last_error"]
        assert poison not in json.dumps(item)


def test_doc39_10_5_heartbeat(host: Server) -> None:
    """A living worker is no finding; a killed one is within two TTLs; its return closes it."""
    gap = f"{OPEN} 'cursor_silent_gap'"
    with connect(host.dsn()) as admin:
        killed = spawn("run", dsn=host.dsn())
        with running(killed):
            eventually(lambda: number(admin, LEASES) > 0, what="the workers to tick")
            alive = command("watch", "--once", dsn=host.dsn())
            assert alive.code == 0, alive.err
            assert number(admin, gap) == 0
            killed.kill()
            killed.communicate()
        eventually(lambda: command("watch", "--once", dsn=host.dsn()).code == 1, what="the gap", seconds=2 * TTL + 3)
        assert number(admin, gap) > 0
        assert command("status", dsn=host.dsn()).code == 1
        returned = spawn("run", dsn=host.dsn())
        with running(returned):
            eventually(lambda: number(admin, gap) == 0, what="the finding to close", seconds=TTL + 10)
            assert command("watch", "--once", dsn=host.dsn()).code == 0
            assert end(returned)[0] == 0


DURATION = re.compile(r"duration: (?P<ms>[\d.]+) ms")
FULL = pytest.param(1_037_724, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])


@pytest.mark.parametrize("rows", [60_000, FULL])
def test_doc39_10_6_scale(host: Server, rows: int) -> None:
    """Batches of at most 5,000, no OFFSET, no statement of five seconds, a watermark that only rises."""
    with connect(host.dsn()) as admin:
        add_births(admin, "many", rows - number(admin, "SELECT count(*) FROM birth_registry"))
        admin.execute("ALTER ROLE worker SET log_min_duration_statement = 0")
        marks: list[tuple[Any, ...]] = []
        process = spawn("run", "backfill_sweep", "--until-idle", dsn=worker_dsn(host))

        def over() -> bool:
            mark = admin.execute(
                "SELECT source_name, last_watermark_ts, events_seen FROM oneroof.gov_worker_cursor"
                " WHERE worker_name = 'gov_backfill_sweep' AND last_watermark_ts IS NOT NULL"
            )
            marks.extend(mark.fetchall())
            return process.poll() is not None

        with running(process):
            eventually(over, what="the sweep", seconds=900)
            assert end(process)[0] == 0
        assert_accounted(admin)
        for shard in {name for name, _, _ in marks}:
            own = [mark[1:] for mark in marks if mark[0] == shard]
            assert len(set(own)) > 3
            assert [at for at, _ in own] == sorted(at for at, _ in own)
            assert [seen for _, seen in own] == sorted(seen for _, seen in own)
        batch = (
            "SELECT max(n) FROM (SELECT count(*) AS n FROM oneroof.governance_candidate_state GROUP BY xmin::text) AS b"
        )
        assert 1 <= number(admin, batch) <= 5_000
    said = [entry for entry in host.said_to("worker") if "duration:" in entry]
    assert sum("birth_registry" in entry for entry in said) > rows // 5_000
    assert [entry for entry in said if re.search(r"\boffset\b", entry, re.IGNORECASE)] == []
    slow = [entry for entry in said if (found := DURATION.search(entry)) and float(found["ms"]) > 5_000]
    assert slow == []


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def test_doc39_10_7_no_ui_scan(host: Server) -> None:
    """`oneroof status` reads summaries: no statement of its names the big tables, no view scans one, and what a view
    counts in a partial index is bounded, however many candidates are dirty.
    """
    big = ("governance_candidate_state", "birth_registry")
    scans = "SELECT relname, seq_scan, seq_tup_read FROM pg_stat_user_tables WHERE relname = ANY (%s) ORDER BY 1"
    with connect(host.dsn()) as admin:
        assert command("run", "--until-idle", dsn=worker_dsn(host)).code == 0
        admin.execute("ALTER ROLE viewer SET log_min_duration_statement = 0")
        # On a connection of its own, which has told its statistics when it is closed.
        with connect(host.dsn()) as writer:
            writer.execute("UPDATE oneroof.governance_candidate_state SET dirty = true")
            writer.execute(
                "INSERT INTO oneroof.governance_candidate_state (candidate_key, ruleset_version, group_key,"
                " source_name,"
                " source_key, source_version, facts_hash, dirty) SELECT 'd' || n, 'none', 'g', 's', n, '3', 0, true"
                " FROM generate_series(1, 20000) AS n"
            )
            writer.execute("VACUUM ANALYZE oneroof.governance_candidate_state")
        sessions = "SELECT count(*) FROM pg_stat_activity WHERE usename IN ('viewer', 'worker')"
        eventually(lambda: number(admin, sessions) == 0, what="the worker to be gone")
        before = admin.execute(scans, (list(big),)).fetchall()
        assert sum(row[1] for row in before) > 0
        status = command("status", "--json", dsn=as_user(host.dsn(), "viewer"))
        assert status.code == 0, status.err
        assert {row["source_name"] for row in status.json["workers"]} >= {"birth_registry", "event_outbox"}
        eventually(lambda: number(admin, sessions) == 0, what="its session to end")
        assert admin.execute(scans, (list(big),)).fetchall() == before
        said = [entry for entry in host.said_to("viewer") if "duration:" in entry]
        views = {name for entry in said for name in re.findall(r"\bv_\w+", entry)}
        assert views
        # The name of a source is data, in quotes; the table's is not.
        assert [entry for entry in said if re.search(rf"\b(?<!')({'|'.join(big)})\b", entry)] == []
        assert status.json["depth"]["dirty"] == 10_001
        for view in views:
            (plan,) = one(admin, f"EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM oneroof.{view}")
            touched = [node for node in nodes(plan[0]["Plan"]) if node.get("Relation Name") in big]
            assert all(node["Actual Rows"] * node["Actual Loops"] <= 10_001 for node in touched), view
            assert not any(node["Node Type"] == "Seq Scan" for node in touched), view
