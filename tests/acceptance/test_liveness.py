"""`oneroof status`, `watch`, `pause`, `resume` and `policy` as an operator meets them."""

from __future__ import annotations

import signal

from bed import as_user, command, eventually, spawn
from liveness import Actor
from oneroof.database.connection import Connection
from oneroof.database.statements import one

GAP = "cursor_silent_gap:gov_candidate_scan:birth_registry"
OPEN = "SELECT count(*) FROM system_issues WHERE source_system = 'oneroof' AND status = 'open'"


def test_a_dead_worker_is_exit_1_of_status_and_watch(admin: Connection, installed_database: str) -> None:
    """status shows it and writes nothing; watch --once raises it, and clears it when the worker is back."""
    actor = Actor(admin)
    actor.begin()
    actor.claim()
    well = command("watch", "--once", "--json", dsn=installed_database)
    assert (well.code, well.json) == (0, {"raised": [], "cleared": [], "open": 0, "findings": []}), well.err
    actor.at(46)
    status = command("status", "--json", dsn=as_user(installed_database, "viewer"))
    assert status.code == 1, status.err
    assert sorted(status.json) == ["books", "depth", "has_owners", "horizon", "workers"]
    (worker,) = status.json["workers"]
    assert (worker["state"], worker["lease_owner"], worker["tick_seconds"]) == ("dead", "a/1", 46)
    assert status.json["depth"] == {"dirty": 0, "stale": 0, "waiting": 0, "dead": 0}
    assert one(admin, OPEN) == (0,)
    found = command("watch", "--once", dsn=installed_database)
    assert found.code == 1
    assert found.out.splitlines()[0] == f"raised {GAP}"
    # The gap, and that its signal is of a type that is not active, which is no alarm.
    assert found.out.splitlines()[-1] == "2 open, the worst 1 shown"
    assert one(admin, OPEN) == (2,)
    again = command("watch", "--once", "--json", dsn=installed_database)
    assert (again.code, again.json["raised"], again.json["findings"][0]["coalesce_key"]) == (1, [], GAP)
    actor.tick()
    back = command("watch", "--once", "--json", dsn=installed_database)
    assert (back.code, back.json["cleared"]) == (0, [GAP])
    shown = command("status", dsn=installed_database)
    assert shown.code == 0
    assert "quiet" in shown.out
    assert "depth: 0 dirty, 0 past their time, 0 waiting, 0 dead letters" in shown.out
    assert "horizon: xid " in shown.out


def test_watch_looks_until_it_is_told_to_stop(admin: Connection, installed_database: str) -> None:
    """And says what it raised, once."""
    actor = Actor(admin)
    actor.begin()
    actor.claim()
    actor.at(46)
    process = spawn("watch", "--json", dsn=installed_database)
    eventually(lambda: one(admin, OPEN) == (2,), what="the finding")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert f"raised {GAP}" in err
    assert f'"{GAP}"' in out


def test_watch_needs_the_workers_role(installed_database: str) -> None:
    """Exit 3 for who has it not."""
    ran = command("watch", "--once", dsn=as_user(installed_database, "viewer"))
    assert ran.code == 3
    assert "permission denied" in ran.err


def test_pause_and_resume(admin: Connection, installed_database: str) -> None:
    """With or without gov_, twice is once, seen in status; an unknown worker is wrong usage."""
    Actor(admin).begin()
    viewer = as_user(installed_database, "viewer")
    first = command("pause", "candidate_scan", "--json", dsn=viewer)
    assert first.code == 0, first.err
    assert first.json == {"worker": "gov_candidate_scan", "paused": True, "changed": True}
    assert command("pause", "gov_candidate_scan", "--json", dsn=viewer).json["changed"] is False
    assert command("status", "--json", dsn=viewer).json["workers"][0]["state"] == "paused"
    assert command("resume", "candidate_scan", dsn=viewer).out == "gov_candidate_scan may work\n"
    assert command("resume", "candidate_scan", dsn=viewer).out == "gov_candidate_scan may work; it was not paused\n"
    assert command("status", "--json", dsn=viewer).json["workers"][0]["state"] == "released"
    for word in ("pause", "resume"):
        assert command(word, "nobody", dsn=viewer).code == 2


def test_policies_from_the_shell(installed_database: str) -> None:
    """Listed and set in the database's words; a wrong name, a wrong value and no value at all are exit 2."""
    viewer = as_user(installed_database, "viewer")
    done = command("policy", "set", "backfill_sweep", "batch_size=2000", "lag_limit=10 minutes", "--json", dsn=viewer)
    assert done.code == 0, done.err
    assert done.json["changed"] is True
    assert (done.json["policy"]["batch_size"], done.json["policy"]["lag_limit"]) == (2000, 600)
    policies = {row["worker_name"]: row for row in command("policy", "list", "--json", dsn=viewer).json}
    assert policies["gov_backfill_sweep"] == done.json["policy"]
    assert policies["gov_candidate_scan"]["batch_size"] == 5000
    assert "2000" in command("policy", "list", dsn=viewer).out
    for words, said in (
        (["backfill_sweep", "batchsize=1"], "did you mean batch_size?"),
        (["backfill_sweep", "batch_size=0"], "batch_size >= 1"),
        (["backfill_sweep", "batch_size"], "NAME=VALUE"),
        (["backfill_sweep", "attempts=1", "attempts=2"], "each name once"),
        (["backfill_sweep"], "NAME=VALUE"),
        (["nobody", "batch_size=1"], "nobody"),
    ):
        wrong = command("policy", "set", *words, dsn=viewer)
        assert wrong.code == 2, words
        assert said in wrong.err, words
    assert command("policy", "list", "--json", dsn=viewer).json == list(policies.values())
