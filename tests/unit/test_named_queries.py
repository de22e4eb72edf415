"""Named queries: each that is used exists, and each that exists is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from oneroof.database.statements import queries
from rooms import SRC

FOLDER = SRC / "sql" / "queries"
FILES = {str(path.relative_to(FOLDER).with_suffix("")): path for path in sorted(FOLDER.rglob("*.sql"))}


def uses(path: Path) -> Iterator[tuple[str, str | None]]:
    """The queries that a module asks for: the file and the name, None where the name is not a constant."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = {id(node.value): node.slice for node in ast.walk(tree) if isinstance(node, ast.Subscript)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "queries":
            (file,) = node.args
            assert isinstance(file, ast.Constant), path
            name = named.get(id(node))
            yield str(file.value), str(name.value) if isinstance(name, ast.Constant) else None


def constants(path: Path) -> set[str]:
    return {
        node.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_every_named_query_is_used_and_every_used_one_exists() -> None:
    """Where a module asks for a name that is not a constant, each string of the package counts as one it may ask for; a
    module that takes a file as a whole uses all of it.
    """
    used: set[tuple[str, str]] = set()
    words = set().union(*map(constants, SRC.rglob("*.py")))
    # A worker asks by its own name.
    words |= {word.removeprefix("gov_") for word in words}
    for path in SRC.rglob("*.py"):
        for file, name in uses(path):
            assert file in FILES, f"{path}: there is no {file}.sql"
            if name is not None:
                assert name in queries(file), f"{path}: {file}.sql has no query {name}"
                used.add((file, name))
            else:
                whole = f'queries("{file}").items()' in path.read_text(encoding="utf-8")
                used |= {(file, each) for each in queries(file) if whole or each in words}
    assert {(file, name) for file in FILES for name in queries(file)} - used == set()


def test_a_file_names_each_query_once() -> None:
    """A second query of the same name would silently take the place of the first."""
    for file, path in FILES.items():
        heads = [
            line
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.startswith("-- ") and line.endswith(" --")
        ]
        assert len(heads) == len(queries(file)), file
