"""The kinds of errors: which are tried again, which are poison, slow, a full disk or a lost connection (promise 12)."""

from __future__ import annotations

from typing import Literal

import psycopg
from psycopg import errors as pg

from oneroof.errors import OneroofError, printable

Kind = Literal["again", "poison", "slow", "full", "lost", "sick"]
AGAIN: Kind = "again"
POISON: Kind = "poison"
SLOW: Kind = "slow"
FULL: Kind = "full"
LOST: Kind = "lost"
SICK: Kind = "sick"
# Data exceptions, violated constraints, limits of a row, damaged pages: another row would have gone well.
_POISON = ("22", "23", "54", "XX001", "XX002")
# The connection is gone, or the server is going, not yet there, or has become a standby.
_LOST = ("08", "57P", "25P03", "25006")
_LONGEST = 500


def kind_of(error: OneroofError) -> Kind:
    """What an error asks for: the same again, to look for one bad item, or a pause of the worker."""
    cause = error.__cause__
    match cause:
        case pg.SerializationFailure() | pg.DeadlockDetected() | pg.LockNotAvailable():
            return AGAIN
        case pg.QueryCanceled():
            return SLOW
        case pg.DiskFull():
            return FULL
        case psycopg.Error() if is_poison(cause):
            return POISON
        case psycopg.Error() if (cause.sqlstate or "").startswith(_LOST):
            return LOST
        case psycopg.OperationalError(sqlstate=None):
            return LOST
        case _:
            return SICK


def is_poison(error: psycopg.Error) -> bool:
    """Whether another row would have gone well."""
    return (error.sqlstate or "").startswith(_POISON)


def describe(error: OneroofError) -> dict[str, str]:
    """The SQLSTATE and the sentence to keep with an item, short, and without what a terminal would obey."""
    cause = error.__cause__
    assert isinstance(cause, psycopg.Error)
    sentence = printable(cause.diag.message_primary or str(cause)).replace("\n", " ")
    return {"sqlstate": cause.sqlstate or "", "error": sentence[:_LONGEST]}
