"""Where the words of a command may stand."""

from __future__ import annotations

import pytest

from oneroof.cli import hoist


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["gate", "list", "--json"], ["--json", "gate", "list"]),
        (["gate", "list", "--dsn", "x"], ["--dsn", "x", "gate", "list"]),
        (["gate", "--dsn=x", "list"], ["--dsn=x", "gate", "list"]),
        (["gate", "list", "--dsn"], ["--dsn", "gate", "list"]),
        (["gate", "request", "--", "--json"], ["gate", "request", "--", "--json"]),
        ([], []),
    ],
)
def test_json_and_dsn_are_moved_to_the_front(words: list[str], expected: list[str]) -> None:
    """Except behind `--`, where words are the user's own."""
    assert hoist(words) == expected
