"""Files that people review: what is written comes back, and nothing is guessed."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneroof import yaml_file

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=5
)
ENTRIES = st.lists(st.dictionaries(st.sampled_from(["a", "b", "rule_code"]), VALUES, max_size=3), max_size=3)


def values(text: str, heading: str | None = None) -> list[dict[str, Any]]:
    return [entry.values for entry in yaml_file.read(text, heading=heading)]


@given(ENTRIES, st.sampled_from([None, "rules"]))
def test_what_is_written_comes_back_and_is_written_the_same(entries: list[dict[str, Any]], heading: str | None) -> None:
    """Value for value, and then byte for byte."""
    text = yaml_file.write(entries, heading=heading)
    assert values(text, heading) == entries
    assert yaml_file.write(values(text, heading), heading=heading) == text


def test_plain_words_are_texts() -> None:
    """Nothing but true, false, null and numbers as JSON has them is anything else."""
    text = "- a: no\n  b: 2026-01-01\n  c: 012\n  d: 0x1F\n  e: 1_000\n  f: 12:30:00\n  g: =\n  h: True\n  i: .5\n"
    assert values(text) == [
        dict(zip("abcdefghi", ["no", "2026-01-01", "012", "0x1F", "1_000", "12:30:00", "=", "True", ".5"], strict=True))
    ]
    assert values("- {a: true, b: null, c: -1, d: 1.5e3, e: ~}") == [
        {"a": True, "b": None, "c": -1, "d": 1500.0, "e": None}
    ]


def test_json_is_read_too() -> None:
    """Every JSON document is YAML."""
    assert values('{"rules": [{"a": [1, "x"], "b": {"c": null}}]}', "rules") == [{"a": [1, "x"], "b": {"c": None}}]


def test_an_entry_knows_its_line() -> None:
    """Also behind comments and blocks."""
    entries = yaml_file.read("# why\n- a: |\n    one\n    two\n\n- a: 3\n")
    assert [(entry.line, entry.values) for entry in entries] == [(2, {"a": "one\ntwo\n"}), (6, {"a": 3})]


@pytest.mark.parametrize("text", ["", "# nothing\n", "[]\n", "rules:\n", "rules: []\n", "~\n"])
def test_nothing_is_an_empty_list(text: str) -> None:
    """With or without the heading."""
    assert yaml_file.read(text, heading="rules") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\n", "line 1 is not rules: and a list under it"),
        ("rules:\n  - a: 1\nmore: 1\n", "line 1 is not rules: and a list under it"),
        ("rules: 1\n", "line 1 is not a list"),
        ("rules:\n  - a\n", "line 2 is not an entry of the list"),
        ("rules:\n  - a: 1\n    a: 2\n", "line 3 says a a second time"),
        ("rules:\n  - a: {b: 1, b: 2}\n", "line 2 says b a second time"),
        ("rules:\n  - a: &x 1\n", "line 2 has an anchor"),
        ("rules:\n  - a: *x\n", "line 2 has an anchor"),
        ("rules:\n  - a: !!python/name:os.system x\n", "line 2 has a tag"),
        ("rules:\n  - 1: a\n", "line 2 has a name that is not a text"),
        ("rules:\n  - a: [1\n", "line 3 "),
        ("rules:\n\t- a: 1\n", "line 2 "),
        ("rules:\n  - a: " + "[" * 99, "line 2 is nested too deeply"),
        ("rules:\n  - a: \x07\n", "special characters are not allowed"),
    ],
)
def test_what_is_anything_else_is_refused_with_its_line(text: str, said: str) -> None:
    """One sentence, whatever it is."""
    with pytest.raises(ValueError, match=said):
        yaml_file.read(text, heading="rules")


def test_numbers_keep_their_kind() -> None:
    """A whole number is no float, and a float stays one."""
    (entry,) = values(yaml_file.write([{"a": 1, "b": 1.0, "c": 1e100}]))
    assert (type(entry["a"]), type(entry["b"]), math.log10(entry["c"])) == (int, float, 100)
