"""The audit: what was hidden, added or changed behind oneroof's back is found and put right (doc 31 §7 and §9)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from psycopg import sql

import inventory
from bed import as_user, connect, eventually, set_clock, silent
from judging import judge
from oneroof.database.connection import Connection
from oneroof.database.parallel_reader import ParallelReader
from oneroof.database.statements import one, queries
from oneroof.errors import Refused, Unavailable
from oneroof.fence import lease
from oneroof.findings import store
from oneroof.full_audit import comparison, range_sums
from oneroof.people import requests, vanishing
from oneroof.proof import prove
from oneroof.sources import registration
from oneroof.sources.source import Source
from oneroof.workers import periodic_full_audit
from oneroof.workers.periodic_full_audit import FullAudit

ROWS = 200
COUNTS = tuple(periodic_full_audit.COUNTS.values())
PARTITIONED = """CREATE TABLE src (id text, part text, at timestamptz, PRIMARY KEY (id, part)) PARTITION BY HASH (id);
  CREATE TABLE src0 PARTITION OF src FOR VALUES WITH (MODULUS 2, REMAINDER 0);
  CREATE TABLE src1 PARTITION OF src FOR VALUES WITH (MODULUS 2, REMAINDER 1)"""
STATE = """SELECT c.verdict, c.undecided_reason, c.dirty, c.dirty_reason, o.facts -> 'state'
FROM oneroof.governance_candidate_state AS c LEFT JOIN oneroof.governance_object AS o USING (candidate_key) WHERE
  c.source_key = %s"""
BOOKS = """SELECT count(*) FROM
  (SELECT group_key, grain, verdict, coalesce(undecided_reason, '') AS reason, count(*) AS n
   FROM oneroof.governance_candidate_state WHERE source_name = 'src' GROUP BY 1, 2, 3, 4) AS c
  FULL JOIN (SELECT group_key, grain, verdict, undecided_reason AS reason, sum(members) AS n FROM
  oneroof.governance_ledger
             WHERE source_name = 'src' GROUP BY 1, 2, 3, 4 HAVING sum(members) <> 0) AS l
    USING (group_key, grain, verdict, reason)
WHERE c.n IS DISTINCT FROM l.n"""


@pytest.fixture
def tailed(admin: Connection) -> Source:
    """200 rows of one group, swept, judged, and with the tail behind them."""
    made = inventory.make(admin)
    admin.execute(
        "INSERT INTO src SELECT n, now() - interval '1 hour', 'code ' || n FROM generate_series(1, %s) AS n", (ROWS,)
    )
    inventory.sweep(admin, made, batch=100)
    inventory.intake(admin, made, batch=100)
    judge(admin, made)
    return made


def audit(connection: Connection, tailed: Source, *, batch: int = 1_000, few: int = 0) -> dict[str, int]:
    """An audit from its beginning to its end, due or not; what it counted, but for what is nought. With buckets,
    however few have drifted, unless said.
    """
    held = inventory.claim(connection, periodic_full_audit.NAME)
    inventory.until_idle(FullAudit(connection, tailed, held, batch=batch, at_once=True, few=few))
    lease.release(connection, held)
    summary: dict[str, Any] = one(
        connection,
        "SELECT last_run_summary FROM oneroof.gov_worker_cursor WHERE worker_name = %s",
        (periodic_full_audit.NAME,),
    )[0]
    return {name: summary[name] for name in COUNTS if summary[name]}


def behind_its_back(admin: Connection, statement: str) -> int:
    """What a superuser can do: no trigger sees it."""
    with admin.transaction():
        admin.execute("SET LOCAL session_replication_role = replica")
        return admin.execute(statement).rowcount


def state(admin: Connection, key: int | str) -> tuple[Any, ...]:
    return tuple(one(admin, STATE, (str(key),)))


def versions(admin: Connection) -> list[tuple[Any, ...]]:
    return admin.execute(
        "SELECT candidate_key, xmin::text, ctid::text FROM oneroof.governance_candidate_state ORDER BY 1"
    ).fetchall()


def is_well(admin: Connection, tailed: Source) -> bool:
    """The books close, every row is accounted once, and another audit finds nothing."""
    return (
        one(admin, BOOKS)[0] == 0
        and not inventory.wrong(admin, gone=True)
        and audit(admin, tailed, few=periodic_full_audit.FEW) == {}
    )


def test_nothing_wrong_changes_nothing(admin: Connection, tailed: Source) -> None:
    """No candidate is written, however often it is looked."""
    before = versions(admin)
    assert audit(admin, tailed) == {}
    assert audit(admin, tailed, batch=7) == {}
    assert versions(admin) == before
    assert one(admin, BOOKS)[0] == 0


def test_it_waits_for_the_first_sweep_and_for_its_time(admin: Connection) -> None:
    """Nothing before the first window is closed; then once; then again after the interval."""
    made = inventory.make(admin)
    admin.execute("INSERT INTO src VALUES (1, now(), 'one')")
    held = inventory.claim(admin, periodic_full_audit.NAME)
    assert FullAudit(admin, made, held, at_once=True).run_once().idle
    inventory.sweep(admin, made)
    worker = FullAudit(admin, made, held)
    inventory.until_idle(worker)
    assert worker.audits == 1
    assert FullAudit(admin, made, held).run_once().idle
    set_clock(admin, "61 minutes")
    inventory.run_out(admin)
    again = FullAudit(admin, made, inventory.claim(admin, periodic_full_audit.NAME))
    inventory.until_idle(again)
    assert again.audits == 1


@pytest.mark.parametrize(
    ("ddl", "key"),
    [
        ("CREATE TABLE src (id uuid PRIMARY KEY, at date)", ["id"]),
        ("CREATE TABLE src (id text PRIMARY KEY, at timestamp)", ["id"]),
        ("CREATE TABLE src (id text, part text, at timestamptz, PRIMARY KEY (id, part))", ["id", "part"]),
        (PARTITIONED, ["id", "part"]),
    ],
)
def test_sources_of_every_shape(admin: Connection, ddl: str, key: list[str]) -> None:
    """Without groups or facts, with a key of several columns, in partitions: hidden, foreign and deleted are found."""
    admin.execute(ddl)
    made = registration.add(admin, "src", key=key, timestamp="at")
    names, values = ("id, part, at", "md5(n::text), 'p'") if len(key) > 1 else ("id, at", "md5(n::text)")
    kind = "::uuid" if "uuid" in ddl else ""
    admin.execute(f"INSERT INTO src ({names}) SELECT {values}{kind}, now() FROM generate_series(1, 50) AS n")
    inventory.sweep(admin, made, batch=20)
    inventory.intake(admin, made, batch=20)
    judge(admin, made)
    assert audit(admin, made) == {}
    one_key = "SELECT min(source_key) FROM oneroof.governance_candidate_state"
    behind_its_back(admin, f"DELETE FROM oneroof.governance_candidate_state WHERE source_key = ({one_key})")
    admin.execute(
        "INSERT INTO oneroof.governance_candidate_state (candidate_key, ruleset_version, group_key, source_name,"
        " source_key,"
        " source_version, facts_hash) VALUES ('foreign', 'none', 'src', 'src', 'no key', '3', 1)"
    )
    admin.execute("DELETE FROM src WHERE id = (SELECT max(id::text) FROM src)" + kind)
    assert audit(admin, made)["vanished"] == 2
    judge(admin, made)
    assert audit(admin, made) == {}


def test_a_hidden_candidate_is_written_again(admin: Connection, tailed: Source) -> None:
    """Deleted without the books noticing: both are put right."""
    behind_its_back(admin, "DELETE FROM oneroof.governance_candidate_state WHERE source_key = '7'")
    assert one(admin, BOOKS)[0] == 1
    assert audit(admin, tailed) == {"repaired_missing": 1, "repaired_groups": 1}
    assert state(admin, 7)[2:4] == (True, "audit_missing")
    judge(admin, tailed)
    assert state(admin, 7)[:3] == state(admin, 8)[:3]
    assert is_well(admin, tailed)


def test_all_candidates_gone(admin: Connection, tailed: Source) -> None:
    """In batches smaller than what is missing."""
    assert behind_its_back(admin, "DELETE FROM oneroof.governance_candidate_state") == ROWS
    assert audit(admin, tailed, batch=30)["repaired_missing"] == ROWS
    judge(admin, tailed)
    assert is_well(admin, tailed)


@pytest.mark.parametrize("key", ["1000", "no number at all"])
def test_a_foreign_candidate_is_retired(admin: Connection, tailed: Source, key: str) -> None:
    """One that no row has made, whatever its key says, becomes a tombstone."""
    admin.execute(
        "INSERT INTO oneroof.governance_candidate_state (candidate_key, ruleset_version, group_key, source_name,"
        " source_key,"
        " source_version, facts_hash) VALUES ('src:foreign', 'none', 'src/born', 'src', %s, '3', 1)",
        (key,),
    )
    assert audit(admin, tailed) == {"vanished": 1, "retired": 1, "repaired_verdicts": 1}
    judge(admin, tailed)
    assert state(admin, key)[:3] == ("retired", None, False)
    assert is_well(admin, tailed)


@pytest.mark.parametrize(
    ("kind", "value", "key"),
    [
        ("int", "n", ["id"]),
        ("bigint", "n", ["id"]),
        ("uuid", "gen_random_uuid()", ["id"]),
        ("text", "n", ["id"]),
        ("int", "n", ["id", "code"]),
    ],
)
def test_a_made_up_candidate_whose_key_is_no_key_stops_nobody(
    admin: Connection, kind: str, value: str, key: list[str]
) -> None:
    """Of whatever type the key is: the gate goes on, the proof names it, the audit retires it, and the books close."""
    admin.execute(f"CREATE TABLE src (id {kind} PRIMARY KEY, at timestamptz, code text NOT NULL, status text)")
    admin.execute(f"INSERT INTO src SELECT {value}, now(), 'code ' || n, 'born' FROM generate_series(1, 50) AS n")
    tailed = registration.add(admin, "src", key=key, timestamp="at", ref="code", group_by=["status"])
    inventory.sweep(admin, tailed, batch=100)
    inventory.intake(admin, tailed, batch=100)
    judge(admin, tailed)
    behind_its_back(
        admin,
        """INSERT INTO oneroof.governance_candidate_state (candidate_key, ruleset_version, group_key, source_name,
               source_key,
             source_version, facts_hash, dirty, dirty_reason, dirtied_at)
           VALUES ('forged', 'none', 'src/born', 'src', 'no key', '3', 12345, true, 'x', now())""",
    )
    found = next(each for each in prove.prove(admin, deep=True, progress=silent).scopes if each.name == "src")
    named = [name for each in found.obligations for name in each.names] + found.rows.vanished.names
    assert "forged" in named
    assert not found.is_complete
    judge(admin, tailed)
    audit(admin, tailed)
    judge(admin, tailed)
    assert state(admin, "no key")[0] == "retired"
    found = next(each for each in prove.prove(admin, deep=True, progress=silent).scopes if each.name == "src")
    assert found.is_balanced
    assert audit(admin, tailed, few=periodic_full_audit.FEW) == {}


def test_an_altered_verdict_is_judged_again(admin: Connection, tailed: Source) -> None:
    """Whoever altered it, with the books or behind them."""
    right = state(admin, 5)
    admin.execute("UPDATE oneroof.governance_candidate_state SET verdict = 'covered' WHERE source_key = '5'")
    behind_its_back(admin, "UPDATE oneroof.governance_candidate_state SET verdict = 'orphan' WHERE source_key = '6'")
    assert audit(admin, tailed) == {"repaired_verdicts": 2, "repaired_groups": 1}
    assert state(admin, 5)[3] == "audit_verdict"
    judge(admin, tailed)
    assert state(admin, 5) == state(admin, 6) == right
    assert is_well(admin, tailed)


JUDGEMENTS = (
    "verdict = 'retired', undecided_reason = NULL",
    "input_state = 'quarantined'",
    "rule_code = 'owned'",
    "finding_types = '{owner_gap}'",
    "stale_after = '1 day'",
)


def as_judged(admin: Connection, table: str) -> list[Any]:
    """All that is stored of judgements."""
    rows = admin.execute(
        "SELECT to_jsonb(f) - '{judged_at,settles_until,is_settled,spreads_until,is_spreading,is_heard}'::text[]"
        f" FROM oneroof.{table} AS f ORDER BY 1"
    )
    return [row for (row,) in rows]


RETIRED = """row_facts = row_facts || '{"status": "retired"}'"""


@pytest.mark.parametrize(
    "alter",
    [
        *JUDGEMENTS,
        RETIRED,
        f"{RETIRED}, verdict = 'retired', undecided_reason = NULL, rule_code = 'terminal_status'",
        "class = 'other'",
        "group_key = 'src/other'",
        "grain = 'inherited'",
    ],
)
def test_an_altered_judgement_is_judged_again_with_all_who_have_it(
    admin: Connection, tailed: Source, alter: str
) -> None:
    """The set of facts and the verdicts of all its members altered alike: nothing differs but from what rules say, or
    from what the rows do.
    """
    before = as_judged(admin, "governance_fact_set"), [state(admin, n) for n in range(1, ROWS + 1)]
    behind_its_back(admin, f"UPDATE oneroof.governance_fact_set SET {alter} WHERE source_name = 'src'")
    behind_its_back(
        admin,
        """UPDATE oneroof.governance_candidate_state AS c SET verdict = f.verdict, undecided_reason =
               f.undecided_reason,
             input_quality_state = f.input_state, stale_after = c.scan_time + f.stale_after
           FROM oneroof.governance_fact_set AS f WHERE f.source_name = c.source_name AND f.facts_hash = c.facts_hash""",
    )
    assert audit(admin, tailed)["repaired_judgements"] == 1
    judge(admin, tailed)
    assert (as_judged(admin, "governance_fact_set"), [state(admin, n) for n in range(1, ROWS + 1)]) == before
    assert is_well(admin, tailed)


@pytest.mark.parametrize("alter", [*JUDGEMENTS, "judged_hash = 1"])
def test_an_altered_judgement_of_a_single_object_is_judged_again(admin: Connection, tailed: Source, alter: str) -> None:
    """A tombstone, say: it and its candidate were altered alike."""
    admin.execute("DELETE FROM src WHERE id = 7")
    audit(admin, tailed)
    judge(admin, tailed)
    audit(admin, tailed)
    before = as_judged(admin, "governance_object"), state(admin, 7)
    assert before[1][0] == "retired"
    behind_its_back(admin, f"UPDATE oneroof.governance_object SET {alter.replace('retired', 'covered')}")
    behind_its_back(
        admin,
        """UPDATE oneroof.governance_candidate_state AS c SET verdict = o.verdict, undecided_reason =
               o.undecided_reason,
             input_quality_state = o.input_state, stale_after = c.scan_time + o.stale_after
           FROM oneroof.governance_object AS o WHERE o.candidate_key = c.candidate_key""",
    )
    assert audit(admin, tailed)["repaired_judgements"] == 1
    judge(admin, tailed)
    assert (as_judged(admin, "governance_object"), state(admin, 7)) == before
    assert is_well(admin, tailed)


def test_an_audit_judges_again_what_was_written_since_the_one_before(admin: Connection, tailed: Source) -> None:
    """Nothing else: what was well then and nobody has touched is well. Of another cluster that says nothing."""
    sets = "SELECT count(*) FROM oneroof.governance_fact_set WHERE source_name = 'src'"
    asked = "SELECT calls FROM pg_stat_user_functions WHERE funcname = 'gov_facts_of'"
    admin.execute("SET track_functions = 'all'")

    def judged_again() -> int:
        before = admin.execute(asked).fetchone() or (0,)
        assert audit(admin, tailed) == {}
        admin.execute("SELECT pg_stat_force_next_flush()")
        return int((admin.execute(asked).fetchone() or (0,))[0]) - int(before[0])

    admin.execute("UPDATE oneroof.governance_fact_set SET judged_at = now()")
    inventory.settle(admin)
    assert judged_again() == one(admin, sets)[0] == 1
    inventory.settle(admin)
    assert judged_again() == 0
    admin.execute(
        "UPDATE oneroof.gov_worker_cursor SET metadata = jsonb_set(metadata, '{sets_doubted,identity}', '\"other\"')"
    )
    assert judged_again() == 1


def test_a_candidate_that_somebody_holds_is_waited_for(
    admin: Connection, tailed: Source, installed_database: str
) -> None:
    """The audit goes on from where it is and does not come back: what it stepped over would be overlooked."""
    admin.execute("UPDATE oneroof.governance_candidate_state SET verdict = 'covered' WHERE source_key = '5'")
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with connect(installed_database) as holder, connect(installed_database) as onlooker:
        holder.execute("BEGIN")
        holder.execute("SELECT FROM oneroof.governance_candidate_state WHERE source_key = '5' FOR UPDATE")

        def let_go() -> None:
            eventually(lambda: one(onlooker, waiting)[0] > 0, what="the audit to wait")
            holder.execute("COMMIT")

        thread = threading.Thread(target=let_go)
        thread.start()
        found = audit(admin, tailed)
        thread.join()
    assert found["repaired_verdicts"] == 1


@pytest.mark.parametrize(
    ("change", "counted"),
    [
        ("facts_hash = 1", "repaired_drift"),
        ("group_key = 'src/other'", "repaired_verdicts"),
        ("grain = 'inherited'", "repaired_verdicts"),
    ],
)
def test_altered_facts_are_read_again(admin: Connection, tailed: Source, change: str, counted: str) -> None:
    """What a candidate says of its row is what the row says."""
    right = state(admin, 5)
    behind_its_back(admin, f"UPDATE oneroof.governance_candidate_state SET {change} WHERE source_key = '5'")
    assert audit(admin, tailed)[counted] == 1
    assert state(admin, 5)[3] in ("audit_drift", "audit_verdict")
    judge(admin, tailed)
    assert state(admin, 5) == right
    assert is_well(admin, tailed)


def test_what_is_beyond_the_frontier_is_not_its_business(admin: Connection, tailed: Source) -> None:
    """A row that the intake has not read is no omission."""
    admin.execute("INSERT INTO src VALUES (1000, now(), 'new')")
    admin.execute("UPDATE src SET status = 'changed' WHERE id = 3")
    assert audit(admin, tailed) == {}
    inventory.intake(admin, tailed)
    judge(admin, tailed)
    assert is_well(admin, tailed)


def test_a_deleted_row_is_a_tombstone_and_its_return_is_known(admin: Connection, tailed: Source) -> None:
    """Retired and kept; when it is there again it is judged again, and that it was gone stays known."""
    admin.execute("DELETE FROM src WHERE id = 9")
    assert audit(admin, tailed) == {"vanished": 1, "retired": 1}
    assert state(admin, 9)[2:4] == (True, "source_row_gone")
    judge(admin, tailed)
    assert state(admin, 9)[:3] == ("retired", None, False)
    assert is_well(admin, tailed)

    admin.execute("INSERT INTO src VALUES (9, now(), 'code 9')")
    inventory.intake(admin, tailed)
    assert state(admin, 9)[0] == "retired"
    assert audit(admin, tailed) == {"reborn": 1}
    assert state(admin, 9)[3] == "source_row_reborn"
    judge(admin, tailed)
    verdict, reason, dirty, _, known = state(admin, 9)
    assert (verdict, reason, dirty) == state(admin, 10)[:3]
    assert known == {"gone": False, "vanished": False, "reborn": True}
    (types,) = one(admin, "SELECT finding_types FROM oneroof.governance_object WHERE candidate_key = 'src:code 9'")
    assert "resurrected_object" in types
    assert is_well(admin, tailed)


def test_a_return_with_other_facts_is_seen_by_the_gate(admin: Connection, tailed: Source) -> None:
    """The intake sees the change before any audit: the end is the same, with facts that nobody had met."""
    admin.execute("DELETE FROM src WHERE id = 9")
    audit(admin, tailed)
    judge(admin, tailed)
    admin.execute("INSERT INTO src VALUES (9, now(), 'code 9', 'revived')")
    inventory.intake(admin, tailed)
    judge(admin, tailed)
    assert state(admin, 9)[:3] == state(admin, 10)[:3]
    assert state(admin, 9)[4] == {"gone": False, "vanished": False, "reborn": True}
    assert is_well(admin, tailed)


def test_a_return_under_another_key(admin: Connection, tailed: Source) -> None:
    """The object is the candidate key: a new row takes the place of the old one, dead or alive."""
    admin.execute("DELETE FROM src WHERE id IN (9, 10)")
    audit(admin, tailed)
    judge(admin, tailed)
    admin.execute("INSERT INTO src VALUES (1009, now(), 'code 9')")
    admin.execute("DELETE FROM src WHERE id = 11")
    admin.execute("INSERT INTO src VALUES (1011, now(), 'code 11')")
    inventory.intake(admin, tailed)
    assert audit(admin, tailed) == {"reborn": 1, "succeeded": 1}
    judge(admin, tailed)
    assert state(admin, 1009)[4]["reborn"] is True
    assert state(admin, 1011)[:3] == state(admin, 12)[:3]
    assert is_well(admin, tailed)


def test_duplicates_are_noted_and_succeed(admin: Connection, tailed: Source) -> None:
    """A second row of an object is accounted by the first, and takes its place when that goes."""
    admin.execute("INSERT INTO src VALUES (1001, now(), 'code 1'), (1002, now(), 'code 2')")
    inventory.intake(admin, tailed)
    admin.execute("DELETE FROM oneroof.governance_duplicate")
    assert audit(admin, tailed) == {"duplicates": 2}
    assert audit(admin, tailed) == {}
    admin.execute("DELETE FROM src WHERE id IN (1, 1002)")
    assert audit(admin, tailed) == {"notes_removed": 1, "succeeded": 1}
    judge(admin, tailed)
    assert state(admin, 1001)[:3] == state(admin, 3)[:3]
    assert one(admin, "SELECT count(*) FROM oneroof.governance_duplicate") == (0,)
    assert is_well(admin, tailed)


def test_a_renamed_object_leaves_a_tombstone(admin: Connection, tailed: Source) -> None:
    """Its row is another object now."""
    admin.execute("UPDATE src SET code = 'renamed' WHERE id = 4")
    inventory.intake(admin, tailed)
    assert audit(admin, tailed) == {"vanished": 1, "retired": 1}
    judge(admin, tailed)
    found = admin.execute(
        "SELECT candidate_key, verdict FROM oneroof.governance_candidate_state WHERE source_key = '4'"
    )
    assert dict(found.fetchall()) == {"src:code 4": "retired", "src:renamed": state(admin, 5)[0]}
    assert audit(admin, tailed) == {}


def test_many_at_once_are_held_until_two_people_let_them_go(
    admin: Connection, tailed: Source, installed_database: str
) -> None:
    """150 of 200: undecided and a finding; another person's approval retires as many, and no more."""
    admin.execute("DELETE FROM src WHERE id <= 150")
    assert audit(admin, tailed) == {"vanished": 150, "held_groups": 1}
    judge(admin, tailed)
    assert state(admin, 1)[:3] == ("undecided", "vanished", False)
    held = next(each for each in store.listing(admin) if each.issue_type == "mass_vanishing")
    assert held.details == {"source": "src", "group": "src/born", "vanished": 150, "members": 200}
    assert audit(admin, tailed) == {"held_groups": 1}

    with (
        connect(as_user(installed_database, "requester")) as asking,
        connect(as_user(installed_database, "approver")) as deciding,
    ):
        early = vanishing.request(asking, "src/born", reason="moved away")
        with pytest.raises(Refused):
            requests.decide(asking, early, "approved")
        # One more: nobody has agreed to that.
        admin.execute("DELETE FROM src WHERE id = 151")
        assert audit(admin, tailed) == {"vanished": 1, "held_groups": 1}
        with pytest.raises(Refused, match="this many"):
            requests.decide(deciding, early, "approved")
        request = vanishing.request(asking, "src/born", reason="moved away")
        requests.decide(deciding, request, "approved")
    assert audit(admin, tailed, batch=40) == {"retired": 151}
    judge(admin, tailed)
    assert state(admin, 1)[:3] == state(admin, 151)[:3] == ("retired", None, False)
    assert not [each for each in store.listing(admin) if each.issue_type == "mass_vanishing"]
    assert vanishing.listing(admin) == []
    assert is_well(admin, tailed)


def test_what_was_held_and_is_back_was_never_gone(admin: Connection, tailed: Source) -> None:
    """Nothing was retired, so nothing is resurrected; the finding closes."""
    admin.execute("CREATE TABLE aside AS SELECT * FROM src WHERE id <= 150")
    admin.execute("DELETE FROM src WHERE id <= 150")
    audit(admin, tailed)
    judge(admin, tailed)
    admin.execute("INSERT INTO src SELECT * FROM aside")
    inventory.intake(admin, tailed)
    assert audit(admin, tailed)["reborn"] == 150
    judge(admin, tailed)
    assert state(admin, 1)[:3] == state(admin, 200)[:3]
    assert state(admin, 1)[4] == {"vanished": False}
    assert is_well(admin, tailed)
    assert not [each for each in store.listing(admin) if each.issue_type == "mass_vanishing"]


def test_what_is_back_is_not_retired_with_the_others(
    admin: Connection, tailed: Source, installed_database: str
) -> None:
    """Two people let 150 go, while 50 of them are there again and the audit has not looked since."""
    admin.execute("CREATE TABLE aside AS SELECT * FROM src WHERE id <= 50")
    admin.execute("DELETE FROM src WHERE id <= 150")
    audit(admin, tailed)
    judge(admin, tailed)
    with (
        connect(as_user(installed_database, "requester")) as asking,
        connect(as_user(installed_database, "approver")) as deciding,
    ):
        requests.decide(deciding, vanishing.request(asking, "src/born", reason="moved away"), "approved")
    admin.execute("INSERT INTO src SELECT * FROM aside")
    inventory.intake(admin, tailed)
    assert audit(admin, tailed) == {"reborn": 50, "retired": 100}
    judge(admin, tailed)
    assert state(admin, 1)[:3] == state(admin, 200)[:3]
    assert state(admin, 151)[0] != "retired"
    assert state(admin, 150)[0] == "retired"
    assert is_well(admin, tailed)


def test_a_failed_row_is_left_to_its_item(admin: Connection, tailed: Source) -> None:
    """It is accounted by the item; where that is missing too, the audit makes one."""
    admin.execute("INSERT INTO src VALUES (1000, now(), %s)", (inventory.POISON,))
    inventory.intake(admin, tailed)
    assert audit(admin, tailed) == {}
    admin.execute("DELETE FROM oneroof.governance_retry")
    assert audit(admin, tailed) == {"failed": 1}
    assert one(admin, "SELECT count(*) FROM oneroof.governance_retry WHERE source_key = '1000'") == (1,)
    assert is_well(admin, tailed)


def test_a_killed_audit_goes_on_where_it_was(admin: Connection, tailed: Source) -> None:
    """After any number of steps another instance goes on, and what was found is counted once."""
    behind_its_back(admin, "DELETE FROM oneroof.governance_candidate_state WHERE source_key IN ('7', '8', '9')")
    admin.execute("DELETE FROM src WHERE id = 20")
    steps, audits = 0, 0
    while not audits:
        inventory.run_out(admin)
        worker = FullAudit(admin, tailed, inventory.claim(admin, periodic_full_audit.NAME), batch=2)
        assert not worker.run_once().idle
        steps, audits = steps + 1, worker.audits
    assert steps > 8
    (summary,) = one(
        admin,
        "SELECT last_run_summary FROM oneroof.gov_worker_cursor WHERE worker_name = %s",
        (periodic_full_audit.NAME,),
    )
    found = {name: summary[name] for name in COUNTS if summary[name]}
    assert found == {"repaired_missing": 3, "repaired_groups": 1, "vanished": 1, "retired": 1}
    inventory.run_out(admin)
    judge(admin, tailed)
    assert is_well(admin, tailed)


MANY = 3_000
AT = "SELECT window_at FROM oneroof.gov_worker_cursor WHERE worker_name = %s"
DIFFERING = (
    "SELECT count(*), coalesce(sum(members), 0) FROM oneroof.governance_audit_bucket WHERE (members, hashes) <> (0, 0)"
)


@pytest.fixture
def crowded(admin: Connection) -> Source:
    """3,000 rows of one set of facts, swept, judged, and with the tail behind them."""
    made = inventory.make(admin)
    admin.execute(
        "INSERT INTO src SELECT n, now() - interval '1 hour', 'code ' || n FROM generate_series(1, %s) AS n", (MANY,)
    )
    inventory.sweep(admin, made, batch=1_000)
    inventory.intake(admin, made, batch=1_000)
    judge(admin, made)
    return made


def standing(admin: Connection) -> dict[str, Any]:
    """Where the audit stands."""
    return dict(one(admin, AT, (periodic_full_audit.NAME,))[0] or {"step": None})


def step_by_step(
    admin: Connection, tailed: Source, *, until: str | None, between: Callable[[str], None] = lambda _: None
) -> Counter[str]:
    """An audit up to a step or its end, each step by another instance, as if the one before was killed; how many steps
    there were of each.
    """
    steps: Counter[str] = Counter()
    while True:
        inventory.run_out(admin)
        worker = FullAudit(admin, tailed, inventory.claim(admin, periodic_full_audit.NAME), at_once=not steps, few=0)
        assert not worker.run_once().idle
        step = standing(admin)["step"]
        if step == until:
            inventory.run_out(admin)
            return steps
        steps[step] += 1
        between(step)


def counted(admin: Connection) -> dict[str, int]:
    (summary,) = one(
        admin,
        "SELECT last_run_summary FROM oneroof.gov_worker_cursor WHERE worker_name = %s",
        (periodic_full_audit.NAME,),
    )
    return {name: summary[name] for name in COUNTS if summary[name]}


def looked_up(plan: dict[str, Any]) -> int:
    """How often a plan has looked for a candidate by an index."""
    here = plan["Actual Loops"] if plan.get("Relation Name") == "governance_candidate_state" else 0
    return int(here) + sum(map(looked_up, plan.get("Plans", [])))


def test_few_changes_in_a_large_set_look_at_few_keys(admin: Connection, crowded: Source) -> None:
    """All 3,000 rows have the same facts; ten of them gone and ten candidates hidden make a few dozen be looked for."""
    admin.execute("DELETE FROM src WHERE id % 300 = 7")
    behind_its_back(admin, "DELETE FROM oneroof.governance_candidate_state WHERE source_key::int % 300 = 8")
    step_by_step(admin, crowded, until="found")
    differing, _ = one(admin, DIFFERING)
    assert 15 <= differing <= 20
    (frontier,) = one(
        admin, "SELECT frontier::text FROM oneroof.gov_worker_cursor WHERE worker_name = %s", (inventory.INTAKE,)
    )
    (drifted, members, apart) = one(admin, queries("full_audit/steps")["drifted"], {"scope": "src"})
    assert (len(drifted), members, apart) == (1, MANY - 10, 0)
    given = {"scope": "src", "drifted": drifted, "mask": standing(admin)["buckets"] - 1, "horizon": frontier}
    given |= {"first": "(0,0)", "last": "(100000,0)", "batch": MANY}
    candidates = admin.execute(comparison.accounted(), given).fetchall()
    assert 10 <= len(candidates) <= 100
    finding = sql.SQL("EXPLAIN (ANALYZE, FORMAT JSON) {}").format(comparison.found(crowded))
    ((plan,),) = admin.execute(finding, given).fetchall()
    assert 10 <= looked_up(plan[0]["Plan"]) <= 100
    step_by_step(admin, crowded, until=None)
    assert counted(admin) == {"repaired_missing": 10, "repaired_groups": 1, "vanished": 10, "retired": 10}
    judge(admin, crowded)
    assert is_well(admin, crowded)


def test_nothing_is_put_into_buckets_where_nothing_or_little_has_drifted(admin: Connection, crowded: Source) -> None:
    """No bucket is written; few are looked for as they are."""
    assert audit(admin, crowded) == {}
    admin.execute("DELETE FROM src WHERE id = 9")
    assert audit(admin, crowded, few=periodic_full_audit.FEW) == {"vanished": 1, "retired": 1}
    assert one(admin, "SELECT count(*) FROM oneroof.governance_audit_bucket") == (0,)


def test_killed_between_any_two_pieces_of_buckets(
    admin: Connection, crowded: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever goes on adds up each piece once, and takes the same buckets."""
    monkeypatch.setattr(periodic_full_audit, "PAGES", 8)
    admin.execute("DELETE FROM src WHERE id IN (5, 6)")
    behind_its_back(admin, "DELETE FROM oneroof.governance_candidate_state WHERE source_key IN ('7', '8', '9')")
    steps = step_by_step(admin, crowded, until="found")
    assert steps["row_buckets"] >= 2
    assert steps["candidate_buckets"] >= 5
    assert one(admin, DIFFERING) == (5, 1)
    step_by_step(admin, crowded, until=None)
    assert counted(admin) == {"repaired_missing": 3, "repaired_groups": 1, "vanished": 2, "retired": 2}
    judge(admin, crowded)
    assert is_well(admin, crowded)


def test_a_rewrite_while_buckets_are_added_up(
    admin: Connection, crowded: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows have moved to where the walk has been: it begins anew, and none is counted twice or left out."""
    monkeypatch.setattr(periodic_full_audit, "PAGES", 8)
    admin.execute("DELETE FROM src WHERE id <= 500 AND id % 50 = 0")
    done: list[bool] = []

    def rewrite(step: str) -> None:
        if step == "row_buckets" and "tid" in standing(admin) and not done:
            admin.execute("VACUUM FULL src")
            done.append(True)

    step_by_step(admin, crowded, until="found", between=rewrite)
    assert done
    assert one(admin, DIFFERING) == (10, -10)
    step_by_step(admin, crowded, until=None)
    assert counted(admin) == {"vanished": 10, "retired": 10}


def test_notes_and_tombstones_are_in_no_bucket(admin: Connection, crowded: Source) -> None:
    """However many rows another stands for and however many are gone: one more is the only difference."""
    admin.execute(
        "INSERT INTO src SELECT n + 10000, now(), 'code ' || n FROM generate_series(1, 50) AS n;"
        " DELETE FROM src WHERE id BETWEEN 101 AND 150"
    )
    inventory.intake(admin, crowded, batch=1_000)
    audit(admin, crowded)
    judge(admin, crowded)
    admin.execute("DELETE FROM src WHERE id = 200")
    step_by_step(admin, crowded, until="found")
    assert one(admin, DIFFERING) == (1, -1)
    step_by_step(admin, crowded, until=None)
    assert counted(admin) == {"vanished": 1, "retired": 1}


@pytest.mark.parametrize("least", [1, comparison.LEAST_BUCKETS])
def test_a_swap_is_found(admin: Connection, tailed: Source, monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    """As many are gone as are missing, in one set and in one bucket: the counts agree, and the keys do not."""
    monkeypatch.setattr(comparison, "LEAST_BUCKETS", least)
    admin.execute("DELETE FROM src WHERE id <= 6")
    behind_its_back(
        admin, "DELETE FROM oneroof.governance_candidate_state WHERE source_key IN ('7','8','9','10','11','12')"
    )
    assert audit(admin, tailed) == {"repaired_missing": 6, "repaired_groups": 1, "vanished": 6, "retired": 6}
    judge(admin, tailed)
    assert is_well(admin, tailed)


@pytest.mark.parametrize("least", [1, comparison.LEAST_BUCKETS])
def test_swapped_facts_are_found(admin: Connection, monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    """Candidates that have each other's facts, keys and counts being the same on both sides."""
    monkeypatch.setattr(comparison, "LEAST_BUCKETS", least)
    made = grouped(admin)
    behind_its_back(
        admin,
        "UPDATE oneroof.governance_candidate_state AS c SET facts_hash = o.facts_hash, group_key = o.group_key"
        " FROM oneroof.governance_candidate_state AS o WHERE c.source_key IN ('29', '30', '31', '32')"
        " AND o.source_key::int = 61 - c.source_key::int",
    )
    assert audit(admin, made)["repaired_drift"] == 4
    judge(admin, made)
    assert is_well(admin, made)


def test_what_moves_while_buckets_are_added_up_is_no_difference(
    admin: Connection, crowded: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows come and change all the time, seen by the intake or not: only what was hidden is written again."""
    monkeypatch.setattr(periodic_full_audit, "PAGES", 16)
    behind_its_back(admin, "DELETE FROM oneroof.governance_candidate_state WHERE source_key = '2500'")
    turns = count(start=1)

    def change(_: str) -> None:
        turn = next(turns)
        admin.execute("INSERT INTO src VALUES (%s, now(), %s)", (10_000 + turn, f"new {turn}"))
        admin.execute("UPDATE src SET status = 'changed' WHERE id < 1000 AND id %% 100 = %s", (turn,))
        admin.execute("UPDATE src SET status = status WHERE id < 1000 AND id %% 100 = %s", (99 - turn,))
        if turn % 2:
            inventory.intake(admin, crowded, batch=1_000)

    steps = step_by_step(admin, crowded, until=None, between=change)
    assert steps["row_buckets"]
    assert steps["found"]
    assert counted(admin) == {"repaired_missing": 1, "repaired_groups": 1}
    inventory.intake(admin, crowded, batch=1_000)
    judge(admin, crowded)
    assert is_well(admin, crowded)


def test_verdicts_past_their_time_are_expired(admin: Connection, tailed: Source) -> None:
    """Where the scan has not."""
    admin.execute(
        "UPDATE oneroof.governance_candidate_state SET stale_after = now() - interval '1 day' WHERE source_key = '1'"
    )
    assert audit(admin, tailed)["expired"] == 1
    judge(admin, tailed)
    assert is_well(admin, tailed)


SNAPSHOTS = """SELECT s.snapshot_ref, e.metrics, e.delta_previous FROM oneroof.governance_snapshot AS s
JOIN evolution_snapshots AS e ON e.id = s.snapshot_id AND e.scope = s.scope
WHERE s.source_name = 'src' AND s.scope = %s ORDER BY s.snapshot_ref"""


def snapshots(admin: Connection, scope: str) -> list[tuple[int, dict[str, Any], dict[str, Any] | None]]:
    return [(ref, metrics, delta) for ref, metrics, delta in admin.execute(SNAPSHOTS, (scope,))]


def grouped(admin: Connection) -> Source:
    """Rows in two groups, swept, judged and audited."""
    made = inventory.make(admin)
    admin.execute(
        "INSERT INTO src SELECT n, now() - interval '1 hour', 'code ' || n,"
        " CASE WHEN n <= 30 THEN 'born' ELSE 'grown' END FROM generate_series(1, 100) AS n"
    )
    inventory.sweep(admin, made, batch=100)
    inventory.intake(admin, made, batch=100)
    judge(admin, made)
    assert audit(admin, made) == {}
    return made


def test_doc31_5_snapshots_of_a_source_by_group(admin: Connection) -> None:
    """The sweep opens one, which its candidates are of; an audit keeps counts, bounds and fingerprints of the groups,
    and the next one what has changed in which; nothing is kept where nothing has changed.
    """
    made = grouped(admin)
    ((opened, metrics, _),) = snapshots(admin, "governance.backfill")
    assert int(metrics["pages"]) > 0
    refs = admin.execute("SELECT DISTINCT source_snapshot_ref FROM oneroof.governance_candidate_state").fetchall()
    assert refs == [(str(opened),)]
    ((first, metrics, delta),) = snapshots(admin, "governance.audit")
    assert delta is None
    assert {group: of["rows"] for group, of in metrics["groups"].items()} == {"src/born": 30, "src/grown": 70}
    summary, metadata = one(
        admin,
        "SELECT last_run_summary, metadata FROM oneroof.gov_worker_cursor WHERE worker_name = %s",
        (periodic_full_audit.NAME,),
    )
    assert (summary["snapshot_ref"], metadata["source_snapshot_ref"]) == (opened, first)
    assert audit(admin, made) == {}
    assert len(snapshots(admin, "governance.audit")) == 1
    admin.execute("UPDATE src SET status = 'grown' WHERE id = 1; INSERT INTO src VALUES (101, now(), 'new', 'late')")
    inventory.intake(admin, made, batch=100)
    judge(admin, made)
    refs = admin.execute(
        "SELECT source_key, source_snapshot_ref FROM oneroof.governance_candidate_state WHERE source_snapshot_ref <> %s"
        " ORDER BY 1",
        (str(opened),),
    ).fetchall()
    assert refs == [("1", str(first)), ("101", str(first))]
    assert audit(admin, made) == {}
    (_, (second, _, delta)) = snapshots(admin, "governance.audit")
    assert delta is not None
    assert second > first == delta["snapshot_ref"]
    assert set(delta["groups"]) == {"src/born", "src/grown", "src/late"}
    assert delta["groups"]["src/late"][0] is None


def test_doc31_5_drift_dirties_the_drifted_group_alone(admin: Connection) -> None:
    """What was altered in one group is mended there; nobody of another group is touched."""
    made = grouped(admin)
    others = (
        "SELECT source_key, xmin::text FROM oneroof.governance_candidate_state WHERE group_key = 'src/grown' ORDER BY 1"
    )
    before = admin.execute(others).fetchall()
    behind_its_back(admin, "DELETE FROM oneroof.governance_candidate_state WHERE source_key = '7'")
    behind_its_back(admin, "UPDATE oneroof.governance_candidate_state SET facts_hash = 5 WHERE source_key = '8'")
    found = {"repaired_missing": 1, "repaired_drift": 1, "repaired_verdicts": 1, "repaired_groups": 1}
    assert audit(admin, made) == found
    drifted = admin.execute(
        "SELECT f.group_key FROM oneroof.governance_audit_facts AS a LEFT JOIN oneroof.governance_fact_set AS f"
        " USING (facts_hash)"
        " WHERE (row_count, row_sum) <> (candidate_count, candidate_sum) ORDER BY 1"
    ).fetchall()
    assert drifted == [("src/born",), (None,)]
    dirty = admin.execute(
        "SELECT source_key, dirty_reason FROM oneroof.governance_candidate_state WHERE dirty ORDER BY 1"
    ).fetchall()
    assert dirty == [("7", "audit_missing"), ("8", "audit_drift")]
    assert admin.execute(others).fetchall() == before
    judge(admin, made)
    assert is_well(admin, made)


def test_a_snapshot_does_not_rest_on_the_hosts_row(admin: Connection) -> None:
    """The host may delete its rows: the next snapshot has nothing to be compared with, and is kept all the same."""
    made = grouped(admin)
    admin.execute("DELETE FROM evolution_snapshots")
    admin.execute("INSERT INTO src VALUES (101, now(), 'new', 'late')")
    inventory.intake(admin, made, batch=100)
    judge(admin, made)
    assert audit(admin, made) == {}
    ((_, metrics, delta),) = snapshots(admin, "governance.audit")
    assert delta is None or delta["groups"] == {}
    assert metrics["rows"] == 101


def test_two_connections_read_what_one_does(
    admin: Connection, tailed: Source, installed_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A half each, of rows and of candidates; what is wrong in either half is found, and mended once. Where there is no
    second connection to be had, the first reads both.
    """
    monkeypatch.setattr(range_sums, "LONG", 1)
    admin.execute("INSERT INTO src SELECT n, '-infinity', 'late ' || n FROM generate_series(1001, 6000) AS n")
    inventory.intake(admin, tailed, batch=5_000)
    judge(admin, tailed)
    dialled = 0

    def dial() -> Connection:
        nonlocal dialled
        dialled += 1
        if dialled > 1:
            raise Unavailable("too many connections")
        return connect(installed_database)

    second = ParallelReader(dial)

    def read_by_two() -> dict[str, int]:
        held = inventory.claim(admin, periodic_full_audit.NAME)
        inventory.until_idle(FullAudit(admin, tailed, held, at_once=True, few=0, second=second))
        lease.release(admin, held)
        row = one(
            admin,
            "SELECT last_run_summary FROM oneroof.gov_worker_cursor WHERE worker_name = %s",
            (periodic_full_audit.NAME,),
        )
        return {name: row[0][name] for name in COUNTS if row[0][name]}

    for hidden in ("dial", "refuse"):
        behind_its_back(admin, "DELETE FROM oneroof.governance_candidate_state WHERE source_key IN ('1', '6000')")
        assert read_by_two() == {"repaired_missing": 2, "repaired_groups": 1}, hidden
        judge(admin, tailed)
        assert is_well(admin, tailed)
    # One connection for a whole audit; one that is not to be had is asked for once.
    assert dialled == 2
    left = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type LIKE 'client%'"
    eventually(lambda: one(admin, left) == (1,), what="all but the first to leave")


def test_an_audit_goes_on_by_another_connection(admin: Connection, tailed: Source, installed_database: str) -> None:
    """A lane that has lost its connection gives its workers a new one, in the middle of whatever they do."""
    held = inventory.claim(admin, periodic_full_audit.NAME)
    lost = connect(installed_database)
    worker = FullAudit(lost, tailed, held, at_once=True)
    for _ in range(3):
        assert not worker.run_once().idle
    lost.close()
    worker.connection = admin
    inventory.until_idle(worker)
    assert worker.audits == 1
