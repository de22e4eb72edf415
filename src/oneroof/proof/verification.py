"""Verifying a certificate: its digest, signature and chain, and the rows that have not changed since, read again."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psycopg import sql

from oneroof.database.connection import Connection
from oneroof.database.statements import queries
from oneroof.proof import certificate
from oneroof.proof.certificate import GRAINS, TERMS, Certificate
from oneroof.proof.recount import CANDIDATES
from oneroof.proof.snapshot_reader import Progress, Walk, walking
from oneroof.sources import registration
from oneroof.sources.fingerprint import row_hash
from oneroof.sources.row_expressions import is_own
from oneroof.sources.source import Source
from oneroof.tail import row_queries
from oneroof.tail.row_queries import TIDS, Bounds

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


@dataclass(slots=True)
class Again:
    """What could be derived again of one scope: rows that have not changed since, of how many, and what disagrees."""

    scope: str
    rows: int
    of_rows: int
    candidates: int
    of_candidates: int
    disagreements: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Checked:
    """What a certificate is worth here."""

    sha256: str
    signed: certificate.Signed
    sequence: int | None = None
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    scopes: list[Again] = field(default_factory=list)

    @property
    def is_well(self) -> bool:
        return not self.problems and not any(each.disagreements for each in self.scopes)


def check_file(path: Path, *, key: Ed25519PublicKey | None) -> tuple[Certificate, certificate.Signed]:
    """A certificate whose hash and signature fit."""
    found = certificate.read(path)
    certificate.require_intact(found, name=str(path))
    certificate.require_whole(found, name=str(path))
    return found, certificate.check_signature(found, key=key, name=str(path))


def check_here(
    connection: Connection, found: Certificate, signed: certificate.Signed, *, progress: Progress
) -> Checked:
    """Whether an intact certificate is of this database and in its chain; then read again what has not changed."""
    checked = Checked(sha256=str(found["sha256"]), signed=signed)
    with walking(connection, doing="checking the certificate", progress=progress) as walk:
        ((system, timeline, name, _, _, next_xid, _, _),) = walk.rows(queries("proof/prove")["identity"])
        of = found["database"]
        if (str(of["system_identifier"]), of["name"]) != (system, name):
            of_it = f"{of['name']} of the cluster {of['system_identifier']}"
            checked.problems.append(f"it is of another database, {of_it}; this is {name} of {system}")
            _warn_unsigned(checked)
            return checked
        lowest, highest = (int(part) for part in str(found["snapshot"]).split(":")[:2])
        _check_chain(walk, found, checked)
        if highest > next_xid:
            checked.problems.append("this database is older than the certificate: it was restored from before it")
            return checked
        if of["timeline"] != timeline:
            checked.notes.append(
                f"the database was restored or failed over since: timeline {of['timeline']} then, {timeline} now"
            )
            if checked.sequence is None:
                return checked
        known = {each.source_name: each for each in registration.listing(connection)}
        for scope, terms in found["scopes"].items():
            if scope in known:
                checked.scopes.append(_read_again(walk, known[scope], terms, lowest))
            else:
                checked.notes.append(f"{scope} is no longer a source, and could not be read again")
    return checked


def _check_chain(walk: Walk, found: Certificate, checked: Checked) -> None:
    rows = walk.rows(queries("proof/verification")["chained"], {"sha256": found["sha256"]})
    if not rows:
        checked.problems.append("it is not in the chain of this database: it was not stored here, or the chain was cut")
        _warn_unsigned(checked)
        return
    ((checked.sequence, previous, has_predecessor, signer),) = rows
    if signer is not None and not checked.signed.is_signed:
        checked.warnings.append(
            f"it is not signed, and the one before it was, by {signer}: it was proved without that key"
        )
    if not has_predecessor or not hmac.compare_digest(str(previous), str(found["previous_sha256"])):
        checked.problems.append("its predecessor is not the one in the chain of this database")


def _warn_unsigned(checked: Checked) -> None:
    """The chain names the signer of its certificates; nothing shows the origin of an unsigned one."""
    if not checked.signed.is_signed:
        checked.warnings.append("it is not signed: nothing shows who made it")


def _read_again(walk: Walk, source: Source, terms: dict[str, Any], lowest: int) -> Again:
    """The rows and candidates that are older than the snapshot: those that were there then, and are as they were."""
    older = Bounds(frontier=None, horizon=lowest)
    within = sql.SQL(" AND ").join([TIDS, row_queries.in_window(older)])
    given = {"source": source.source_name, **older.parameters()}
    rows = total = 0
    counting = sql.SQL(queries("proof/verification")["unchanged"]).format(
        hash=row_hash(source),
        table=source.table,
        where=sql.SQL("{} AND NOT {}").format(within, is_own(source)),
    )
    for count, fingerprint in walk.each(source.table, f"rows of {source.source_name}", counting, given):
        rows, total = rows + count, total + int(fingerprint)
    standing = {grain: dict.fromkeys(TERMS, 0) for grain in GRAINS}
    statement = sql.SQL(queries("proof/verification")["standing"]).format(where=within)
    for grain, verdict, count in walk.each(CANDIDATES, f"candidates of {source.source_name}", statement, given):
        standing.setdefault(grain, {})[verdict] = standing.setdefault(grain, {}).get(verdict, 0) + count
    again = Again(
        scope=source.source_name,
        rows=rows,
        of_rows=terms["rows"],
        candidates=sum(sum(each.values()) for each in standing.values()),
        of_candidates=terms["candidates"],
    )
    # What changed since is not among these, so there can be fewer than it says and never more.
    if rows > terms["rows"]:
        again.disagreements.append(f"{rows:,} rows are older than it, and it says {terms['rows']:,}")
    elif rows == terms["rows"] and str(total) != terms["fingerprint"]["sum"]:
        again.disagreements.append("no row has changed since, and the fingerprint of their keys is another one")
    for grain, verdicts in standing.items():
        for verdict, count in verdicts.items():
            said = terms["terms"].get(grain, {}).get(verdict, 0)
            if count > said:
                again.disagreements.append(
                    f"{count:,} of grain {grain} are {verdict} since before, and it says {said:,}"
                )
    return again
