"""The lines of an owners file, CSV or YAML: read strictly, with a sentence for each wrong one, and written back.

Nothing here knows a database. A file that cannot be read as lines at all is wrong usage; a line that cannot be right
is a `Problem`, so that all of them can be told at once.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from oneroof import timestamps, yaml_file
from oneroof.errors import Usage

LEVELS = ("object", "collection", "class", "scope")
RESPONSIBILITIES = ("policy", "health", "execution", "render", "approval", "audit")
FORMATS = ("csv", "yaml")
LONGEST_SUBJECT = 2000
LONGEST_OWNER = 200
_UNKEEPABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class OwnerLine:
    """Who answers for one responsibility of one subject; without a beginning, from the import on."""

    level: str
    subject: str
    responsibility: str
    owner: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a line."""

    line: int
    said: str


COLUMNS = tuple(field.name for field in fields(OwnerLine))
NEEDED = COLUMNS[:4]


def read(raw: bytes, *, form: str) -> tuple[dict[int, OwnerLine], list[Problem]]:
    """The lines that could be right, by their number, and what is wrong with the others."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Usage(
            f"line {line} is not UTF-8: byte 0x{raw[error.start]:02x}", hint="save the file as UTF-8, and again"
        ) from None
    found: dict[int, OwnerLine] = {}
    problems: list[Problem] = []
    first: dict[tuple[str, ...], int] = {}
    for number, given in _csv(text) if form == "csv" else _yaml(text):
        if isinstance(given, str):
            problems.append(Problem(number, given))
            continue
        # The key of an object is the host's, spaces and all.
        values = {name: value if name == "subject" else value.strip() for name, value in given.items()}
        said = _wrong(values)
        named = tuple(values[name] for name in NEEDED)
        if said is None and named in first:
            said = f"it says the same as line {first[named]}; leave one of them out"
        if said is not None:
            problems.append(Problem(number, said))
            continue
        first[named] = number
        begin, end = _moment(values.get("valid_from")), _moment(values.get("valid_to"))
        level, subject, responsibility, owner = named
        found[number] = OwnerLine(level, subject, responsibility, owner, begin, end)
    return found, problems


def write(lines: Iterable[OwnerLine], *, form: str) -> str:
    """The lines as a file that `read` reads back the same."""
    rows = [
        [line.level, line.subject, line.responsibility, line.owner, _text(line.valid_from), _text(line.valid_to)]
        for line in lines
    ]
    if form == "yaml":
        entries = (dict(zip(COLUMNS, row, strict=True)) for row in rows)
        return yaml_file.write({name: value for name, value in entry.items() if value} for entry in entries)
    out = io.StringIO()
    plain = all(cell.isprintable() and not cell.startswith(" ") for row in rows for cell in row)
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_MINIMAL if plain else csv.QUOTE_ALL)
    writer.writerows([COLUMNS, *rows])
    return out.getvalue()


def _csv(text: str) -> Iterator[tuple[int, Mapping[str, str] | str]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    header: list[str] | None = None
    while True:
        number = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            raise Usage(f"line {number} is not CSV: {error}", hint="a quote inside quotes is written twice") from None
        if not any(cell.strip() for cell in row):
            continue
        if header is None:
            header = [cell.strip() for cell in row]
            _check_columns(header, number)
        elif len(row) != len(header):
            yield (
                number,
                f"it has {len(row)} fields where the header has {len(header)}; quote a field with a comma in it",
            )
        else:
            yield number, dict(zip(header, row, strict=True))
    if header is None:
        raise Usage("the file is empty", hint=f"its first line names the columns: {','.join(COLUMNS)}")


def _check_columns(header: list[str], number: int) -> None:
    for name in header:
        if name not in COLUMNS:
            raise Usage(f"line {number} names a column {name!r}, which owners do not have", hint=_meant(name, COLUMNS))
        if header.count(name) > 1:
            raise Usage(f"line {number} names the column {name} twice", hint="leave one of them out")
    missing = [name for name in NEEDED if name not in header]
    if missing:
        raise Usage(
            f"line {number} does not name the column {', '.join(missing)}",
            hint=f"columns are {', '.join(COLUMNS)}, with commas",
        )


def _yaml(text: str) -> Iterator[tuple[int, Mapping[str, str] | str]]:
    try:
        entries = yaml_file.read(text)
    except ValueError as error:
        raise Usage(str(error), hint="a list of `- level: …`, each with its `name: value`") from None
    for entry in entries:
        strange = next((name for name in entry.values if name not in COLUMNS), None)
        nested = next((name for name, value in entry.values.items() if isinstance(value, (dict, list))), None)
        missing = [name for name in NEEDED if name not in entry.values]
        if strange is not None:
            yield entry.line, f"it has {strange!r}, which owners do not have; {_meant(strange, COLUMNS)}"
        elif nested is not None:
            yield entry.line, f"its {nested} is not one value"
        elif missing:
            yield entry.line, f"it does not say its {', '.join(missing)}"
        else:
            yield entry.line, {name: _plain(value) for name, value in entry.values.items()}


def _plain(value: Any) -> str:
    """A number or a truth value as it was written."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _wrong(values: Mapping[str, str]) -> str | None:
    """The first thing that is wrong with a line, and what would help."""
    for name in NEEDED:
        if not values[name].strip():
            return f"its {name} is empty"
    level, subject, responsibility, owner = (values[name] for name in NEEDED)
    if level not in LEVELS:
        return f"there is no level {level!r}; {_meant(level, LEVELS)}"
    if responsibility not in RESPONSIBILITIES:
        return f"there is no responsibility {responsibility!r}; {_meant(responsibility, RESPONSIBILITIES)}"
    if subject == "*" and level != "scope":
        return "only a scope can be *, which is every source"
    for name, value, longest in (("subject", subject, LONGEST_SUBJECT), ("owner", owner, LONGEST_OWNER)):
        if _UNKEEPABLE.search(value):
            return f"its {name} has a character that no database keeps; take it out"
        if len(value.encode()) > longest:
            return f"its {name} is longer than {longest} bytes"
    try:
        begin, end = _moment(values.get("valid_from")), _moment(values.get("valid_to"))
    except ValueError as error:
        return str(error)
    if begin is not None and end is not None and end <= begin:
        return f"its valid_to {values['valid_to']} is not after its valid_from {values['valid_from']}"
    return None


def _meant(word: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(word, known, n=1)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"


def _moment(text: str | None) -> datetime | None:
    return timestamps.read(text) if text else None


def _text(value: datetime | None) -> str:
    return "" if value is None else timestamps.write(value)
