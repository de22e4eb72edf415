"""The people of the estate at work: one connection for each login, and what it takes two of them to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from bed import as_user, connect
from oneroof.database.connection import Connection
from oneroof.people import gates, requests
from oneroof.signals import event_types

EMIT = "governance.emit_enabled"


@dataclass
class Logins:
    """One connection per login of the estate, and one that is a worker's."""

    dsn: str
    admin: Connection
    worker: Connection
    requester: Connection
    approver: Connection

    def activate(self, *types: str) -> int:
        """Two people, and nothing else."""
        number = event_types.request_activation(self.requester, types, reason="wanted")
        requests.decide(self.approver, number, "approved")
        return number

    def open_gate(self, gate: str = EMIT) -> None:
        number = gates.request(self.requester, gate, reason="wanted")
        requests.decide(self.approver, number, "approved")


@contextmanager
def sign_in(dsn: str) -> Iterator[Logins]:
    """Everybody, with the gate of signals open and all types registered."""
    with ExitStack() as stack:
        users = ("postgres", "postgres", "requester", "approver")
        made = Logins(dsn, *(stack.enter_context(connect(as_user(dsn, user))) for user in users))
        made.open_gate()
        event_types.register(made.admin)
        yield made
