"""The nouns that travel between modules: frozen, plain, without behaviour that needs a database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Person:
    """A person that requests and approves, with all logins of that person."""

    person_code: str
    display_name: str
    roles: list[str]
    logins: list[str]
    memberships_missing: list[str]


@dataclass(frozen=True, slots=True)
class Request:
    """What one person requested and what another one decided."""

    request_id: int
    request_kind: str
    subject: str
    content: dict[str, Any]
    reason: str
    content_sha256: str
    requester: str
    requester_login: str
    requested_at: datetime
    state: str
    is_edited: bool
    decider: str | None
    decider_login: str | None
    decided_at: datetime | None
    decision_reason: str | None


@dataclass(frozen=True, slots=True)
class Gate:
    """A switch that is closed unless two different people opened it."""

    gate_key: str
    description: str
    is_open: bool
    state: str
    request_id: int | None
    requested_by: str | None
    approved_by: str | None
    opened_at: datetime | None
