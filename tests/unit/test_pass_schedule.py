"""A lull is believed while the ground is the same, and never for long."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oneroof.tail.pass_schedule import BELIEVED, Lull
from oneroof.tail.table_files import Ground

GROUND = Ground(blocks=7, leaves=[1], files="a", written=40)


def test_before_a_pass_nothing_is_known() -> None:
    lull = Lull(10)
    assert lull.is_due(rested=10)
    assert not lull.lasts(GROUND, rested=0)


def test_it_lasts_while_nothing_is_counted_and_is_not_asked_for_again_at_once() -> None:
    lull = Lull(10)
    lull.begin(GROUND)
    assert lull.is_due(rested=10)
    assert lull.lasts(GROUND, rested=10)
    assert not lull.is_due(rested=10)
    lull.begin(GROUND)
    assert lull.is_due(rested=10)


@pytest.mark.parametrize(
    "change",
    [{"written": 41}, {"written": 0}, {"blocks": 8}, {"files": "b"}, {"leaves": [1, 2]}],
    ids=["a write", "a crash", "growth", "a rewrite", "a partition"],
)
def test_any_change_of_the_ground_ends_it(change: dict[str, object]) -> None:
    lull = Lull(10)
    lull.begin(GROUND)
    assert not lull.lasts(replace(GROUND, **change), rested=10)  # type: ignore[arg-type]
    assert lull.is_due(rested=10)


def test_where_the_server_counts_nothing_there_is_none() -> None:
    lull = Lull(10)
    uncounted = replace(GROUND, written=None)
    lull.begin(uncounted)
    assert not lull.lasts(uncounted, rested=10)


def test_it_is_believed_for_some_intervals_only() -> None:
    lull = Lull(10)
    lull.begin(GROUND)
    assert lull.lasts(GROUND, rested=BELIEVED * 10 - 1)
    assert not lull.lasts(GROUND, rested=BELIEVED * 10)


def test_the_first_pass_at_once_is_due_until_one_of_ours_has_ended() -> None:
    """One that another process had begun counts for nothing."""
    lull = Lull(10, at_once=True)
    lull.end()
    assert lull.is_due(rested=0)
    lull.begin(GROUND)
    lull.end()
    assert not lull.is_due(rested=0)
    assert lull.rest(rested=4) == 6
