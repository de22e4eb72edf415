"""What becomes of a proof: findings, a certificate in the chain, and the check of a given one (doc 31 §9).

All that is written is written after the snapshot of the proof has ended, in a short transaction. Who may not write can
prove all the same; nothing is stored then. Checking writes nothing: it reads again what has not changed since.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg.types.json import Jsonb

from oneroof import __version__
from oneroof.database.connection import Connection
from oneroof.database.statements import one, queries
from oneroof.database.transaction import transaction
from oneroof.errors import Wrong
from oneroof.findings import store
from oneroof.proof import certificate, prove
from oneroof.proof.certificate import Certificate
from oneroof.proof.obligations import DERIVATION, INVARIANT, LEDGER, NO_DUPLICATES, NO_OMISSION, Proof, Scope

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


# Another proof may be stored first; then the chain is longer, and the certificate is made anew.
ATTEMPTS = 10
_DRIFT = (NO_DUPLICATES, INVARIANT, LEDGER, DERIVATION)


@dataclass(frozen=True, slots=True)
class Kept:
    """A certificate, and its number in the chain if it was stored."""

    certificate: Certificate
    sequence: int | None


def keep(connection: Connection, found: Proof, *, key: Ed25519PrivateKey | None) -> Kept:
    """Make the certificate of a proof, and store it and what it found, if this login may."""
    document = prove.document(found, version=__version__)
    sealed = certificate.seal(document, key=key)
    with transaction(connection, doing="asking who may store", read_only=True):
        (may_store,) = one(connection, queries("proof/certificate_store")["may_store"])
    if not may_store:
        return Kept(sealed, None)
    for _ in range(ATTEMPTS):
        with transaction(connection, doing="storing the certificate", lock_timeout=5.0, statement_timeout=5.0):
            (sequence,) = one(connection, queries("proof/certificate_store")["store"], {"certificate": Jsonb(sealed)})
            if sequence is not None:
                for scope in found.scopes:
                    _tell(connection, scope, sealed["sha256"])
                return Kept(sealed, int(sequence))
            latest = connection.execute(queries("proof/prove")["latest"]).fetchone()
        document["previous_sha256"] = latest[0] if latest else None
        sealed = certificate.seal(document, key=key)
    raise Wrong("others store certificates all the time; this one was not stored", hint="oneroof prove")


def _tell(connection: Connection, scope: Scope, sha256: str) -> None:
    """Raise what does not hold, and clear what holds again."""
    by_name = {each.obligation: each for each in scope.obligations}
    for issue, obligations, title in (
        ("backfill_incomplete", (NO_OMISSION,), f"rows of {scope.name} are not accounted"),
        ("governance_schema_drift", _DRIFT, f"the books of {scope.name} do not close"),
    ):
        broken = [by_name[name] for name in obligations if name in by_name and not by_name[name].holds]
        subject = f"scope:{scope.name}"
        if broken:
            details = {each.obligation: {"violations": each.violations, "names": each.names} for each in broken}
            details["certificate"] = {"sha256": sha256}
            store.raise_finding(connection, issue, subject=subject, title=title, details=details)
        else:
            store.clear_finding(connection, issue, subject=subject)
