"""Every failure a user can meet: one base, one sentence, one exit code, one command that helps.

The exit codes are a contract: 0 done and well, 1 done and something is wrong, 2 wrong usage, 3 refused,
4 cannot reach or not installed, 5 held elsewhere. Anything that is not a `OneroofError` is a defect of ours.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import psycopg

_PASSWORD = re.compile(r"(password\s*=\s*)('(?:[^'\\]|\\.)*'|\S+)|(://[^:/@\s]*:)[^@\s]*(@)", re.IGNORECASE)
_OURS = re.compile(r"\b(governance_|gov_|v_)[a-z_]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class OneroofError(Exception):
    """What happened, to which object, and the command that helps."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(printable(redact(message)))
        self.hint = None if hint is None else printable(redact(hint))
        # What a document has beside the sentence.
        self.details: dict[str, object] = {}


class Wrong(OneroofError):
    """Done, and something is wrong."""

    exit_code = 1


class Usage(OneroofError):
    """The call itself cannot be right."""

    exit_code = 2


class Refused(OneroofError):
    """A gate, a privilege or an approval says no."""

    exit_code = 3


class Unavailable(OneroofError):
    """The server cannot be reached or cannot serve, or the schema is not installed."""

    exit_code = 4


class HeldElsewhere(OneroofError):
    """Another process holds what this one needs."""

    exit_code = 5


def redact(text: str) -> str:
    """Blank every password in a connection string (promise 26)."""
    return _PASSWORD.sub(lambda m: f"{m[1]}***" if m[1] else f"{m[3]}***{m[4]}", text)


def printable(text: str) -> str:
    """Replace control and direction characters, so that data cannot drive a terminal (promise 26)."""
    return _CONTROL.sub("\ufffd", text)


def from_database(error: psycopg.Error, doing: str) -> OneroofError:
    """Say in one sentence what the server said, with the exit code that fits. `doing` names the act."""
    # Imported here: `--version` and `--help` use this module and ask no server.
    import psycopg
    from psycopg import errors as pg

    said = (error.diag.message_primary or str(error)).strip().splitlines()
    sentence = said[0] if said else type(error).__name__
    if isinstance(error, (pg.InsufficientPrivilege, pg.DependentObjectsStillExist)) and error.diag.message_detail:
        sentence += f" ({'; '.join(error.diag.message_detail.splitlines())})"
    hint = error.diag.message_hint
    match error:
        case pg.InsufficientPrivilege():
            return Refused(f"{doing}: {sentence}", hint=hint or "oneroof person list shows who may")
        case _ if error.sqlstate == "GV403":
            return Refused(sentence, hint=hint)
        case _ if error.sqlstate == "GV409":
            return HeldElsewhere(sentence, hint=hint)
        case pg.UndefinedTable() | pg.UndefinedFunction() if _OURS.search(sentence):
            return Unavailable(f"{doing}: oneroof is no longer installed here ({sentence})", hint="oneroof install")
        case pg.DiskFull():
            return Unavailable(
                f"{doing}: the server's disk is full ({sentence})",
                hint=hint or "free some space and run the command again; nothing was left half-done",
            )
        case pg.ReadOnlySqlTransaction():
            return Unavailable(
                f"{doing}: the server is read-only ({sentence})",
                hint="a standby cannot be written; name the primary with --dsn or ONEROOF_DSN",
            )
        case pg.QueryCanceled() | pg.LockNotAvailable():
            return Wrong(f"{doing}: {sentence}", hint=hint or "another session is in the way; try again")
        case pg.UndefinedColumn():
            return Wrong(f"{doing}: {sentence}", hint="oneroof source check")
        case psycopg.OperationalError():
            return Unavailable(f"{doing}: {sentence}", hint=hint)
        case _:
            return Wrong(f"{doing}: {sentence}", hint=hint)
