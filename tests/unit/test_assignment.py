"""When an assignment is due, by the clock that it is given; and how large a share of the leases is."""

from __future__ import annotations

from itertools import pairwise

import pytest

from oneroof.runtime.assignment import FIRST_PAUSE, LONGEST_PAUSE, NEVER, RECENT, VAIN, Assignment, Duty
from oneroof.runtime.instances import share
from oneroof.sources.source import Source

SOURCE = Source("s", "public", "s", "inventory", "at", ["id"], None, None, None, None, [], [], {})


def made() -> Assignment:
    return Assignment(Duty("gov_handoff_intake", SOURCE, "s"))


def rest(each: Assignment, now: float, *, rest: float = 0.0, latest: float = NEVER, asks: bool = False) -> None:
    each.is_woken = False
    each.rested_at(now, rest=rest, latest=latest, asks=asks, patient=True)


def test_work_makes_it_due_at_once_or_after_the_rest_it_asked_for() -> None:
    each = made()
    each.worked_at(10.0, rest=0.0, free_at=0.0, has_seen=True)
    assert each.due == 10.0
    each.worked_at(10.0, rest=0.25, free_at=0.0, has_seen=True)
    assert each.due == 10.25
    each.worked_at(10.0, rest=0.0, free_at=12.0, has_seen=True)
    assert each.due == 12.0


def test_the_pause_of_one_that_had_rows_doubles_to_a_second() -> None:
    each = made()
    each.worked_at(0.0, rest=0.0, free_at=0.0, has_seen=True)
    pauses = []
    for _ in range(12):
        rest(each, 1.0, asks=True)
        pauses.append(each.due - 1.0)
    assert pauses[0] == pytest.approx(FIRST_PAUSE)
    assert all(later == pytest.approx(min(LONGEST_PAUSE, 2 * pause)) for pause, later in pairwise(pauses))
    assert pauses[-1] == pytest.approx(LONGEST_PAUSE)
    rest(each, RECENT + 1, latest=60.0, asks=True)
    assert each.due == RECENT + 61


def test_a_wake_up_makes_it_due_but_not_before_its_rest_is_over() -> None:
    each = made()
    rest(each, 10.0, rest=0.25)
    assert (each.due, each.is_quiet) == (NEVER, True)
    each.wake(10.1)
    assert (each.due, each.is_quiet) == (10.25, False)
    rest(each, 20.0)
    each.wake(21.0)
    assert each.due == 21.0


def test_what_wakes_it_during_a_step_is_not_lost() -> None:
    each = made()
    each.wake(5.0)
    each.rested_at(6.0, rest=0.25, latest=NEVER, asks=False, patient=True)
    assert each.due == 6.25


def test_a_look_that_names_it_in_vain_is_heard_ever_more_rarely() -> None:
    each, now, waits = made(), 0.0, []
    for _ in range(7):
        rest(each, now)
        each.name(now)
        waits.append(each.due - now)
        now = each.due
    assert waits == [0.0, 1.0, 2.0, 4.0, 8.0, VAIN, VAIN]
    each.worked_at(now, rest=0.0, free_at=0.0, has_seen=True)
    rest(each, now)
    each.name(now)
    assert each.due == now


def test_a_look_that_names_a_busy_source_late_does_not_keep_its_rows_waiting() -> None:
    """The server counts rows late: a look names a source whose rows were applied meanwhile. Rows then waited a second,
    p99 of the tail was 1,005 ms instead of 20.
    """
    each, now = made(), 100.0
    each.worked_at(now, rest=0.0, free_at=0.0, has_seen=True)
    for _ in range(3):
        each.rested_at(now, rest=0.0, latest=60.0, asks=True, patient=True)
        each.name(now)
        assert each.due == now
    each.rested_at(now, rest=0.0, latest=60.0, asks=True, patient=True)
    assert each.due <= now + LONGEST_PAUSE
    assert each.earliest == now


def test_what_fails_or_is_held_elsewhere_counts_as_idle_and_what_is_at_work_does_not() -> None:
    each = made()
    assert not each.is_idle(0)
    each.idle_since = 0
    assert each.is_idle(0)
    assert not each.is_idle(1)
    each.failed_at(0.0, wait=0.5)
    assert each.is_idle(1)
    assert each.due == 0.5
    each.is_in_step = True
    assert not each.is_idle(1)


@pytest.mark.parametrize(
    ("executors", "instances", "expected"), [(10, 1, 10), (10, 4, 3), (0, 3, 0), (1, 4, 1), (5, 0, 5)]
)
def test_a_share_is_rounded_up(executors: int, instances: int, expected: int) -> None:
    assert share(executors, instances=instances) == expected
