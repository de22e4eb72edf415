"""Processes and servers that stop, die and come back: one writer, nothing lost, nothing twice (promises 7, 8, 12, 13).

The lease's time to live is a policy in the database; here it is two seconds.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime

import psycopg
import pytest

from bed import as_user, command, connect, eventually, spawn
from by_hand import (
    CLOSED,
    LEASES,
    LEFT,
    SEEN,
    Server,
    add_births,
    add_login,
    assert_accounted,
    end,
    number,
    running,
    server,
    set_policy,
)
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from process import Process

pytestmark = pytest.mark.slow

TTL = 2.0
# A zombie and an heir have logins of their own, so that their sessions can be told apart.
SESSIONS = """SELECT coalesce(array_agg(state), '{}'), count(backend_xid)::int
              FROM pg_stat_activity WHERE usename = %s AND backend_type = 'client backend'"""
ACTIVE = """SELECT wait_event_type, wait_event, clock_timestamp() - query_start, query
            FROM pg_stat_activity WHERE usename = %s AND state = 'active'"""
OWNERS = "SELECT executor_name, lease_owner FROM queue_heartbeat WHERE executor_name LIKE 'gov%'"


@pytest.fixture
def host() -> Iterator[Server]:
    """A server with an estate, on which leases run out fast."""
    with server() as made:
        with connect(made.dsn()) as admin:
            set_policy(admin, lease_ttl=f"{TTL} seconds", sweep_interval="1 second", batch_size="1000")
            for name in ("first", "heir"):
                add_login(admin, name)
        yield made


def record_writes(admin: Connection) -> None:
    """Have the database itself note whose session changed a cursor or a candidate; what is rolled back leaves none."""
    admin.execute("CREATE TABLE written (login name DEFAULT session_user, at timestamptz DEFAULT clock_timestamp())")
    admin.execute(
        "CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS"
        " $$ BEGIN IF EXISTS (SELECT FROM rows) THEN INSERT INTO written DEFAULT VALUES; END IF; RETURN NULL; END $$"
    )
    for table in ("gov_worker_cursor", "governance_candidate_state", "governance_open_row", "governance_open_span"):
        for event in ("INSERT", "UPDATE"):
            admin.execute(
                f"CREATE TRIGGER noted_{event} AFTER {event} ON oneroof.{table} REFERENCING NEW TABLE AS rows"
                " FOR EACH STATEMENT EXECUTE FUNCTION note_write()"
            )


def writes(admin: Connection, login: str, *, since: datetime | None = None) -> int:
    """How many committed statements of a login wrote something."""
    (found,) = one(
        admin,
        "SELECT count(*) FROM written WHERE login = %s AND at > coalesce(%s::timestamptz, '-infinity')",
        (login, since),
    )
    return int(found)


def server_time(admin: Connection) -> datetime:
    (now,) = one(admin, "SELECT clock_timestamp()")
    assert isinstance(now, datetime)
    return now


def run_as(host: Server, name: str, *words: str) -> Process:
    """`oneroof run` by an instance and a login of this name."""
    return spawn("run", *words, "--instance", name, dsn=as_user(host.dsn(), name))


def owners(admin: Connection) -> dict[str, str]:
    """Who has which lease; the host's table has no key, so two rows of one executor would be a fault of ours."""
    rows = admin.execute(OWNERS).fetchall()
    assert len({executor for executor, _ in rows}) == len(rows)
    return {executor: (owner or "").split("/")[0] for executor, owner in rows}


def sweep_owner(admin: Connection) -> str:
    return next((owner for executor, owner in owners(admin).items() if executor.startswith("gov_backfill")), "")


def stop(process: Process, admin: Connection, name: str, *, inside: bool) -> None:
    """Stop a process inside a transaction that has written and now idles, or outside of any; try until caught."""

    def settled() -> list[str]:
        states, _ = one(admin, SESSIONS, (name,))
        return [] if "active" in states else states

    def caught() -> bool:
        process.send_signal(signal.SIGSTOP)
        try:
            states = eventually(settled, what="its statement to end")
        except AssertionError as late:
            raise AssertionError(admin.execute(ACTIVE, (name,)).fetchall()) from late
        _, writing = one(admin, SESSIONS, (name,))
        if (writing > 0 and "idle in transaction" in states) if inside else set(states) == {"idle"}:
            return True
        process.send_signal(signal.SIGCONT)
        return False

    eventually(caught, what=f"{name} {'inside' if inside else 'outside'} a transaction")


def awaken(process: Process, admin: Connection, name: str) -> None:
    """Continue a zombie, and wait until it has ended, or has spoken with the server more than half a second later."""
    spoke = "SELECT count(*) FROM pg_stat_activity WHERE usename = %s AND query_start > %s + interval '500 ms'"
    before = server_time(admin)
    process.send_signal(signal.SIGCONT)
    eventually(lambda: process.poll() is not None or one(admin, spoke, (name, before))[0], what="the zombie to act")


def test_a_sweep_stopped_inside_a_transaction_commits_nothing_after_the_takeover(host: Server) -> None:
    """SIGSTOP with locks held: the heir has the lease within TTL + 5 s and finishes; the zombie adds nothing."""
    with connect(host.dsn()) as admin:
        record_writes(admin)
        add_births(admin, "many", 100_000)
        rows = number(admin, "SELECT count(*) FROM birth_registry")
        first = run_as(host, "first", "backfill_sweep")
        with running(first):
            eventually(lambda: number(admin, SEEN) > 0, what="the sweep to be under way")
            stop(first, admin, "first", inside=True)
            stopped, at = time.monotonic(), server_time(admin)
            assert number(admin, SEEN) < rows
            assert sweep_owner(admin) == "first"
            heir = run_as(host, "heir", "backfill_sweep")
            with running(heir):
                eventually(
                    lambda: sweep_owner(admin) == "heir",
                    what="the takeover",
                    seconds=TTL + 5 - (time.monotonic() - stopped),
                )
                eventually(lambda: number(admin, CLOSED), what="the heir to finish")
                assert number(admin, SEEN) == rows
                awaken(first, admin, "first")
                assert sweep_owner(admin) == "heir"
                code, err = end(first)
                assert code in (0, 4, 5), err
                assert sweep_owner(admin) == "heir"
                assert end(heir)[0] == 0
        assert writes(admin, "first") > 0
        assert writes(admin, "first", since=at) == 0
        assert writes(admin, "heir", since=at) > 0
        assert number(admin, LEASES) == 0
        assert_accounted(admin)


def test_a_tail_stopped_while_quiet_commits_nothing_after_the_takeover(host: Server) -> None:
    """SIGSTOP between batches: what is born afterwards is the heir's, even while the heir itself does nothing."""
    with connect(host.dsn()) as admin:
        record_writes(admin)
        first = run_as(host, "first")
        with running(first):
            eventually(lambda: number(admin, CLOSED), what="the sweep")
            add_births(admin, "before", 20)
            eventually(lambda: number(admin, LEFT) == 0, what="the tail to have found them")
            stop(first, admin, "first", inside=False)
            at = server_time(admin)
            held = {executor for executor, owner in owners(admin).items() if owner == "first"}
            assert len(held) > 1
            heir = run_as(host, "heir")
            with running(heir):
                add_births(admin, "meanwhile", 300)
                eventually(
                    lambda: {executor for executor, owner in owners(admin).items() if owner == "heir"} >= held,
                    what="the takeover of every lease",
                    seconds=TTL + 5,
                )
                eventually(lambda: number(admin, LEFT) == 0, what="the heir to have found them")
                stop(heir, admin, "heir", inside=False)
                # As if it ticked: however slow this machine is, the leases are still the heir's.
                admin.execute(
                    "UPDATE queue_heartbeat SET last_tick_at = clock_timestamp() + interval '1 hour'"
                    " WHERE lease_owner LIKE 'heir/%'"
                )
                add_births(admin, "after", 300)
                awaken(first, admin, "first")
                assert number(admin, LEFT) == 300
                assert writes(admin, "first", since=at) == 0
                heir.send_signal(signal.SIGCONT)
                eventually(lambda: number(admin, LEFT) == 0, what="those born after")
                # Both live, and share the leases out among them.
                assert {owners(admin)[executor] for executor in held} <= {"heir", "first", ""}
                code, err = end(first)
                assert code in (0, 5), err
                assert end(heir)[0] == 0
        assert writes(admin, "first") > 0
        assert number(admin, LEASES) == 0
        finish(host, admin)
        assert_accounted(admin)


def test_an_heir_outlives_a_lock_on_the_lease(host: Server) -> None:
    """A zombie's lock, held longer than any lock time-out of ours, delays an heir and does not end it."""
    with connect(host.dsn()) as admin, connect(host.dsn()) as zombie:
        finish(host, admin)
        add_births(admin, "waiting", 10)
        zombie.execute("BEGIN")
        zombie.execute("SELECT FROM oneroof.governance_lease FOR UPDATE")
        heir = run_as(host, "heir")
        with running(heir):
            began = time.monotonic()
            eventually(lambda: heir.poll() is not None or time.monotonic() > began + 8, what="it to wait")
            assert heir.poll() is None, heir.communicate()[1]
            assert number(admin, LEFT) == 10
            zombie.execute("ROLLBACK")
            eventually(lambda: number(admin, LEFT) == 0, what="the heir to go on")
            assert end(heir)[0] == 0
        assert_accounted(admin)


@dataclass
class Writer:
    """A host that goes on giving birth, whatever becomes of the server."""

    dsn: str
    stop: threading.Event = field(default_factory=threading.Event)
    sure: list[str] = field(default_factory=list)

    def write(self) -> None:
        name = 0
        while not self.stop.is_set():
            with suppress(psycopg.OperationalError), connect(self.dsn) as session:
                while not self.stop.is_set():
                    name += 1
                    session.execute(
                        "INSERT INTO birth_registry (collection_name, entity_code, born_at)"
                        " VALUES ('live', %s, now() - %s * interval '7 seconds')",
                        (str(name), name % 9),
                    )
                    self.sure.append(str(name))
                    self.stop.wait(0.01)
            self.stop.wait(0.05)


@contextmanager
def writing(dsn: str) -> Iterator[Writer]:
    writer = Writer(dsn)
    thread = threading.Thread(target=writer.write)
    thread.start()
    try:
        yield writer
    finally:
        writer.stop.set()
        thread.join()


def finish(host: Server, admin: Connection) -> None:
    """Do whatever is left, at leisure: a slow machine is not to cost a session its short lease now."""
    set_policy(admin, lease_ttl="30 seconds")
    ran = command("run", "--until-idle", dsn=host.dsn())
    assert ran.code == 0, ran.err


def assert_it_reconnects(process: Process, dsn: str) -> None:
    """A process that lost the server works again within 30 s of its return."""
    with connect(dsn) as admin:
        add_births(admin, "returned", 10)
        found = "SELECT count(*) = 10 FROM oneroof.governance_candidate_state WHERE candidate_key LIKE 'returned:%'"
        eventually(
            lambda: process.poll() is not None or number(admin, found),
            what="the running process to find a new birth",
            seconds=30,
        )
    if process.poll() is not None:
        code, err = end(process)
        pytest.fail(f"the process ended with {code} when the server went: {err}")


def test_an_immediate_stop_in_the_middle_of_a_sweep(host: Server) -> None:
    """The server dies without a word, mid-batch; the sweep goes on by itself when it is back."""
    with connect(host.dsn()) as admin:
        add_births(admin, "many", 100_000)
        rows = number(admin, "SELECT count(*) FROM birth_registry")
    process = run_as(host, "first")
    with running(process):
        with connect(host.dsn()) as admin:
            eventually(lambda: number(admin, SEEN) > 0, what="the sweep to be under way")
            host.stop(signal.SIGQUIT)
        host.start()
        with connect(host.dsn()) as admin:
            assert number(admin, SEEN) < rows
        assert_it_reconnects(process, host.dsn())
        with connect(host.dsn()) as admin:
            eventually(lambda: number(admin, LEFT) == 0, what="the rest of the sweep")
        assert end(process)[0] == 0
    with connect(host.dsn()) as admin:
        assert number(admin, LEASES) == 0
        finish(host, admin)
        assert_accounted(admin)


def test_an_immediate_stop_while_tailing_and_another_in_recovery(host: Server) -> None:
    """Births come all the while; every one that is there in the end was applied and counted once."""
    process = run_as(host, "first")
    with running(process), writing(host.dsn()) as writer:
        with connect(host.dsn()) as admin:
            eventually(lambda: number(admin, CLOSED) and len(writer.sure) > 50, what="the tail to follow births")
        host.stop(signal.SIGQUIT)
        host.stop_in_recovery()
        host.start()
        before = len(writer.sure)
        assert_it_reconnects(process, host.dsn())
        eventually(lambda: len(writer.sure) > before + 20, what="births after the return")
        writer.stop.set()
        with connect(host.dsn()) as admin:
            eventually(lambda: number(admin, LEFT) == 0, what="the last births")
        assert end(process)[0] == 0
    with connect(host.dsn()) as admin:
        finish(host, admin)
        kept = admin.execute("SELECT entity_code FROM birth_registry WHERE collection_name = 'live'").fetchall()
        assert {code for (code,) in kept} >= set(writer.sure)
        assert_accounted(admin)


def test_three_instances_at_once(host: Server) -> None:
    """50,000 births, three processes: no lease is taken from one that lives, each row is counted once."""
    with connect(host.dsn()) as admin:
        add_login(admin, "third")
        add_births(admin, "many", 48_000)
        processes = [run_as(host, name) for name in ("first", "heir", "third")]
        holders: dict[str, set[str]] = {}

        def swept() -> bool:
            for executor, owner in admin.execute(OWNERS).fetchall():
                holders.setdefault(executor, set()).add(owner)
            return bool(number(admin, CLOSED)) and number(admin, LEFT) == 0

        with running(*processes):
            eventually(swept, what="the sweep", seconds=60)
            add_births(admin, "late", 100)
            eventually(swept, what="the births after it")
            assert owners(admin)
            assert [end(process)[0] for process in processes] == [0, 0, 0]
        # Leases change hands by being given back; none is ever taken away.
        assert holders
        conflicts = "SELECT count(*) FROM system_issues WHERE issue_type = 'cursor_lease_conflict'"
        assert number(admin, conflicts) == 0
        assert number(admin, LEASES) == 0
        finish(host, admin)
        assert_accounted(admin)
