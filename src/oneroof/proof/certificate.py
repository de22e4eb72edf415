"""Certificates: what a proof found, as a document that every holder can check (doc 31 §9).

A certificate has the sha256 of its own canonical form, that of the one before it, and an Ed25519 signature where a key
is configured; which key that is, is part of what is hashed and signed, so that a signature cannot be taken away unseen.
Fingerprints are counts and sums, so that certificates of many databases add up to one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneroof.errors import Usage, Wrong

if TYPE_CHECKING:
    # Keys are loaded by those few who use them: a worker would carry eight megabytes for nothing.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

Certificate = dict[str, Any]

FORMAT = "oneroof.certificate"
VERSION = 1
# The terms of the invariant (doc 31 §9), and what is undecided.
TERMS = ("covered", "orphan", "approved_exception", "retired", "stale", "deferred_birth", "class_0", "undecided")
GRAINS = ("governed", "inherited")
# What of a scope is a number, and adds up.
COUNTS = (
    "total",
    "rows",
    "candidates",
    "duplicates",
    "tombstones",
    "vanished",
    "returned",
    "unapplied",
    "awaiting",
    "changed",
    "omitted",
    "retry",
    "dead_letter",
)
LARGEST = 64 * 1024 * 1024
_SEALS = ("sha256", "signature")


@dataclass(frozen=True, slots=True)
class Signed:
    """What a signature is worth: nothing was signed, it fits a key that is vouched for, or it fits its own."""

    is_signed: bool
    is_vouched: bool
    fingerprint: str | None


def canonical(document: Mapping[str, Any]) -> bytes:
    """The one way to write a document: sorted keys, no white space, UTF-8, and no number that is not whole."""
    _require_whole(document)
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def digest(document: Mapping[str, Any]) -> str:
    """The sha256 of a certificate without its seals."""
    return hashlib.sha256(canonical({k: v for k, v in document.items() if k not in _SEALS})).hexdigest()


def seal(document: Mapping[str, Any], *, key: Ed25519PrivateKey | None) -> Certificate:
    """A certificate with its hash, and with a signature if there is a key; it names its signer, if there is one."""
    public = None if key is None else key.public_key().public_bytes_raw()
    signer = None if public is None else hashlib.sha256(public).hexdigest()
    sealed = {**{k: v for k, v in document.items() if k not in _SEALS}, "signer": signer}
    sealed["sha256"] = digest(sealed)
    if key is not None and public is not None:
        sealed["signature"] = {
            "algorithm": "Ed25519",
            "public_key": public.hex(),
            "fingerprint": signer,
            "value": key.sign(sealed["sha256"].encode()).hex(),
        }
    return sealed


def read(path: Path) -> Certificate:
    """A certificate from a file; what is none is wrong usage."""
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise Usage(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if len(raw) > LARGEST:
        raise Usage(f"{path} is larger than any certificate")
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        raise Usage(
            f"{path} is not JSON, so it is no certificate", hint="oneroof prove --out FILE writes one"
        ) from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise Usage(f"{path} is not a certificate", hint="oneroof prove --out FILE writes one")
    if found.get("format_version") != VERSION:
        raise Usage(f"{path} has the format {found.get('format_version')!r}, and this version reads {VERSION}")
    return found


def require_whole(certificate: Certificate, *, name: str) -> None:
    """Refuse one that lacks what every certificate has, whatever its hash says."""
    try:
        add(*certificate["scopes"].values())
        merge([certificate])
        lowest, highest = (int(part) for part in certificate["snapshot"].split(":")[:2])
        whole = lowest <= highest and {"caveats", "previous_sha256", "ruleset_version", "signer"} <= certificate.keys()
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        whole = False
    if not whole:
        raise Usage(f"{name} is not a whole certificate", hint="oneroof prove --out FILE writes one")


def write(certificate: Certificate, path: Path) -> None:
    """Into a new file; nothing that is there is overwritten."""
    try:
        with path.open("x", encoding="utf-8") as out:
            json.dump(certificate, out, sort_keys=True, indent=1, ensure_ascii=False)
            out.write("\n")
    except (OSError, ValueError) as error:
        raise Usage(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from None


def require_intact(certificate: Certificate, *, name: str) -> None:
    """Refuse a certificate that says anything else than when it was made."""
    try:
        fits = certificate.get("sha256") == digest(certificate)
    except (TypeError, ValueError, RecursionError):
        fits = False
    if not fits:
        raise Wrong(f"{name} was edited: its sha256 does not fit what it says")


def check_signature(certificate: Certificate, *, key: Ed25519PublicKey | None, name: str) -> Signed:
    """Whether a signature fits: the given key, or at least its own. One that does not fit is an error, and so is one
    that is missing although the certificate says who signed it.
    """
    found, signer = certificate.get("signature"), certificate.get("signer")
    if found is None:
        if signer is not None:
            raise Wrong(f"the signature of {name} was taken away: it says that it was signed by {signer}")
        if key is not None:
            raise Wrong(f"{name} is not signed, and a key was given to check it with")
        return Signed(is_signed=False, is_vouched=False, fingerprint=None)
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        public = bytes.fromhex(found["public_key"])
        value = bytes.fromhex(found["value"])
        own = Ed25519PublicKey.from_public_bytes(public)
    except (KeyError, TypeError, ValueError):
        raise Wrong(f"the signature of {name} cannot be read") from None
    fingerprint = hashlib.sha256(public).hexdigest()
    if found.get("fingerprint") != fingerprint:
        raise Wrong(f"the signature of {name} names another key than it carries")
    if signer is None:
        raise Wrong(f"{name} was made without a signature, and has one")
    if signer != fingerprint:
        raise Wrong(f"{name} says that another key signed it, {signer}")
    if key is not None and key.public_bytes_raw() != public:
        raise Wrong(f"{name} was signed with another key, {fingerprint}")
    try:
        own.verify(value, str(certificate["sha256"]).encode())
    except InvalidSignature:
        raise Wrong(f"the signature of {name} does not fit") from None
    return Signed(is_signed=True, is_vouched=key is not None, fingerprint=fingerprint)


def private_key(path: Path | None) -> Ed25519PrivateKey | None:
    """The key to sign with, if one is configured."""
    if path is None:
        return None
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise Usage(f"cannot read the signing key {path}: {error.strerror or error}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise Usage(f"the signing key {path} is not an unencrypted private key in PEM") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise Usage(f"the signing key {path} is not an Ed25519 key", hint="openssl genpkey -algorithm ed25519")
    return key


def public_key(path: Path) -> Ed25519PublicKey:
    """A key to check signatures with."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(path.read_bytes())
    except OSError as error:
        raise Usage(f"cannot read the public key {path}: {error.strerror or error}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise Usage(f"{path} is not a public key in PEM", hint="openssl pkey -pubout") from None
    if not isinstance(key, Ed25519PublicKey):
        raise Usage(f"the public key {path} is not an Ed25519 key")
    return key


def merge(certificates: Sequence[Certificate]) -> dict[str, Any]:
    """Many certificates as one: terms, counts and fingerprints add up; balanced and complete if all of them are."""
    seen: set[tuple[str, str]] = set()
    scopes: dict[str, dict[str, Any]] = {}
    for certificate in certificates:
        database = certificate["database"]
        which = (str(database["system_identifier"]), str(database["name"]))
        if which in seen:
            raise Wrong(f"two certificates are of the same database, {which[1]} of the cluster {which[0]}")
        seen.add(which)
        for name, scope in certificate["scopes"].items():
            scopes[name] = add(scopes[name], scope) if name in scopes else add(scope)
    return {
        "format": "oneroof.merged",
        "format_version": VERSION,
        "databases": [
            {
                **c["database"],
                "sha256": c["sha256"],
                "signer": c.get("signer"),
                "proved_at": c["proved_at"],
                "balanced": c["balanced"],
            }
            for c in certificates
        ],
        "scopes": dict(sorted(scopes.items())),
        "total": add(*scopes.values()),
        "balanced": all(c["balanced"] for c in certificates),
        "complete": all(c["complete"] for c in certificates),
    }


def add(*scopes: Mapping[str, Any]) -> dict[str, Any]:
    """The sum of scopes: counts, terms by grain, reasons and fingerprints."""
    reasons: dict[str, int] = {}
    for scope in scopes:
        for reason, count in scope["undecided"].items():
            reasons[reason] = reasons.get(reason, 0) + count
    return {
        **{name: sum(scope[name] for scope in scopes) for name in COUNTS},
        "terms": {
            grain: {term: sum(scope["terms"][grain][term] for scope in scopes) for term in TERMS} for grain in GRAINS
        },
        "undecided": dict(sorted(reasons.items())),
        "fingerprint": {
            "rows": sum(scope["fingerprint"]["rows"] for scope in scopes),
            "sum": str(sum(int(scope["fingerprint"]["sum"]) for scope in scopes)),
        },
    }


def _require_whole(value: Any) -> None:
    match value:
        case float():
            raise ValueError("a certificate has whole numbers alone")
        case dict():
            for each in value.values():
                _require_whole(each)
        case list() | tuple():
            for each in value:
                _require_whole(each)
