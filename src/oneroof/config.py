"""Settings: what can be set, from where it came, and what it is unless set.

Order, strongest first: the command line, the environment (`ONEROOF_*`), `oneroof.toml` in the data folder,
the default. `oneroof config show` prints all of it.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from oneroof.errors import Usage

PREFIX = "ONEROOF_"
_SCHEMA = re.compile(r"[A-Za-z_][A-Za-z0-9_ -]{0,62}")


def default_home() -> Path:
    """The user's data folder, by the custom of the platform."""
    if sys.platform == "darwin":
        return Path("~/Library/Application Support/oneroof").expanduser()
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "oneroof"


class Settings(BaseSettings):
    """Everything that can be set. A new setting is a field here and nothing else."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid", env_ignore_empty=True)

    dsn: str | None = Field(default=None, description="the database; without it, the embedded server")
    host_schema: str = Field(default="public", description="the schema in which the host's tables lie")
    home: Path = Field(default_factory=default_home, description="data folder of the embedded server")
    pg_bin: Path | None = Field(default=None, description="folder with the PostgreSQL binaries to embed")
    pg_user: str = Field(default="postgres", description="login on the embedded server; a person's, to act as one")
    pg_linger: float = Field(default=2.0, ge=0, le=3600, description="seconds the embedded server outlives its users")
    lock_timeout: float = Field(
        default=5.0, gt=0, le=600, description="seconds DDL waits for a lock and then gives way"
    )
    connect_timeout: int = Field(default=10, ge=2, le=600, description="seconds to wait for a connection")
    signing_key: Path | None = Field(
        default=None, description="an Ed25519 private key, PEM, that certificates are signed with"
    )

    @field_validator("host_schema")
    @classmethod
    def _is_a_hosts_schema(cls, value: str) -> str:
        if not _SCHEMA.fullmatch(value) or value.startswith("pg_") or value in ("oneroof", "information_schema"):
            raise ValueError("a schema of the host's, by a name of letters, digits, _, - and spaces")
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        del dotenv_settings, file_secret_settings
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, config_file())


@dataclass(frozen=True, slots=True)
class Origin:
    """One setting as `config show` prints it; a password in it is blanked."""

    name: str
    value: str
    default: str
    origin: str
    description: str


def config_file() -> Path:
    """Where the file of settings is looked for."""
    return Path(os.environ.get(f"{PREFIX}HOME") or default_home()) / "oneroof.toml"


def load(**given: Any) -> Settings:
    """Settings from all places; `given` are the command line's words, None meaning not given."""
    try:
        return Settings(**_spoken(given))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "?"
        known = ", ".join(Settings.model_fields)
        if first["type"] == "extra_forbidden":
            raise Usage(f"{config_file()} sets {name!r}, which is no setting", hint=f"known: {known}") from None
        raise Usage(f"the setting {name} is wrong: {first['msg']}", hint="oneroof config show") from None
    except (tomllib.TOMLDecodeError, UnicodeError, OSError) as error:
        raise Usage(f"{config_file()} cannot be read: {error}") from None


def origins(settings: Settings, **given: Any) -> list[Origin]:
    """Every setting with its value, its default and where the value came from."""
    spoken, written = _spoken(given), _written()
    rows = []
    for name, field in Settings.model_fields.items():
        origin = (
            "command line"
            if name in spoken
            else f"environment ({PREFIX}{name.upper()})"
            if os.environ.get(PREFIX + name.upper())
            else str(config_file())
            if name in written
            else "default"
        )
        rows.append(
            Origin(
                name=name,
                value=_shown(name, _text(getattr(settings, name))),
                default=_text(field.get_default(call_default_factory=True)),
                origin=origin,
                description=field.description or "",
            )
        )
    return rows


def _spoken(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _written() -> dict[str, Any]:
    path = config_file()
    return tomllib.loads(path.read_text()) if path.is_file() else {}


def _shown(name: str, value: str) -> str:
    """A value without its secrets; a DSN that cannot be read is one secret altogether."""
    if name != "dsn" or not value:
        return value
    try:
        parts = conninfo_to_dict(value)
    except (psycopg.ProgrammingError, UnicodeError, ValueError):
        return "***"
    return make_conninfo("", **{k: "***" if "password" in k or "secret" in k else v for k, v in parts.items()})


def _text(value: object) -> str:
    return "" if value is None else str(value)
