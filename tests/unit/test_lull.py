"""A lull is believed while the ground is the same, and never for long."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oneroof.cursor import Ground
from oneroof.lull import BELIEVED, Lull

GROUND = Ground(blocks=7, leaves=[1], files="a", written=40)


def test_before_a_pass_nothing_is_known() -> None:
    lull = Lull(10)
    assert not lull.is_known()
    assert not lull.lasts(GROUND, rested=0)


def test_it_lasts_while_nothing_is_counted_and_is_not_asked_for_again_at_once() -> None:
    lull = Lull(10)
    lull.begin(GROUND)
    assert not lull.is_known()
    assert lull.lasts(GROUND, rested=10)
    assert lull.is_known()
    lull.begin(GROUND)
    assert not lull.is_known()


@pytest.mark.parametrize(
    "change",
    [{"written": 41}, {"written": 0}, {"blocks": 8}, {"files": "b"}, {"leaves": [1, 2]}],
    ids=["a write", "a crash", "growth", "a rewrite", "a partition"],
)
def test_any_change_of_the_ground_ends_it(change: dict[str, object]) -> None:
    lull = Lull(10)
    lull.begin(GROUND)
    assert not lull.lasts(replace(GROUND, **change), rested=10)  # type: ignore[arg-type]
    assert not lull.is_known()


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
