"""A certificate that somebody brings: of which database, in which chain, and what of it is still so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from psycopg.conninfo import make_conninfo

from bed import Bed, command, connect, silent
from inventory import make, settle, sweep
from oneroof.database.connection import Connection
from oneroof.errors import Wrong
from oneroof.proof import certificate, certificate_store, prove, verification
from oneroof.proof.certificate import Certificate
from oneroof.proof.verification import Checked


@pytest.fixture
def kept(admin: Connection) -> Certificate:
    """The certificate of a small inventory, swept."""
    admin.execute("DELETE FROM oneroof.governance_source")
    tailed = make(admin)
    admin.execute("INSERT INTO src SELECT n, now(), 'code ' || n FROM generate_series(1, 50) AS n")
    sweep(admin, tailed, batch=20)
    return keep(admin)


def keep(admin: Connection) -> Certificate:
    """Once nothing else on the server holds the horizon back, behind which a certificate vouches for rows."""
    settle(admin)
    return certificate_store.keep(admin, prove.prove(admin, deep=False, progress=silent), key=None).certificate


def check(admin: Connection, found: Certificate) -> Checked:
    signed = certificate.check_signature(found, key=None, name="it")
    return verification.check_here(admin, found, signed, progress=silent)


def test_nothing_has_changed(admin: Connection, kept: Certificate) -> None:
    """Every row and candidate is read again, and agrees; the next one is chained to it."""
    checked = check(admin, kept)
    assert checked.is_well
    assert checked.sequence == 1
    (scope,) = checked.scopes
    assert (scope.rows, scope.of_rows, scope.candidates, scope.of_candidates) == (50, 50, 50, 50)
    assert check(admin, keep(admin)).sequence == 2


def test_what_has_changed_since_is_left_out(admin: Connection, kept: Certificate) -> None:
    """Rows that came, went or changed since are not read again, and the rest agrees."""
    admin.execute("INSERT INTO src VALUES (99, now(), 'code 99')")
    admin.execute("UPDATE src SET status = 'grown' WHERE id <= 10")
    admin.execute("DELETE FROM src WHERE id = 11")
    checked = check(admin, kept)
    assert checked.is_well
    assert (checked.scopes[0].rows, checked.scopes[0].of_rows) == (39, 50)


def test_a_certificate_that_says_something_else_disagrees(admin: Connection, kept: Certificate) -> None:
    """Made by whoever can compute a hash: it is not in the chain, and what it says is not so."""
    terms = kept["scopes"]["src"]["terms"]["governed"]
    terms["covered"], terms["undecided"] = terms["undecided"], terms["covered"]
    kept["scopes"]["src"]["fingerprint"]["sum"] = "1"
    forged = certificate.seal(kept, key=None)
    checked = check(admin, forged)
    assert not checked.is_well
    assert "not in the chain" in checked.problems[0]
    told = " ".join(checked.scopes[0].disagreements)
    assert "the fingerprint of their keys is another one" in told
    assert "it says 0" in told


def test_a_cut_chain_is_told(admin: Connection, kept: Certificate) -> None:
    """The predecessor in the certificate has to be the one in the chain."""
    second = keep(admin)
    other = certificate.seal({**second, "previous_sha256": "0" * 64}, key=None)
    admin.execute("UPDATE oneroof.governance_certificate SET sha256 = %s WHERE sequence = 2", (other["sha256"],))
    assert "predecessor" in check(admin, other).problems[0]
    assert "not in the chain" in check(admin, second).problems[0]
    assert check(admin, kept).is_well


def test_a_certificate_of_another_database(bed: Bed, kept: Certificate) -> None:
    """It is told which, and nothing is compared."""
    with bed.database(bed.installed()) as name, connect(bed.dsn(name)) as other:
        checked = check(other, kept)
        assert not checked.is_well
        assert f"this is {name} of" in checked.problems[0]
        assert checked.scopes == []


def test_a_database_that_is_older_than_the_certificate(admin: Connection, kept: Certificate) -> None:
    """Restored from before it; and on another timeline without it nothing can be compared."""
    beyond = certificate.seal({**kept, "snapshot": f"10:{2**60}:"}, key=None)
    assert "restored from before it" in check(admin, beyond).problems[-1]
    elsewhere = certificate.seal({**kept, "database": {**kept["database"], "timeline": 99}}, key=None)
    checked = check(admin, elsewhere)
    assert "timeline 99 then" in checked.notes[0]
    assert checked.scopes == []


@pytest.mark.newest
def test_the_commands(admin: Connection, kept: Certificate, installed_database: str, tmp_path: Path) -> None:
    """prove, verify and merge as a user calls them, with a key, a wrong key, an edit and a second database's."""
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    private, public, wrong = tmp_path / "key", tmp_path / "pub", tmp_path / "wrong"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    for path, of in ((public, key), (wrong, other)):
        path.write_bytes(of.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    file = tmp_path / "one.json"
    env = {"ONEROOF_SIGNING_KEY": str(private)}

    ran = command("prove", "--deep", "--out", str(file), dsn=installed_database, env=env)
    assert (ran.code, "✓ balanced, not complete" in ran.out) == (0, True)
    assert "✓ no omission" in ran.out
    assert json.loads(file.read_text(encoding="utf-8"))["previous_sha256"] == kept["sha256"]
    assert command("prove", "--out", str(file), dsn=installed_database).code == 2

    assert command("verify", str(file), dsn=installed_database, env=env).code == 0
    ran = command("verify", str(file), "--public-key", str(public), dsn=installed_database)
    assert (ran.code, "signed by the key that was given" in ran.out) == (0, True)
    assert command("verify", str(file), "--public-key", str(wrong), dsn=installed_database).code == 1
    assert command("verify", str(private), dsn=installed_database).code == 2

    edited = tmp_path / "edited.json"
    edited.write_text(file.read_text(encoding="utf-8").replace('"rows": 50', '"rows": 51'), encoding="utf-8")
    ran = command("verify", str(edited), "--json", dsn=installed_database)
    assert (ran.code, "sha256 does not fit" in ran.json["error"]) == (1, True)

    second = tmp_path / "two.json"
    found = certificate.read(file)
    found["database"]["name"] = "elsewhere"
    certificate.write(certificate.seal(found, key=None), second)
    ran = command("verify", str(second), dsn=installed_database)
    assert (ran.code, "it is of another database, elsewhere" in ran.out) == (1, True)
    ran = command("merge", str(file), str(second), "--json")
    assert (ran.code, ran.json["total"]["rows"]) == (0, 100)
    assert "2 databases" in command("merge", str(file), str(second)).out
    assert command("merge", str(file), str(file)).code == 1

    admin.execute("DELETE FROM oneroof.governance_candidate_state WHERE source_key = '7'")
    ran = command("prove", dsn=installed_database)
    assert (ran.code, "src:code 7" in ran.out) == (1, True)
    assert "✗ not balanced" in ran.out
    reader = make_conninfo(installed_database, options="-c role=oneroof_reader")
    ran = command("prove", "--json", dsn=reader)
    assert (ran.code, ran.json["scopes"]["src"]["omitted"]) == (1, 1)
    assert "no certificate and no finding was stored" in ran.err


@pytest.mark.newest
@pytest.mark.usefixtures("kept")
def test_a_certificate_without_its_signature(installed_database: str, tmp_path: Path) -> None:
    """Taken away, it is wrong, with a key or without; made anew without a signer, it is not in the chain; and one that
    was proved without the key after one with it is told.
    """
    private = tmp_path / "key"
    private.write_bytes(Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    signed, plain = tmp_path / "signed.json", tmp_path / "plain.json"
    env = {"ONEROOF_SIGNING_KEY": str(private)}
    assert command("prove", "--out", str(signed), dsn=installed_database, env=env).code == 0
    ran = command("verify", str(signed), "--json", dsn=installed_database)
    assert (ran.code, ran.json["warnings"]) == (0, [])

    found = certificate.read(signed)
    stripped = tmp_path / "stripped.json"
    certificate.write({name: value for name, value in found.items() if name != "signature"}, stripped)
    for given in ({}, env):
        ran = command("verify", str(stripped), "--json", dsn=installed_database, env=given)
        assert (ran.code, "was taken away" in ran.json["error"]) == (1, True)
    assert command("merge", str(stripped)).code == 1

    anonymous = tmp_path / "anonymous.json"
    certificate.write(certificate.seal(found, key=None), anonymous)
    ran = command("verify", str(anonymous), "--json", dsn=installed_database)
    assert (ran.code, "not in the chain" in ran.json["problems"][0]) == (1, True)
    assert "not signed" in ran.json["warnings"][0]

    assert command("prove", "--out", str(plain), dsn=installed_database).code == 0
    ran = command("verify", str(plain), "--json", dsn=installed_database)
    assert ran.code == 0
    assert found["signer"] in ran.json["warnings"][0]
    assert "the one before it" in ran.json["warnings"][0]
    ran = command("verify", str(plain), dsn=installed_database)
    assert (ran.code, "! it is not signed, and the one before it" in ran.out) == (0, True)
    ran = command("merge", str(plain), "--json")
    assert (ran.code, ran.json["databases"][0]["signer"]) == (0, None)
    assert "plain.json is not signed" in ran.err


def test_an_edited_file_is_refused_before_anything_is_asked(kept: Certificate, tmp_path: Path) -> None:
    """The hash comes first."""
    kept["balanced"] = False
    certificate.write(kept, tmp_path / "it")
    with pytest.raises(Wrong, match="was edited"):
        verification.check_file(tmp_path / "it", key=None)
