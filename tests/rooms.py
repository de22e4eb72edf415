"""The rooms of the house, lower first: a room knows only the rooms below it. The one list that the tests go by."""

from __future__ import annotations

from pathlib import Path

import oneroof

SRC = Path(oneroof.__file__).parent
TESTS = Path(__file__).parent

# The modules at the root (errors, config, timestamps, yaml_file) lie below every room.
ROOT = "root"
ROOMS = (
    ROOT,
    "database",
    "people",
    "host",
    "sources",
    "candidates",
    "failures",
    "fence",
    "tail",
    "judgement",
    "intake",
    "backfill",
    "signals",
    "install",
    "findings",
    "proof",
    "full_audit",
    "workers",
    "runtime",
    "reads",
    "embedded",
    "estate",
    "cli",
)


def room_of(module: str) -> str:
    """The room of a module, by its dotted name."""
    first = module.split(".")[1] if "." in module else ROOT
    return first if (SRC / first).is_dir() else ROOT
