"""What a user may see: no secrets, no control characters, and the exit codes of the contract."""

from __future__ import annotations

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneroof import errors


@pytest.mark.parametrize(
    ("kind", "code"),
    [(errors.Wrong, 1), (errors.Usage, 2), (errors.Refused, 3), (errors.Unavailable, 4), (errors.HeldElsewhere, 5)],
)
def test_exit_codes_are_the_contract(kind: type[errors.OneroofError], code: int) -> None:
    """Scripts rely on them."""
    assert kind("x").exit_code == code


@pytest.mark.parametrize(
    "text",
    [
        "host=h password=geheim dbname=d",
        "password = 'ge heim' host=h".replace("ge heim", "geheim"),
        "postgresql://user:geheim@host/db",
        "connection to postgres://u:geheim@h:5/d?x=y failed",
        "PASSWORD=geheim",
        "postgresql://host/db?user=u&password=geheim&sslmode=require",
    ],
)
def test_passwords_are_blanked(text: str) -> None:
    """In whatever form a DSN carries them."""
    assert "geheim" not in errors.redact(text)
    assert "geheim" not in str(errors.Wrong(text, hint=text))


@given(st.text())
def test_what_is_printed_cannot_drive_a_terminal(text: str) -> None:
    """No escape, no bell, no change of direction; line ends and tabs stay."""
    shown = errors.printable(text)
    assert len(shown) == len(text)
    assert not any(ord(c) < 32 and c not in "\t\n" for c in shown)
    assert not any(127 <= ord(c) < 160 for c in shown)
    assert "\u202e" not in shown


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (psycopg.errors.InsufficientPrivilege("permission denied"), errors.Refused),
        (psycopg.errors.DiskFull("no space"), errors.Unavailable),
        (psycopg.errors.ReadOnlySqlTransaction("cannot execute"), errors.Unavailable),
        (psycopg.OperationalError("server closed the connection"), errors.Unavailable),
        (psycopg.errors.DivisionByZero("division by zero"), errors.Wrong),
        (psycopg.errors.LockNotAvailable("lock timeout"), errors.Wrong),
    ],
)
def test_what_the_server_says_becomes_one_sentence(error: psycopg.Error, kind: type[errors.OneroofError]) -> None:
    """With the act it happened in, and the exit code that fits."""
    said = errors.from_database(error, "doing it")
    assert type(said) is kind
    assert "\n" not in str(said)
