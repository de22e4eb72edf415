"""The lines of an owners file: strict, told line by line, and the same when written and read again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oneroof import timestamps, yaml_file
from oneroof.errors import Usage
from oneroof.people.owners_file import FORMATS, LEVELS, RESPONSIBILITIES, OwnerLine, read, write

HEAD = "level,subject,responsibility,owner,valid_from,valid_to"
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40).filter(
    lambda text: bool(text.strip())
)
moments = st.datetimes(datetime(2, 1, 1), datetime(4999, 1, 1)).map(lambda at: at.replace(tzinfo=UTC))  # noqa: DTZ001
ends = st.datetimes(datetime(5000, 1, 1), datetime(9998, 1, 1)).map(lambda at: at.replace(tzinfo=UTC))  # noqa: DTZ001
lines = st.builds(
    OwnerLine,
    level=st.just("object"),
    subject=words,
    responsibility=st.sampled_from(RESPONSIBILITIES),
    owner=words.map(str.strip),
    valid_from=st.none() | moments,
    valid_to=st.none() | ends,
)


@example([OwnerLine("object", "a", "policy", "one\rtwo", None, None)], "csv")
@given(
    st.lists(lines, unique_by=lambda line: (line.subject, line.responsibility, line.owner)), st.sampled_from(FORMATS)
)
def test_what_is_written_is_read_back(given: list[OwnerLine], form: str) -> None:
    """Whatever a host's keys look like, in both formats, with moments to the microsecond."""
    wrong = [line for line in given if line.subject == "*"]
    found, problems = read(write(given, form=form).encode(), form=form)
    assert list(found.values()) == [line for line in given if line.subject != "*"]
    assert len(problems) == len(wrong)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("colection,c,policy,x,,", "there is no level 'colection'; did you mean collection?"),
        ("galaxy,c,policy,x,,", f"there is no level 'galaxy'; known are {', '.join(LEVELS)}"),
        ("class,c,helth,x,,", "there is no responsibility 'helth'; did you mean health?"),
        ("class,c,,x,,", "its responsibility is empty"),
        ("class,  ,policy,x,,", "its subject is empty"),
        ("class,c,policy,x", "it has 4 fields where the header has 6; quote a field with a comma in it"),
        ("class,*,policy,x,,", "only a scope can be *, which is every source"),
        ("class,c,policy,x,soon,", "'soon' is not a date like 2027-01-31 or 2027-01-31T12:00:00Z"),
        ("class,c,policy,x,0001-01-01T00:00:00+23:00,", "'0001-01-01T00:00:00+23:00' is not a date"),
        ("class,c,policy,x,9999-06-01,", "'9999-06-01' is not between the years 1 and 9998"),
        ("class,c,policy,x,2027-01-31,2026-01-31", "its valid_to 2026-01-31 is not after its valid_from 2027-01-31"),
        ("class,c,policy,x,2027-01-31,2027-01-31", "its valid_to 2027-01-31 is not after its valid_from 2027-01-31"),
        ("class,c\0,policy,x,,", "its subject has a character that no database keeps; take it out"),
        (f"class,{'é' * 1001},policy,x,,", "its subject is longer than 2000 bytes"),
        (f"class,c,policy,{'x' * 201},,", "its owner is longer than 200 bytes"),
        ("class,good,policy,x,,", "it says the same as line 2; leave one of them out"),
    ],
)
def test_a_wrong_line_is_told_by_its_number(line: str, said: str) -> None:
    """One sentence with what helps, and the good line before it is still read."""
    found, problems = read(f"{HEAD}\nclass,good,policy,x,,\n{line}\n".encode(), form="csv")
    assert list(found) == [2]
    (problem,) = problems
    assert problem.line == 3
    assert problem.said.startswith(said)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "the file is empty"),
        (b"level,subject,owner\n", "line 1 does not name the column responsibility"),
        (b"\nlevel;subject;responsibility;owner\n", "line 2 names a column"),
        (b"level,subject,responsibility,ownr\n", "line 1 names a column 'ownr'"),
        (b"level,subject,responsibility,owner,owner\n", "line 1 names the column owner twice"),
        (HEAD.encode() + b"\nclass,caf\xe9,policy,x,,\n", "line 2 is not UTF-8: byte 0xe9"),
        (HEAD.encode() + b'\nclass,"c"x,policy,x,,\n', "line 2 is not CSV"),
        (HEAD.encode() + b'\nclass,c,policy,x,,\nclass,"c', "line 3 is not CSV"),
    ],
)
def test_a_file_that_is_none_is_wrong_usage(raw: bytes, said: str) -> None:
    """With the line and a hint; nothing of it is used."""
    with pytest.raises(Usage, match=said) as wrong:
        read(raw, form="csv")
    assert wrong.value.hint


def test_csv_as_spreadsheets_write_it() -> None:
    """A byte-order mark, CRLF, spaces, columns in any order, blank lines, a field over two lines."""
    raw = '\ufeffowner , responsibility,level,subject\r\n\r\nGOV-SIV, policy ,class,"a\nb"\r\nx,audit,scope,*\r\n'
    found, problems = read(raw.encode(), form="csv")
    assert problems == []
    assert found == {
        3: OwnerLine("class", "a\nb", "policy", "GOV-SIV"),
        5: OwnerLine("scope", "*", "audit", "x"),
    }


def test_yaml_as_people_write_it() -> None:
    """Comments, plain and quoted values, nulls, entries apart."""
    raw = """---
# who answers
- level: class   # a comment
  subject: 'it''s'
  responsibility: policy
  owner: GOV-SIV

- subject: "*"
  level: scope
  responsibility: audit
  owner: "a\\tb"
  valid_from: 2026-01-01
  valid_to: ~
"""
    found, problems = read(raw.encode(), form="yaml")
    assert problems == []
    assert found == {
        3: OwnerLine("class", "it's", "policy", "GOV-SIV"),
        8: OwnerLine("scope", "*", "audit", "a\tb", datetime(2026, 1, 1, tzinfo=UTC)),
    }


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("level: class\n", "line 1 is not a list"),
        ("- class\n", "line 1 is not an entry of the list"),
        ("- level: class\n   subject: c\n", "line 2 mapping values are not allowed"),
        ("- level: class\n  level: class\n", "line 2 says level a second time"),
        ("- subject: *\n", "line 1 expected alphabetic or numeric character"),
        ("- subject: &a b\n", "line 1 has an anchor"),
        ("- subject: !!str b\n", "line 1 has a tag"),
        ("- subject: a: b\n", "line 1 mapping values are not allowed"),
        ('- subject: "open\n', "line 2 found unexpected end of stream"),
        ("- {1: a}\n", "line 1 has a name that is not a text"),
        ("- subject: " + "[" * 30 + "]" * 30, "line 1 is nested too deeply"),
    ],
)
def test_yaml_that_could_be_misunderstood_is_refused(raw: str, said: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(Usage, match=said):
        read(raw.encode(), form="yaml")


def test_an_entry_that_lacks_something_is_told_by_its_line() -> None:
    """A missing or a strange name, beside entries that are right."""
    raw = "- level: class\n  subject: c\n- level: class\n  ownr: x\n"
    found, problems = read(raw.encode(), form="yaml")
    assert found == {}
    assert [(problem.line, problem.said) for problem in problems] == [
        (1, "it does not say its responsibility, owner"),
        (3, "it has 'ownr', which owners do not have; did you mean owner?"),
    ]


def test_half_a_character_is_told_by_its_line() -> None:
    """YAML can escape what UTF-8 cannot say."""
    raw = '- level: class\n  subject: "\\ud800"\n  responsibility: policy\n  owner: x\n'
    found, problems = read(raw.encode(), form="yaml")
    assert found == {}
    assert [problem.said for problem in problems] == ["its subject has a character that no database keeps; take it out"]


def test_an_empty_list_is_written_as_one() -> None:
    """And read as one."""
    assert yaml_file.write([]) == "[]\n"
    assert yaml_file.read("[]\n") == []


def test_a_moment_without_a_zone_is_utc() -> None:
    """And any other is converted."""
    assert timestamps.write(timestamps.read("2026-05-01")) == "2026-05-01T00:00:00Z"
    assert timestamps.write(timestamps.read("2026-05-01T02:00:00.5+02:00")) == "2026-05-01T00:00:00.500000Z"
