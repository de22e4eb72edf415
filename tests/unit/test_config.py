"""Settings: the strongest place wins, and what is wrong is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneroof import config
from oneroof.errors import Usage


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ONEROOF_HOME", str(tmp_path))
    return tmp_path


def test_the_strongest_place_wins(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Command line over environment over file over default."""
    assert config.load().dsn is None
    (home / "oneroof.toml").write_text('dsn = "from file"')
    assert config.load().dsn == "from file"
    monkeypatch.setenv("ONEROOF_DSN", "from environment")
    assert config.load().dsn == "from environment"
    assert config.load(dsn="from command line").dsn == "from command line"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ONEROOF_CONNECT_TIMEOUT", "1", "connect_timeout"),
        ("ONEROOF_LOCK_TIMEOUT", "soon", "lock_timeout"),
        ("ONEROOF_PG_LINGER", "-1", "pg_linger"),
    ],
)
def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str) -> None:
    """By its name, with what is wrong with it."""
    monkeypatch.setenv(name, value)
    with pytest.raises(Usage, match=said):
        config.load()


def test_a_broken_file_is_named(home: Path) -> None:
    """The file and what is wrong with it."""
    (home / "oneroof.toml").write_text("dsn = ")
    with pytest.raises(Usage, match=r"oneroof\.toml cannot be read"):
        config.load()


def test_every_setting_is_described() -> None:
    """`config show` has a word for each."""
    assert all(row.description for row in config.origins(config.load()))
