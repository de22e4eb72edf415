"""Reviewed files: what is written is read back, what is anything else is refused with its line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneroof import document
from oneroof.errors import Usage

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)


@given(st.lists(st.dictionaries(NAMES, VALUES, min_size=1, max_size=5), max_size=5))
def test_what_is_written_is_read_back(entries: list[dict[str, Any]]) -> None:
    """Any value that JSON has, quotes, line ends and other alphabets included; and writing it again gives the same."""
    text = document.write(entries, heading="rules")
    found = document.read(text, heading="rules", name="file")
    assert found == entries
    assert document.write(found, heading="rules") == text


def test_comments_blank_lines_and_json_are_read_too() -> None:
    """A reviewer may explain; a program may write JSON, with or without the heading."""
    expected = [{"rule_code": "a", "priority": 1}, {"rule_code": "it's"}]
    text = "# why\n\nrules:\n  # first\n  - rule_code: a\n    priority: 1\n\n  - rule_code: 'it''s'\r\n"
    assert document.read(text, heading="rules", name="file") == expected
    as_json = '[{"rule_code": "a", "priority": 1}, {"rule_code": "it\'s"}]'
    assert document.read(as_json, heading="rules", name="file") == expected
    assert document.read(f'{{"rules": {as_json}}}', heading="rules", name="file") == expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("other:\n", "file, line 1: the first line is not rules:"),
        ("rules:\n  - a: |\n", r"line 2: '\|' is neither JSON nor a text in quotes"),
        ("rules:\n  - a: two words\n", "line 2: 'two words' is neither"),
        ("rules:\n  - a: yes\n", "line 2: 'yes' is neither"),
        ("rules:\n  - a: NaN\n", "line 2: 'NaN' is neither"),
        ("rules:\n  - a:\n", "line 2: '' is neither"),
        ("rules:\n  - a: 1\n    a: 2\n", "line 3: a is there twice"),
        ("rules:\n    a: 1\n", "line 2: neither '  - name: value'"),
        ("rules:\n  - a: 1\n      b: 1\n", "line 3: neither"),
        ("rules:\n  - &x a: 1\n", "line 2: neither"),
        ("", "file is empty"),
        ("# nothing\n", "file is empty"),
        ("{", "file: '{' is neither JSON"),
        ('{"rules": {}}', "there is no list of objects named rules"),
        ("[1]", "there is no list of objects named rules"),
    ],
)
def test_anything_else_is_refused(text: str, sentence: str) -> None:
    """No anchors, no blocks, no words that mean something else to another reader."""
    with pytest.raises(Usage, match=sentence):
        document.read(text, heading="rules", name="file")
