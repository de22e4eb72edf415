"""A database that goes on in another cluster: restored from a dump, or promoted from a standby (promise 13).

Xids mean nothing in another cluster, and little on another timeline: the frontier that was stored with the old
identity must not be believed, or births would be passed over for good.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from bed import command, connect, eventually, spawn
from by_hand import ACCOUNTS, DATABASE, LEASES, LEFT, Server, add_births, number, open_gate, running, server, set_policy
from oneroof.database.connection import Connection
from oneroof.database.statements import one

pytestmark = pytest.mark.slow

# A frontier that a tail goes by is one of this cluster; a sweep that was over may keep the one that it ended with.
FRONTIERS = """SELECT count(*) FROM oneroof.gov_worker_cursor
               WHERE worker_name = 'gov_handoff_intake' AND (frontier IS NULL OR frontier > pg_current_xact_id())"""
COUNTERS = "SELECT worker_name || ' ' || source_name, events_seen FROM oneroof.gov_worker_cursor"
BURN = """CREATE TEMP TABLE burnt (n int);
          DO $$ BEGIN FOR i IN 1..5000 LOOP
            BEGIN INSERT INTO burnt VALUES (i); EXCEPTION WHEN raise_exception THEN END;
          END LOOP; END $$"""


def counters(admin: Connection) -> dict[str, int]:
    return dict(admin.execute(COUNTERS).fetchall())


def add_odd_births(admin: Connection, collection: str) -> None:
    """Forty, which no clock would find: without a time, long ago, and for ever."""
    admin.execute(
        "INSERT INTO birth_registry (collection_name, entity_code, born_at)"
        " SELECT %s, n, (ARRAY[NULL, '2001-01-01', '-infinity', now()::text]::timestamptz[])[n %% 4 + 1]"
        " FROM generate_series(1, 40) AS n",
        (collection,),
    )


def assert_absorbed(admin: Connection, dsn: str, *, new: str, before: dict[str, int]) -> None:
    """One run finds what is new, touches nothing else, and leaves frontiers of this cluster; the next finds nothing."""
    ran = command("run", "--until-idle", dsn=dsn)
    assert ran.code == 0, ran.err
    _, keys, candidates, changed, without, strangers = one(admin, ACCOUNTS)
    assert (without, strangers, changed, candidates) == (0, 0, 0, keys)
    assert (
        number(admin, f"SELECT count(*) FROM oneroof.governance_candidate_state WHERE candidate_key LIKE '{new}:%'")
        == 40
    )
    # What was written before the move and not yet read is new as well.
    dirty = "SELECT count(*) FROM oneroof.governance_candidate_state WHERE dirty AND candidate_key !~"
    assert number(admin, f"{dirty} '^(replicated|{new}):'") == 0
    assert number(admin, FRONTIERS) == 0
    after = counters(admin)
    assert {name for name, seen in before.items() if after[name] < seen} == set()
    again = command("run", "--until-idle", "--json", dsn=dsn)
    assert again.code == 0, again.err
    assert counters(admin) == after
    assert number(admin, LEASES) == 0


def reopen(new: Server) -> None:
    """People are tied to a cluster's roles and gates to a row's version: two are linked again, and open it."""
    assert command("gate", "list", "--json", dsn=new.dsn()).json[0]["is_open"] is False
    for person in ("requester", "approver"):
        linked = command("person", "link", person, "--login", person, dsn=new.dsn())
        assert linked.code == 0, linked.err
    # Two are enough: from here on nobody is linked without four eyes.
    assert command("person", "link", "viewer", "--login", "viewer", dsn=new.dsn()).code == 3
    open_gate(new)


def test_a_restored_dump_is_passed_over_once_in_full() -> None:
    """In the new cluster births have xids far below the stored frontier, and are found all the same."""
    with server() as old, server(ready=False) as new, tempfile.TemporaryDirectory(dir=old.home) as folder:
        os.chown(folder, *(old.identity.drop_to or (-1, -1)))
        dump = str(Path(folder) / "dump")
        with connect(old.dsn()) as admin:
            admin.execute(BURN)
            add_births(admin, "swept", 100)
            assert command("run", "--until-idle", dsn=old.dsn()).code == 0
            before = counters(admin)
            frontier = number(admin, "SELECT min(frontier::text::bigint) FROM oneroof.gov_worker_cursor")
            dirty = number(admin, "SELECT count(*) FROM oneroof.governance_candidate_state WHERE dirty")
        old.tool("pg_dump", "--format=custom", f"--file={dump}", old.dsn())
        roles = old.tool("pg_dumpall", "--roles-only", "--no-role-passwords", f"--dbname={old.dsn('postgres')}")
        with connect(new.dsn("postgres")) as admin:
            for statement in roles.splitlines():
                if statement.startswith(("CREATE ROLE", "ALTER ROLE", "GRANT")):
                    with suppress(psycopg.errors.DuplicateObject):
                        admin.execute(statement.encode())
            admin.execute(f"CREATE DATABASE {DATABASE}")
        new.tool("pg_restore", "--exit-on-error", f"--dbname={new.dsn()}", dump)
        with connect(new.dsn()) as admin:
            assert dirty == number(admin, "SELECT count(*) FROM oneroof.governance_candidate_state WHERE dirty") == 0
            add_odd_births(admin, "restored")
            newest = number(
                admin, "SELECT max(xmin::text::bigint) FROM birth_registry WHERE collection_name = 'restored'"
            )
            assert newest < frontier
            assert number(admin, LEFT) == 40
            closed = command("run", "--until-idle", dsn=new.dsn())
            assert closed.code == 3, closed.err
            reopen(new)
            assert_absorbed(admin, new.dsn(), new="restored", before=before)


@contextmanager
def standby_of(primary: Server) -> Iterator[Server]:
    """A physical copy of a server that follows it."""
    shared = Path(os.environ["ONEROOF_TEST_HOME"])
    with tempfile.TemporaryDirectory(prefix="bh-", dir=shared) as folder:
        made = Server(Path(folder), primary.binaries)
        made.tool(
            "pg_basebackup",
            f"--pgdata={made.data}",
            f"--dbname={primary.dsn('postgres')}",
            "--write-recovery-conf",
            "--checkpoint=fast",
            "--no-sync",
        )
        try:
            made.start()
            yield made
        finally:
            made.stop(signal.SIGQUIT)


def test_a_promoted_standby_is_passed_over_once_in_full() -> None:
    """Before it is promoted, a standby is refused with a sentence; afterwards nothing is missing."""
    with server() as primary:
        assert command("run", "--until-idle", dsn=primary.dsn()).code == 0
        with standby_of(primary) as standby:
            with connect(primary.dsn()) as admin:
                before = counters(admin)
                add_births(admin, "replicated", 100)
                written = number(admin, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
            with connect(standby.dsn()) as reader:
                replayed = "SELECT pg_last_wal_replay_lsn() - '0/0'::pg_lsn"
                eventually(lambda: number(reader, replayed) >= written, what="the standby to have it all")
            for words in (["run"], ["run", "--until-idle"]):
                refused = command(*words, dsn=standby.dsn())
                assert refused.code == 4
                assert "standby" in refused.err
            primary.stop(signal.SIGQUIT)
            with connect(standby.dsn()) as admin:
                assert one(admin, "SELECT pg_promote()") == (True,)
                add_odd_births(admin, "promoted")
                assert number(admin, LEFT) == 140
                assert_absorbed(admin, standby.dsn(), new="promoted", before=before)


def test_a_standby_that_falls_behind_pauses_the_work_until_it_has_caught_up() -> None:
    """Replay is held up while WAL is written: nothing is swept; let go, the sweep goes on by itself (promise 15)."""
    with server() as primary, standby_of(primary) as standby, connect(primary.dsn()) as admin:
        set_policy(admin, replication_lag_limit="1000000")
        with connect(standby.dsn()) as follower:
            follower.execute("SELECT pg_wal_replay_pause()")
            eventually(
                lambda: one(follower, "SELECT pg_get_wal_replay_pause_state()") == ("paused",),
                what="replay to be held up",
            )
            admin.execute("CREATE TABLE noise AS SELECT repeat(md5(n::text), 30) FROM generate_series(1, 5000) AS n")
            behind = "SELECT coalesce(max(pg_current_wal_lsn() - replay_lsn), 0) FROM pg_stat_replication"
            eventually(lambda: number(admin, behind) > 2_000_000, what="the standby to be behind")
            process = spawn("run", "backfill_sweep", "--until-idle", dsn=primary.dsn())
            with running(process):
                assert process.stderr is not None
                said = next(line for line in process.stderr if "standby" in line)
                assert "bytes behind" in said
                assert number(admin, "SELECT coalesce(sum(events_seen), 0) FROM oneroof.gov_worker_cursor") == 0
                follower.execute("SELECT pg_wal_replay_resume()")
                assert process.wait(timeout=60) == 0
        assert number(admin, LEFT) == 0
