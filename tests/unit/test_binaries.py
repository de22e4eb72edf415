"""Finding PostgreSQL: the folder named first, then the wheel, then the system; never one too old."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from oneroof.embedded import binaries
from oneroof.embedded.binaries import find_binaries
from oneroof.errors import Unavailable


def install(folder: Path, *, says: str) -> Path:
    """A folder of programs that say a version."""
    folder.mkdir(parents=True)
    for name in ("postgres", "initdb"):
        (folder / name).write_text(f"#!/bin/sh\necho '{says}'\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any PostgreSQL."""
    monkeypatch.setattr(binaries, "WHEEL", "no_such_package")
    monkeypatch.setattr(binaries, "_SYSTEM", ())
    monkeypatch.setenv("PATH", "")


def test_the_named_folder_is_the_only_one(tmp_path: Path) -> None:
    """ONEROOF_PG_BIN beats everything, and nothing else is offered beside it."""
    folder = install(tmp_path / "bin", says="postgres (PostgreSQL) 17.5 (Debian 17.5-1)")
    (found,) = find_binaries(pg_bin=folder)
    assert (found.folder, found.major, found.version) == (folder, 17, "17.5")
    assert found.origin == "ONEROOF_PG_BIN"


def test_a_named_folder_without_programs_is_refused(tmp_path: Path) -> None:
    """The sentence names the folder and the setting; the hint says where the right folder is."""
    with pytest.raises(Unavailable, match=f"ONEROOF_PG_BIN is {tmp_path}") as caught:
        find_binaries(pg_bin=tmp_path)
    assert "pg_config --bindir" in (caught.value.hint or "")


@pytest.mark.parametrize("says", ["", "no version at all"])
def test_a_program_that_says_no_version_is_refused(tmp_path: Path, says: str) -> None:
    """Something else called postgres is no PostgreSQL."""
    with pytest.raises(Unavailable, match="do not run"):
        find_binaries(pg_bin=install(tmp_path / "bin", says=says))


def test_a_named_folder_that_is_too_old_is_refused(tmp_path: Path) -> None:
    """Too old is said with the version found and the version needed."""
    with pytest.raises(Unavailable, match=r"14\.9; oneroof needs 15"):
        find_binaries(pg_bin=install(tmp_path / "bin", says="postgres (PostgreSQL) 14.9"))


@pytest.mark.usefixtures("nowhere")
def test_nothing_found_says_what_to_install() -> None:
    """The hint is a command that helps."""
    with pytest.raises(Unavailable, match="no PostgreSQL 15 or newer") as caught:
        find_binaries()
    assert "pip install 'oneroof[embedded]'" in (caught.value.hint or "")


@pytest.mark.usefixtures("nowhere")
def test_an_old_one_alone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only too old a PostgreSQL: it is named, so that nobody wonders."""
    monkeypatch.setattr(binaries, "_SYSTEM", (f"{tmp_path}/*/bin",))
    install(tmp_path / "13/bin", says="postgres (PostgreSQL) 13.1")
    with pytest.raises(Unavailable, match=r"only 13\.1 in "):
        find_binaries()


@pytest.mark.usefixtures("nowhere")
def test_newest_first_and_one_for_each_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel before the system, the newer before the older, each version once, beta versions too."""
    wheel = tmp_path / "site/fake_wheel"
    install(wheel / "pginstall/bin", says="postgres (PostgreSQL) 16.14")
    install(wheel / "pginstall18/bin", says="postgres (PostgreSQL) 18.4")
    (wheel / "__init__.py").write_text("raise RuntimeError('imported')\n")
    for major in (9, 15, 16):
        install(tmp_path / f"lib/{major}/bin", says=f"postgres (PostgreSQL) {major}.1")
    install(tmp_path / "lib/19/bin", says="postgres (PostgreSQL) 19beta2")
    monkeypatch.setattr(binaries, "WHEEL", "fake_wheel")
    monkeypatch.setattr(binaries, "_SYSTEM", (f"{tmp_path}/lib/*/bin",))
    monkeypatch.syspath_prepend(wheel.parent)
    found = find_binaries()
    assert [one.version for one in found] == ["18.4", "16.14", "19beta2", "15.1"]
    assert [one.origin for one in found] == ["wheel", "wheel", "system", "system"]
    assert "fake_wheel" not in sys.modules
