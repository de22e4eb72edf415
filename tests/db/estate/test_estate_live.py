"""What the live load promises: its rate, its mix, nothing open between ticks, and never a host."""

from __future__ import annotations

import threading
from time import monotonic

import pytest

from bed import connect
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import Refused, Usage
from oneroof.estate.build import build
from oneroof.estate.live import LiveCounts, live


def totals(connection: Connection) -> dict[str, int]:
    births, certified, retired = one(
        connection,
        """SELECT count(*), count(*) FILTER (WHERE certified), count(*) FILTER (WHERE status = 'retired')
           FROM birth_registry""",
    )
    (changes,) = one(connection, "SELECT count(*) FROM registry_changelog")
    return {"births": births, "certified": certified, "retired": retired, "changes": changes}


@pytest.mark.slow
def test_the_rate_and_the_mix_are_as_asked(estate_database: str) -> None:
    """400 a second for one second: 60 % births, and what is counted is what is in the tables."""
    with connect(estate_database) as connection:
        before = totals(connection)
        (last,) = one(connection, "SELECT max(id) FROM birth_registry")
        counts = live(connection, rate=400, seconds=1)
        after = totals(connection)
        assert counts.issued == 400
        assert (counts.births, counts.changes) == (240, 80)
        assert 30 <= counts.certifications <= 40
        assert 15 <= counts.retirements <= 20
        assert 15 <= counts.deletions <= 20
        assert after["births"] - before["births"] == counts.births - counts.deletions
        assert after["changes"] - before["changes"] == counts.changes + counts.retirements
        assert after["certified"] > before["certified"]
        assert after["retired"] > before["retired"]
        unknown, codes, rows = one(
            connection,
            """SELECT count(*) FILTER (WHERE collection_name NOT IN (SELECT collection_name FROM collection_registry)),
                      count(DISTINCT (collection_name, entity_code)), count(*) FROM birth_registry WHERE id > %s""",
            (last,),
        )
        assert unknown == 0
        assert codes == rows


@pytest.mark.slow
def test_ticks_are_short_and_leave_no_transaction_open(estate_database: str) -> None:
    """Between ticks the session is idle, so the load never pins the tail's horizon (design §3)."""
    with connect(estate_database) as connection, connect(estate_database) as other:
        states: list[str] = []

        def look(counts: LiveCounts) -> None:
            assert counts.ticks == len(states) + 1
            states.extend(
                state
                for (state,) in other.execute(
                    "SELECT state FROM pg_stat_activity WHERE pid = %s", (connection.info.backend_pid,)
                )
            )

        live(connection, rate=200, seconds=1, on_tick=look)
        assert 5 <= len(states) <= 20
        assert set(states) == {"idle"}


@pytest.mark.slow
def test_a_late_tick_catches_up(estate_database: str) -> None:
    """A consumer that stalls between ticks does not lower the rate."""

    def stall(_counts: LiveCounts) -> None:
        threading.Event().wait(0.3)

    with connect(estate_database) as connection:
        counts = live(connection, rate=300, seconds=1, on_tick=stall)
        assert counts.issued == 300
        assert counts.ticks <= 5


def test_stop_ends_it_at_once(estate_database: str) -> None:
    """Set while it waits for the next tick, it returns what was done."""
    stop = threading.Event()
    with connect(estate_database) as connection:
        started = monotonic()
        counts = live(connection, rate=50, stop=stop, on_tick=lambda _counts: stop.set())
        assert counts.ticks == 1
        assert monotonic() - started < 5


def test_an_interrupt_inside_a_tick_leaves_whole_ticks(estate_database: str) -> None:
    """Ctrl-C passes through, and the session can be used again."""

    def interrupt(counts: LiveCounts) -> None:
        if counts.ticks == 3:
            raise KeyboardInterrupt

    with connect(estate_database) as connection:
        before = totals(connection)
        with pytest.raises(KeyboardInterrupt):
            live(connection, rate=400, on_tick=interrupt)
        assert totals(connection)["births"] > before["births"]
        assert live(connection, rate=100, seconds=0.2).issued == 20


@pytest.mark.slow
def test_two_loads_at_once_do_not_wait_for_each_other(estate_database: str) -> None:
    """Rows that the other holds are passed over: no deadlock, both keep their rate."""
    with connect(estate_database) as first, connect(estate_database) as second:
        found: list[LiveCounts] = []
        other = threading.Thread(target=lambda: found.append(live(second, rate=500, seconds=1, seed=2)))
        other.start()
        counts = live(first, rate=500, seconds=1, seed=1)
        other.join()
        assert (counts.issued, found[0].issued) == (500, 500)


def test_a_tiny_estate_survives_the_load(empty_database: str) -> None:
    """With one birth there is little to certify, retire or delete; the load goes on."""
    with connect(empty_database) as connection:
        build(connection, rows=1)
        counts = live(connection, rate=200, seconds=0.5)
        assert (counts.issued, counts.births) == (100, 60)


def test_a_host_is_never_written_to(empty_database: str) -> None:
    """Without the estate's mark, or with the mark empty, the load is refused."""
    with connect(empty_database) as connection:
        with pytest.raises(Refused, match="not an estate"):
            live(connection, rate=10, seconds=1)
        build(connection, rows=50)
        connection.execute("DELETE FROM estate_build")
        before = totals(connection)
        with pytest.raises(Refused, match="not an estate"):
            live(connection, rate=10, seconds=1)
        assert totals(connection) == before


@pytest.mark.parametrize(
    ("rate", "seconds"), [(0.0, 1.0), (-1.0, 1.0), (float("nan"), 1.0), (float("inf"), 1.0), (1.0, 0.0), (1.0, -2.0)]
)
def test_impossible_rates_are_refused(estate_database: str, rate: float, seconds: float) -> None:
    """Said before anything is written."""
    with connect(estate_database) as connection, pytest.raises(Usage):
        live(connection, rate=rate, seconds=seconds)
