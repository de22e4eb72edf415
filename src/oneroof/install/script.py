"""The script of an installation: named steps, composed from files, the same whether printed or run.

Numbered migrations change tables once; functions, views and grants are applied whole each time. All that is ours lies
in the schema `oneroof`; a table of the host is named `host.<table>`, and each step has the host's schema put there. The
substrate gets grants and nothing else (promise 19). Composing needs no connection.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from oneroof import __version__
from oneroof.config import Settings
from oneroof.database.host_schema import placed, quoted
from oneroof.host import expected_tables

LEDGER = "oneroof.governance_migration"
_FILE = re.compile(r"^(?P<number>\d{4})_(?P<name>[a-z0-9_]+)\.up\.sql$")


@dataclass(frozen=True, slots=True)
class Step:
    """A named piece of the script."""

    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered change of the tables, and its way back."""

    number: int
    name: str
    up: str
    down: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.up.encode()).hexdigest()


@cache
def migrations() -> tuple[Migration, ...]:
    """The shipped migrations in order; a gap in the numbers or a missing way back is a defect."""
    folder = _sql("migrations")
    found = []
    for path in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if match := _FILE.match(path.name):
            down = folder.joinpath(path.name.replace(".up.sql", ".down.sql"))
            found.append(Migration(number=int(match["number"]), name=match["name"], up=_text(path), down=_text(down)))
    assert [m.number for m in found] == list(range(1, len(found) + 1))
    return tuple(found)


def content_sha256() -> str:
    """One hash over everything that is applied whole. Every command asks for it, so the vocabulary counts as the text
    of its file and is not read as YAML: a change in `vocabulary.py` alone leaves the hash as it is.
    """
    digest = hashlib.sha256()
    for step in [Step("roles", _part("roles")), *_whole(), Step("events", _shipped("signals/vocabulary.yaml"))]:
        digest.update(f"{step.name}\0{step.sql}\0".encode())
    return digest.hexdigest()


def print_install(settings: Settings) -> str:
    """The script for an empty host, in plain SQL."""
    return _script([begin(settings), _substrate_guard(settings), *install_steps(migrations(), settings=settings)])


def print_upgrade(settings: Settings) -> str:
    """The script for psql on any older schema: each migration asks first whether it was applied."""
    steps = []
    for step in install_steps(migrations(), settings=settings):
        if match := re.match(r"migration (\d{4})", step.name):
            number = int(match[1])
            guard = f"SELECT NOT EXISTS (SELECT FROM {LEDGER} WHERE number = {number}) AS todo \\gset\n"
            step = Step(step.name, f"{guard}\\if :todo\n{step.sql}\n\\endif")
        steps.append(step)
    return _script([begin(settings), *steps])


def print_uninstall(settings: Settings) -> str:
    """The script that takes it all away."""
    return _script([begin(settings), *uninstall_steps(migrations(), settings=settings)])


def begin(settings: Settings) -> Step:
    """Installers wait for each other; the host's sessions are never kept waiting for long."""
    return Step(
        "begin",
        "SET LOCAL search_path = pg_catalog, pg_temp;\n"
        "SET LOCAL quote_all_identifiers = off;\n"
        "SET LOCAL client_min_messages = warning;\n"
        "SET LOCAL check_function_bodies = off;\n"
        "SET LOCAL lock_timeout = '60s';\n"
        "SELECT pg_advisory_xact_lock(hashtextextended('oneroof.schema', 0));\n"
        f"SET LOCAL lock_timeout = '{int(settings.lock_timeout * 1000)}ms';",
    )


def install_steps(pending: Iterable[Migration], *, settings: Settings) -> list[Step]:
    steps = [
        Step("roles", _part("roles")),
        Step("schema", _part("schema")),
        Step(
            "the host's schema",
            f"GRANT USAGE ON SCHEMA {quoted(settings.host_schema)} TO oneroof_owner, oneroof_reader, oneroof_worker;",
        ),
        Step("act as oneroof_owner", "SET LOCAL ROLE oneroof_owner;"),
        *(
            Step(
                f"migration {m.number:04d} {m.name}",
                f"{m.up.rstrip()}\n"
                f"INSERT INTO {LEDGER} (number, name, sha256) VALUES ({m.number}, '{m.name}', '{m.sha256}');",
            )
            for m in pending
        ),
        *_whole(),
        Step("events", f"SET LOCAL ROLE oneroof_owner;\n{_events()}SET LOCAL ROLE NONE;"),
        Step(
            "record",
            "SET LOCAL ROLE oneroof_owner;\n"
            "INSERT INTO oneroof.governance_schema (version, content_sha256, host_schema)\n"
            f"VALUES ('{__version__}', '{content_sha256()}', '{settings.host_schema}')\n"
            "ON CONFLICT (only_row) DO UPDATE SET version = excluded.version,\n"
            "  content_sha256 = excluded.content_sha256, host_schema = excluded.host_schema, applied_at = now();\n"
            "SET LOCAL ROLE NONE;",
        ),
        Step("rules", f"SET LOCAL ROLE oneroof_owner;\n{_rules()}SET LOCAL ROLE NONE;"),
        Step("people", f"SET LOCAL ROLE oneroof_owner;\n{_part('people')}SET LOCAL ROLE NONE;"),
    ]
    return _placed(steps, settings)


def _whole() -> list[Step]:
    """What is applied whole: old views go, functions are replaced, the ones no longer shipped are dropped."""
    functions = folder("functions")
    shipped = ", ".join(f"'{step.name.removeprefix('function ')}'" for step in functions)
    return [
        Step("nothing planted", _part("planted")),
        Step("drop views", _part("drop_views")),
        *functions,
        *folder("triggers"),
        *folder("views"),
        Step("drop functions no longer shipped", _part("drop_functions").replace("/* shipped */", shipped)),
        Step("substrate grants", _substrate_grants()),
        Step("grants", _text(_sql("grants.sql"))),
    ]


def uninstall_steps(applied: Iterable[Migration], *, settings: Settings) -> list[Step]:
    downs = sorted(applied, key=lambda m: m.number, reverse=True)
    steps = [
        Step("take the roles for ourselves", _part("roles")),
        Step("act as oneroof_owner", "SET LOCAL ROLE oneroof_owner;"),
        Step("leave the channels in order", _part("leave_channels")),
        Step("drop views", _part("drop_views")),
        *(Step(f"migration {m.number:04d} {m.name}, back", m.down.rstrip()) for m in downs),
        Step("drop functions", _part("drop_functions").replace("/* shipped */", "''")),
        Step("drop schema", "DROP SCHEMA oneroof;"),
        Step("act as the installer again", "SET LOCAL ROLE NONE;"),
        Step("give back grants and roles", _part("unroles")),
    ]
    return _placed(steps, settings)


def _placed(steps: Iterable[Step], settings: Settings) -> list[Step]:
    return [replace(step, sql=placed(step.sql, settings.host_schema)) for step in steps]


def _rules() -> str:
    """The shipped rules, for a host that has none yet."""
    # YAML is loaded where a script is composed, not where a schema is compared with what is shipped.
    from oneroof import yaml_file

    entries = [entry.values for entry in yaml_file.read(_shipped("judgement/default_rules.yaml"), heading="rules")]
    literal = json.dumps(entries, ensure_ascii=True).replace("'", "''")
    return f"SELECT oneroof.gov_rules_plant('{literal}'::jsonb);\n"


def _events() -> str:
    """The shipped vocabulary of signals."""
    from oneroof.signals import vocabulary

    literal = json.dumps(vocabulary.shipped(), ensure_ascii=True).replace("'", "''")
    return f"SELECT oneroof.gov_events_plant('{literal}'::jsonb);\n"


def _substrate_grants() -> str:
    names = ", ".join(f"host.{table.name}" for table in expected_tables.tables())
    return f"SET LOCAL ROLE NONE;\nGRANT SELECT ON {names}\n  TO oneroof_owner, oneroof_reader, oneroof_worker;"


def _substrate_guard(settings: Settings) -> Step:
    names = ", ".join(f"'host.{table.name}'" for table in expected_tables.tables())
    return Step("substrate", placed(_part("substrate_guard").replace("/* tables */", names), settings.host_schema))


def _script(steps: Iterable[Step]) -> str:
    body = "\n\n".join(f"-- {step.name}\n{step.sql.rstrip()}" for step in steps)
    return f"-- oneroof {__version__}\n\\set ON_ERROR_STOP on\nBEGIN;\n\n{body}\n\nCOMMIT;\n"


def folder(name: str) -> list[Step]:
    """The files of a folder and of those in it, in the order of their own names."""
    return [
        Step(f"{name.removesuffix('s')} {path.name.removesuffix('.sql')}", _text(path))
        for path in sorted(_files(_sql(name)), key=lambda path: path.name)
        if path.name.endswith(".sql")
    ]


def _shipped(name: str) -> str:
    return files("oneroof").joinpath(name).read_text(encoding="utf-8")


def _files(folder: Traversable) -> Iterator[Traversable]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files(entry)
        else:
            yield entry


def _part(name: str) -> str:
    return _text(_sql("install").joinpath(f"{name}.sql"))


def _sql(name: str) -> Traversable:
    return files("oneroof").joinpath("sql", name)


def _text(path: Traversable) -> str:
    return path.read_text(encoding="utf-8").strip() + "\n"
