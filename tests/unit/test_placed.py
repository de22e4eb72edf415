"""A table of the host is named in one way, and its schema is put there."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from oneroof.database.host_schema import placed
from oneroof.host import expected_tables

SQL = Path(str(files("oneroof").joinpath("sql")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM host.dot_config AS d", 'FROM "Core".dot_config AS d'),
        ("(host.dot_config,host.event_read)", '("Core".dot_config,"Core".event_read)'),
        ("'host.dot_config'::regclass", "'\"Core\".dot_config'::regclass"),
        ("-- what is left to the host. Then", "-- what is left to the host. Then"),
        ('a.host.b "host.b" ghost.b $host.b', 'a.host.b "host.b" ghost.b $host.b'),
    ],
)
def test_the_schema_is_put_where_a_table_of_the_host_is_named(text: str, expected: str) -> None:
    """And nowhere else."""
    assert placed(text, "Core") == expected


def test_what_our_sql_names_of_the_host_is_demanded_of_it() -> None:
    """Every `host.<table>` is in expected_tables.toml, the mark of the estate aside, and every table there is named."""
    texts = [path.read_text(encoding="utf-8") for path in SQL.rglob("*.sql")]
    named = {name for text in texts for name in re.findall(r'(?<![\w."$])host\.([a-z_]+)', text)}
    assert named == {table.name for table in expected_tables.tables()} | {"estate_build"}
    assert not [text for text in texts if re.search(r"\bpublic\.|'public'|SCHEMA public", text)]
