"""Certificates: one canonical form, a hash and a signature that an edit breaks, and sums that add up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from oneroof.errors import Usage, Wrong
from oneroof.proof import certificate
from oneroof.proof.certificate import COUNTS, GRAINS, TERMS, Certificate

counts = st.integers(min_value=0, max_value=2**70)
scopes = st.fixed_dictionaries(
    {
        **dict.fromkeys(COUNTS, counts),
        "terms": st.fixed_dictionaries(
            {grain: st.fixed_dictionaries(dict.fromkeys(TERMS, counts)) for grain in GRAINS}
        ),
        "undecided": st.dictionaries(st.sampled_from(["pending", "retry", "vanished"]), counts),
        "fingerprint": st.fixed_dictionaries(
            {"rows": counts, "sum": st.integers(min_value=-(2**90), max_value=2**90).map(str)}
        ),
    }
)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def made(database: str = "one", *, key: Ed25519PrivateKey | None = None, **scope: int) -> Certificate:
    """A small certificate."""
    books: dict[str, Any] = {
        **dict.fromkeys(COUNTS, 0),
        **scope,
        "terms": {grain: dict.fromkeys(TERMS, 1) for grain in GRAINS},
        "undecided": {"pending": 2},
        "fingerprint": {"rows": 5, "sum": "-7"},
    }
    document = {
        "format": certificate.FORMAT,
        "format_version": certificate.VERSION,
        "database": {"system_identifier": "1", "timeline": 1, "name": database},
        "snapshot": "10:12:11",
        "proved_at": "2026-06-01T00:00:00+00:00",
        "ruleset_version": "v",
        "scopes": {"births": books},
        "balanced": True,
        "complete": False,
        "caveats": [],
        "previous_sha256": None,
    }
    return certificate.seal(document, key=key)


@given(st.dictionaries(st.text(), documents, max_size=6))
def test_the_canonical_form_is_one(document: dict[str, Any]) -> None:
    """However it was written, read back it is the same, and so are its bytes."""
    written = certificate.canonical(document)
    turned = dict(reversed(json.loads(written.decode("utf-8", "surrogatepass")).items()))
    assert turned == document
    assert certificate.canonical(turned) == written
    pretty = json.loads(json.dumps(document, indent=3))
    assert certificate.digest(pretty) == certificate.digest(document)


@given(scopes, scopes, scopes)
def test_sums_add_up_in_any_order(first: dict[str, Any], second: dict[str, Any], third: dict[str, Any]) -> None:
    """Merging is addition: associative and commutative, and nothing is lost on the way."""
    add = certificate.add
    assert add(add(first, second), third) == add(third, add(second, first)) == add(first, second, third)
    assert add(first, second)["total"] == first["total"] + second["total"]


def test_a_number_that_is_not_whole_has_no_form() -> None:
    """Two programs write them in two ways."""
    with pytest.raises(ValueError, match="whole"):
        certificate.canonical({"a": [{"b": 0.5}]})


@pytest.mark.parametrize("where", [("balanced",), ("scopes", "births", "rows"), ("previous_sha256",), ("sha256",)])
def test_an_edited_certificate_does_not_fit_its_hash(where: tuple[str, ...]) -> None:
    """Whatever was edited, also the hash itself."""
    found = made()
    certificate.require_intact(found, name="it")
    place: Any = found
    for name in where[:-1]:
        place = place[name]
    place[where[-1]] = 99
    with pytest.raises(Wrong, match="it was edited: its sha256 does not fit"):
        certificate.require_intact(found, name="it")


def test_a_signature_fits_one_key_and_one_content() -> None:
    """Another key, another content, a damaged or a missing signature: each has its sentence."""
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    found = made(key=key)
    signed = certificate.check_signature(found, key=key.public_key(), name="it")
    assert (signed.is_signed, signed.is_vouched) == (True, True)
    assert not certificate.check_signature(found, key=None, name="it").is_vouched
    assert not certificate.check_signature(made(), key=None, name="it").is_signed
    with pytest.raises(Wrong, match="signed with another key"):
        certificate.check_signature(found, key=other.public_key(), name="it")
    with pytest.raises(Wrong, match="is not signed, and a key was given"):
        certificate.check_signature(made(), key=key.public_key(), name="it")
    forged = {**made(rows=1, key=key), "signature": found["signature"]}
    with pytest.raises(Wrong, match="does not fit"):
        certificate.check_signature(forged, key=key.public_key(), name="it")
    for damage in ({"value": "zz"}, {"public_key": "00"}, {"fingerprint": "00"}):
        with pytest.raises(Wrong, match="signature of it"):
            certificate.check_signature(
                {**found, "signature": {**found["signature"], **damage}}, key=key.public_key(), name="it"
            )


def test_a_signature_that_was_taken_away_shows() -> None:
    """Who signed is part of what was signed: without its signature a certificate says that it had one, and what says
    otherwise has another hash.
    """
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    found = made(key=key)
    stripped = {name: value for name, value in found.items() if name != "signature"}
    certificate.require_intact(stripped, name="it")
    for public in (None, key.public_key()):
        with pytest.raises(Wrong, match="the signature of it was taken away"):
            certificate.check_signature(stripped, key=public, name="it")
    with pytest.raises(Wrong, match="was edited"):
        certificate.require_intact({**stripped, "signer": None}, name="it")
    assert certificate.digest({**stripped, "signer": None}) != found["sha256"]
    exchanged = {**found, "signature": made(key=other)["signature"]}
    with pytest.raises(Wrong, match="says that another key signed it"):
        certificate.check_signature(exchanged, key=None, name="it")
    added = {**made(), "signature": found["signature"]}
    with pytest.raises(Wrong, match="was made without a signature"):
        certificate.check_signature(added, key=None, name="it")


def test_keys_are_read_from_pem(tmp_path: Path) -> None:
    """Ed25519 alone, and a sentence for anything else."""
    key = Ed25519PrivateKey.generate()
    private, public, other = tmp_path / "key.pem", tmp_path / "key.pub", tmp_path / "x.pem"
    pem = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    private.write_bytes(key.private_bytes(*pem))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    other.write_bytes(X25519PrivateKey.generate().private_bytes(*pem))
    read = certificate.private_key(private)
    assert read is not None
    found = made(key=read)
    assert certificate.check_signature(found, key=certificate.public_key(public), name="it").is_vouched
    assert certificate.private_key(None) is None
    for path, message in ((public, "not an unencrypted private key"), (other, "not an Ed25519 key")):
        with pytest.raises(Usage, match=message):
            certificate.private_key(path)
    with pytest.raises(Usage, match="cannot read the signing key"):
        certificate.private_key(tmp_path / "nothing")
    with pytest.raises(Usage, match="not a public key"):
        certificate.public_key(private)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is not a certificate"),
        ('{"format": "other"}', "is not a certificate"),
        ('{"format": "oneroof.certificate", "format_version": 2}', "this version reads 1"),
    ],
)
def test_what_is_no_certificate_is_wrong_usage(tmp_path: Path, text: str, message: str) -> None:
    """One sentence and exit 2."""
    file = tmp_path / "it.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Usage, match=message):
        certificate.read(file)


@pytest.mark.parametrize("missing", ["database", "scopes", "snapshot", "balanced", "caveats", "signer"])
def test_one_that_lacks_something_is_refused_whatever_its_hash_says(missing: str) -> None:
    """A hash is no proof of sense."""
    found = {k: v for k, v in made().items() if k != missing}
    found["sha256"] = certificate.digest(found)
    certificate.require_intact(found, name="it")
    with pytest.raises(Usage, match="not a whole certificate"):
        certificate.require_whole(found, name="it")


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    """Written once, read back the same."""
    file = tmp_path / "it.json"
    certificate.write(made(), file)
    assert certificate.read(file) == made()
    with pytest.raises(Usage, match="cannot write"):
        certificate.write(made(), file)


def test_merging_refuses_one_database_twice() -> None:
    """Else it would count double; two databases of one cluster are two."""
    merged = certificate.merge([made("one", rows=2), made("two", rows=3)])
    assert (merged["total"]["rows"], merged["scopes"]["births"]["rows"]) == (5, 5)
    assert merged["total"]["fingerprint"] == {"rows": 10, "sum": "-14"}
    assert (merged["balanced"], merged["complete"]) == (True, False)
    with pytest.raises(Wrong, match="two certificates are of the same database, one"):
        certificate.merge([made("one"), made("one", rows=1)])
