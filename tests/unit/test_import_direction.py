"""Imports point one way: a module knows only what stands below it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import oneroof

ROOT = Path(oneroof.__file__).parent

# Lower first. A package stands for all of its modules; what is not named here is a mistake.
LAYERS = (
    {"oneroof"},
    {"oneroof.errors", "oneroof.model", "oneroof.moment", "oneroof.document"},
    {"oneroof.config", "oneroof.owner_lines", "oneroof.certificate", "oneroof.vocabulary"},
    {"oneroof.host_schema"},
    {"oneroof.connection"},
    {"oneroof.statements", "oneroof.transaction"},
    {
        "oneroof.substrate",
        "oneroof.embedded",
        "oneroof.approvals",
        "oneroof.channels",
        "oneroof.exceptions",
        "oneroof.findings",
        "oneroof.lease",
        "oneroof.owners",
        "oneroof.parallel_reader",
        "oneroof.policy",
        "oneroof.retry",
        "oneroof.width",
    },
    {
        "oneroof.estate",
        "oneroof.script",
        "oneroof.events",
        "oneroof.gates",
        "oneroof.kinds",
        "oneroof.people",
        "oneroof.removal",
        "oneroof.rules",
        "oneroof.source",
        "oneroof.vanishing",
    },
    {
        "oneroof.migrate",
        "oneroof.cursor",
        "oneroof.batch",
        "oneroof.cases",
        "oneroof.catalog",
        "oneroof.columns",
        "oneroof.guard",
        "oneroof.inbox",
        "oneroof.matches",
        "oneroof.own",
        "oneroof.table_files",
        "oneroof.watch",
    },
    {"oneroof.memory"},
    {"oneroof.tail", "oneroof.fingerprint", "oneroof.handoff", "oneroof.signals"},
    {
        "oneroof.facts",
        "oneroof.known",
        "oneroof.reconcile",
        "oneroof.strip",
        "oneroof.ranges",
        "oneroof.bell",
        "oneroof.origin",
        "oneroof.walk",
        "oneroof.fenced_batch",
        "oneroof.step",
        "oneroof.control",
        "oneroof.duty",
        "oneroof.forgetting",
        "oneroof.headers",
        "oneroof.link",
        "oneroof.lull",
        "oneroof.streak",
        "oneroof.telling",
        "oneroof.window",
    },
    {
        "oneroof.keyset",
        "oneroof.doubt",
        "oneroof.report",
        "oneroof.reprieve",
        "oneroof.trouble",
        "oneroof.retries",
        "oneroof.recount",
        "oneroof.sums",
    },
    {"oneroof.frontier_pass", "oneroof.newest_rows", "oneroof.pages", "oneroof.reckoning"},
    {"oneroof.workers", "oneroof.deriving"},
    {"oneroof.executor"},
    {"oneroof.lane"},
    {"oneroof.supervisor", "oneroof.status", "oneroof.trace", "oneroof.replay"},
    {"oneroof.doctor"},
    {"oneroof.proof"},
    {"oneroof.witness"},
    {"oneroof.cli"},
    {"oneroof.__main__"},
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(module: str) -> str:
    """The longest name in the layers that this module belongs to."""
    return max((name for name in RANK if module == name or module.startswith(f"{name}.")), key=len)


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= (
                {f"{node.module}.{alias.name}" for alias in node.names} if node.module == "oneroof" else {node.module}
            )
    return {name for name in found if name.split(".")[0] == "oneroof"}


MODULES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=map(name_of, MODULES))
def test_a_module_imports_only_from_below(path: Path) -> None:
    """Nothing below knows anything above, and siblings in a layer do not know each other."""
    own = layer_of(name_of(path))
    assert own != "oneroof" or name_of(path) == "oneroof", "give the module a place in LAYERS"
    for imported in imports(path):
        other = layer_of(imported)
        allowed = RANK[other] < RANK[own] or other == own
        assert allowed, f"{name_of(path)} imports {imported}"


@pytest.mark.parametrize("path", MODULES, ids=map(name_of, MODULES))
def test_a_module_is_small_and_says_what_it_is_for(path: Path) -> None:
    """A docstring at the top, and not more than 400 lines."""
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), path
    assert len(text.splitlines()) <= 400
