"""A list of flat mappings in YAML, and nothing else of it: no nesting, no anchors, no types, every value a text.

What is written is YAML that any reader takes; what is read is the part of YAML that cannot be misunderstood. A plain
value that YAML would take for something else (`*`, `[a]`, `a: b`) has to be quoted, and an error says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

_LINE = re.compile(r"(?P<dash>- +| {2})(?P<name>[a-z_]+):(?:[ \t]+(?P<value>.*))?$")
_SINGLE = re.compile(r"'((?:[^']|'')*)'\s*(#.*)?$")
_DOUBLE = re.compile(r'("(?:[^"\\]|\\.)*")\s*(#.*)?$')


def read(text: str) -> list[tuple[int, dict[str, str]]]:
    """Each mapping with the number of its first line; ValueError names the line that is none."""
    found: list[tuple[int, dict[str, str]]] = []
    for number, line in enumerate(re.split(r"\r?\n", text), start=1):
        if not line.strip() or line.lstrip().startswith("#") or line.rstrip() in ("---", "[]"):
            continue
        match = _LINE.match(line)
        if match is None or (match["dash"] == "  " and not found):
            raise ValueError(f"line {number} is not an entry of the list: {line.strip()[:60]!r}")
        if match["dash"] != "  ":
            found.append((number, {}))
        entry = found[-1][1]
        if match["name"] in entry:
            raise ValueError(f"line {number} says {match['name']} a second time")
        value = _value((match["value"] or "").strip(), number)
        entry[match["name"]] = value
    return found


def write(rows: Iterable[Mapping[str, str]]) -> str:
    """Every value quoted, empty ones left out; an empty list is `[]`."""
    entries = [
        "\n  ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in row.items() if value)
        for row in rows
    ]
    return "".join(f"- {entry}\n" for entry in entries) or "[]\n"


def _value(text: str, number: int) -> str:
    if match := _SINGLE.match(text):
        return match[1].replace("''", "'")
    if match := _DOUBLE.match(text):
        try:
            return str(json.loads(match[1], strict=False))
        except ValueError:
            raise ValueError(f"line {number} has an escape that JSON does not have") from None
    plain = re.split(r"(?:^|\s)#", text, maxsplit=1)[0].strip()
    if re.match(r"[\[\]{}&*!|>%@`\"',?]|-(\s|$)", plain) or re.search(r":(\s|$)", plain):
        raise ValueError(f"line {number} has a value that must be quoted: {plain[:60]!r}")
    return "" if plain in ("~", "null") else plain
