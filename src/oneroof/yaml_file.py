"""Files that people review: YAML as YAML 1.2 means it, in which no value surprises.

Only true, false, null and numbers are anything but text: neither `no` nor a date is. Anchors, tags and names that come
twice are refused with their line. The same values always give the same bytes, and come back from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

# What a plain word may be besides text: as JSON has it.
_TYPES = {
    "tag:yaml.org,2002:bool": (re.compile(r"(?:true|false)$"), ["t", "f"]),
    "tag:yaml.org,2002:null": (re.compile(r"(?:null|~|)$"), ["n", "~", ""]),
    "tag:yaml.org,2002:int": (re.compile(r"-?(?:0|[1-9][0-9]*)$"), [*"-0123456789"]),
    "tag:yaml.org,2002:float": (
        re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"),
        [*"-0123456789"],
    ),
}
_BREAKING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One mapping of a list, and the line it begins on."""

    line: int
    values: dict[str, Any]


class _Loader(yaml.SafeLoader):
    """What is safe, and besides as plain as JSON."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012
    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _wrong("has an anchor or an alias", event.start_mark)
        if getattr(event, "tag", None) is not None:
            raise _wrong("has a tag", event.start_mark)
        if self.depth > DEEPEST:
            raise _wrong("is nested too deeply", event.start_mark)
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: ARG002
        names = [self.construct_object(key, deep=True) for key, _ in node.value]
        for place, (key, _) in enumerate(node.value):
            if not isinstance(names[place], str):
                raise _wrong("has a name that is not a text", key.start_mark)
            if names[place] in names[:place]:
                raise _wrong(f"says {names[place]} a second time", key.start_mark)
        return super().construct_mapping(node, deep=True)


class _Dumper(yaml.SafeDumper):
    """Quotes whatever this or an older reader might not take for a text; lists are set in from what they belong to."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _represent(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    # Whatever some reader may take for the end of a line is written as an escape.
    style = '"' if _BREAKING.search(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _represent)
for _tag, (_pattern, _first) in _TYPES.items():
    _Loader.add_implicit_resolver(_tag, _pattern, _first)
    _Dumper.add_implicit_resolver(_tag, _pattern, _first)


def read(text: str, *, heading: str | None = None) -> list[Entry]:
    """The mappings of a list, or of the list under a heading; ValueError names the line of what is anything else."""
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        found = _list(root, heading)
        return [Entry(node.start_mark.line + 1, loader.construct_mapping(node)) for node in found]
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1} "
        raise ValueError(f"{line}{error.problem}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error).splitlines()[0]) from None


def write(rows: Iterable[Mapping[str, Any]], *, heading: str | None = None) -> str:
    """The rows as a list, or as one under a heading."""
    entries = [dict(row) for row in rows]
    return yaml.dump(
        entries if heading is None else {heading: entries},
        Dumper=_Dumper,
        allow_unicode=True,
        sort_keys=False,
        default_flow_style=False,
        width=4096,
    )


def _list(root: Any, heading: str | None) -> list[Any]:
    if heading is not None and isinstance(root, yaml.MappingNode):
        named = {key.value: value for key, value in root.value}
        if set(named) != {heading}:
            raise _wrong(f"is not {heading}: and a list under it", root.start_mark)
        root = named[heading]
    if root is None or (isinstance(root, yaml.ScalarNode) and root.value in ("", "~", "null")):
        return []
    if not isinstance(root, yaml.SequenceNode):
        raise _wrong("is not a list", root.start_mark)
    for node in root.value:
        if not isinstance(node, yaml.MappingNode):
            raise _wrong("is not an entry of the list with names and values", node.start_mark)
    return list(root.value)


def _wrong(problem: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
