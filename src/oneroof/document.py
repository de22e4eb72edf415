"""Reviewed files: a small and strict part of YAML, in which no value can surprise.

A document is one heading and a list of flat entries under it; a value is JSON on one line, a text in single quotes, or
a lone word. Every such file is YAML to any other reader, and a JSON document of the same shape is read too. What is
written comes back byte for byte; what is anything else is refused with its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from oneroof.errors import Usage

Entry = dict[str, Any]
_WORD = re.compile(r"[a-z][a-z0-9_]*")
# What other readers of YAML would not take for a text.
_NOT_A_TEXT = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
_LINE = re.compile(r"(?P<dash>  - |    )(?P<name>[a-z][a-z0-9_]*):(?: (?P<value>.*))?")


def read(text: str, *, heading: str, name: str) -> list[Entry]:
    """The entries under the heading; `name` is the file's, for what is said about it."""
    if text.lstrip().startswith(("{", "[")):
        return _entries(_json(text, where=name), heading=heading, name=name)
    found: list[Entry] = []
    headed = False
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"{name}, line {number}"
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not headed:
            if line.rstrip() != f"{heading}:":
                raise Usage(f"{where}: the first line is not {heading}:", hint="oneroof rules export shows the form")
            headed = True
        elif (match := _LINE.fullmatch(line.rstrip())) and (match["dash"] == "  - " or found):
            if match["dash"] == "  - ":
                found.append({})
            if match["name"] in found[-1]:
                raise Usage(f"{where}: {match['name']} is there twice")
            found[-1][match["name"]] = _value(match["value"] or "", where=where)
        else:
            raise Usage(f"{where}: neither '  - name: value' nor '    name: value'", hint="values stand on one line")
    if not headed:
        raise Usage(f"{name} is empty; an empty list is {heading}: alone")
    return found


def write(entries: Iterable[Mapping[str, Any]], *, heading: str) -> str:
    """The entries as a document; the same ones always give the same bytes."""
    lines = [f"{heading}:"]
    for entry in entries:
        lines += [
            f"{'    ' if place else '  - '}{name}: {_text(value)}" for place, (name, value) in enumerate(entry.items())
        ]
    return "\n".join(lines) + "\n"


def _value(text: str, *, where: str) -> Any:
    if _WORD.fullmatch(text) and text not in _NOT_A_TEXT:
        return text
    if re.fullmatch(r"'(?:[^']|'')*'", text):
        return text[1:-1].replace("''", "'")
    return _json(text, where=where)


def _json(text: str, *, where: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise Usage(f"{where}: {text.strip()[:60]!r} is neither JSON nor a text in quotes") from None


def _refuse(word: str) -> None:
    raise ValueError(word)


def _text(value: Any) -> str:
    match value:
        case str() if _WORD.fullmatch(value) and value not in _NOT_A_TEXT:
            return value
        case str() if value.isprintable():
            return "'" + value.replace("'", "''") + "'"
        case _:
            return json.dumps(value, ensure_ascii=True)


def _entries(document: Any, *, heading: str, name: str) -> list[Entry]:
    found = document.get(heading) if isinstance(document, dict) else document
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise Usage(f"{name}: there is no list of objects named {heading}")
    return found
