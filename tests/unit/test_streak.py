"""A streak of births ends with the first key that is there."""

from __future__ import annotations

import pytest
from psycopg import errors as pg

from oneroof.candidates.streak import MANY, Streak
from oneroof.errors import OneroofError, from_database


def failing(error: pg.Error) -> OneroofError:
    said = from_database(error, "trying")
    said.__cause__ = error
    return said


def test_many_births_in_a_row_are_a_streak_and_one_other_row_ends_it() -> None:
    streak = Streak()
    streak.note(MANY - 1, born=True)
    assert not streak.lasts()
    streak.note(0, born=False)
    streak.note(1, born=True)
    assert streak.lasts()
    streak.note(1, born=False)
    assert not streak.lasts()


def test_a_key_that_is_there_is_met_without_hope_the_second_time() -> None:
    streak, hopes = Streak(), []
    streak.note(MANY, born=True)

    def attempt() -> str:
        hopes.append(streak.lasts())
        if streak.lasts():
            raise failing(pg.UniqueViolation())
        return "written"

    assert streak.hoping(attempt) == "written"
    assert hopes == [True, False]


def test_another_failure_is_not_tried_again() -> None:
    streak, tries = Streak(), []
    streak.note(MANY, born=True)

    def attempt() -> None:
        tries.append(1)
        raise failing(pg.DivisionByZero())

    with pytest.raises(OneroofError):
        streak.hoping(attempt)
    assert tries == [1]
    assert streak.lasts()
