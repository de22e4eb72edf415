"""Every file stands in its room, and imports point down the list of rooms."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from rooms import ROOMS, ROOT, SRC, TESTS, room_of

RANK = {room: place for place, room in enumerate(ROOMS)}
MODULES = sorted(SRC.rglob("*.py"))
# A record that mirrors a row, or what a person sees of one, has as many fields as the row.
FOLDERS = {
    "the package": SRC,
    "sql/functions": SRC / "sql" / "functions",
    "sql/queries": SRC / "sql" / "queries",
    "sql/views": SRC / "sql" / "views",
    "sql/triggers": SRC / "sql" / "triggers",
    "tests/db": TESTS / "db",
    "docs/explanation": TESTS.parent / "docs" / "explanation",
}


def name_of(path: Path) -> str:
    parts = path.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path) for path in MODULES}


def imports(path: Path) -> set[str]:
    """The modules of ours that a module imports, by their dotted names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in NAMES else node.module for name in whole}
    return {name for name in found if name.split(".")[0] == "oneroof"}


@pytest.mark.parametrize("path", MODULES, ids=map(name_of, MODULES))
def test_a_module_imports_only_from_its_room_and_from_those_below(path: Path) -> None:
    """A room knows nothing of the rooms above it; only `python -m oneroof` stands above them all."""
    if name_of(path) == "oneroof.__main__":
        return
    own = room_of(name_of(path))
    for imported in imports(path):
        assert RANK[room_of(imported)] <= RANK[own], f"{name_of(path)} imports {imported}"


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Neither two modules of a room nor a longer chain."""
    graph = {name_of(path): imports(path) - {name_of(path), "oneroof"} for path in MODULES}
    assert list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("path", MODULES, ids=map(name_of, MODULES))
def test_a_module_is_small_and_says_what_it_is_for(path: Path) -> None:
    """A docstring at the top, and not more than 400 lines."""
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), path
    assert len(text.splitlines()) <= 400


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.name == "__init__.py" and path.parent != SRC], ids=name_of
)
def test_a_room_runs_nothing_when_it_is_entered(path: Path) -> None:
    """An `__init__.py` is a docstring and no more, or a command would load what it does not need."""
    if path.parent.name == "cli":
        return
    assert len(ast.parse(path.read_text(encoding="utf-8")).body) == 1


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_every_folder_is_a_room(folder: Path) -> None:
    """Whatever a folder is a part of, its parts are named as the rooms are."""
    more = {"sql", "__pycache__"} if folder == SRC else {"__pycache__"}
    assert {each.name for each in folder.iterdir() if each.is_dir()} - more <= set(ROOMS) - {ROOT}


@pytest.mark.parametrize("kind", ["functions", "queries", "views", "triggers"])
def test_sql_stands_in_a_room(kind: str) -> None:
    """Nothing lies beside the rooms."""
    assert not [each.name for each in (SRC / "sql" / kind).iterdir() if each.is_file()]


def test_few_modules_stand_in_no_room() -> None:
    """At the root there is only what has no room."""
    expected = {"__init__", "__main__", "config", "errors", "timestamps", "yaml_file"}
    assert {path.stem for path in SRC.glob("*.py")} == expected
