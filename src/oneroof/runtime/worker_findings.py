"""The findings that a worker thread raises of an executor that fails or lost its lease, and clears when it is over."""

from __future__ import annotations

from oneroof.database.connection import Connection
from oneroof.database.transaction import transaction
from oneroof.findings import store
from oneroof.runtime.assignment import Duty

ROLE = "oneroof_worker"


def raise_of(connection: Connection, kind: str, duty: Duty, why: str, *, instance: str) -> None:
    """Raise it, or count it once more."""
    details = {"worker": duty.worker, "source": duty.scope, "instance": instance}
    with transaction(connection, doing="raising a finding", role=ROLE, lock_timeout=2):
        store.raise_finding(connection, kind, subject=duty.executor, title=why, details=details)


def clear_of(connection: Connection, duty: Duty, *kinds: str) -> None:
    """It is over."""
    with transaction(connection, doing="closing a finding", role=ROLE, lock_timeout=2):
        for kind in kinds:
            store.clear_finding(connection, kind, subject=duty.executor)
