"""The schema is the same on every PostgreSQL version, and changes only on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from bed import Bed, connect
from catalog import of_oneroof

GOLDEN = Path(__file__).with_name("golden.txt")


def test_schema_equals_the_golden_dump(lone_bed: Bed, pytestconfig: pytest.Config) -> None:
    """Tables, columns, constraints, functions, grants and roles are those of the golden dump, line for line."""
    with lone_bed.database(lone_bed.installed()) as name, connect(lone_bed.dsn(name)) as connection:
        found = "\n".join(of_oneroof(connection)) + "\n"
    if pytestconfig.getoption("--write-golden"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8"), "on purpose? then: make golden"
