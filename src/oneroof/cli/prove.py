"""`oneroof prove | verify | merge`: the books, closed in one snapshot, and what can be shown of them later."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.errors import Usage, printable
from oneroof.proof import certificate, certificate_store, verification
from oneroof.proof import prove as proving
from oneroof.proof.certificate import GRAINS, TERMS, Certificate
from oneroof.proof.verification import Checked

SAYS = {
    "no_omission": "no omission: every row of a source is accounted",
    "no_duplicates": "no duplicates: no row is accounted twice",
    "invariant": "the invariant closes: the total is the sum of the terms",
    "ledger": "the ledger equals a recount, and each verdict is that of its facts",
    "derivation": "every fact and verdict derived again is the same",
}
SHORT = ("covered", "orphan", "excepted", "retired", "stale", "deferred", "class 0", "undecided")
JOBS = 2
FILES = typer.Argument(help="Certificates of different databases.")


def register(app: typer.Typer) -> None:
    for command in (prove, verify, merge):
        app.command()(command)


def prove(
    ctx: typer.Context,
    deep: bool = typer.Option(False, "--deep", help="Also derive every fact and verdict again."),
    out: Path | None = typer.Option(None, help="Write the certificate into this new file."),
    names: int = typer.Option(proving.NAMES, min=1, max=10_000, help="How many keys to name of what does not hold."),
    jobs: int = typer.Option(JOBS, min=1, max=16, help="Connections that read the one snapshot together."),
) -> None:
    """Prove that no object was missed; exit 0 if the books balance, 1 if not. Also stores the certificate.

    Balanced: every row is accounted once, the total is the sum of the terms, the ledger is what a recount finds.
    Complete: also nothing is undecided and nothing awaits its turn. One snapshot is held while it runs.
    """
    session: Session = ctx.obj
    if out is not None and out.exists():
        raise Usage(f"cannot write {out}: it is there already", hint="name a new file")
    key = certificate.private_key(session.settings.signing_key)
    connection = session.connect_installed()
    session.say("proving in one snapshot; vacuum and ALTER TABLE wait for it, and Ctrl-C ends it")
    with session.meter("proving") as meter:
        others = [session.connect() for _ in range(1, jobs)]
        found = proving.prove(connection, deep=deep, names=names, progress=meter, others=others)
    kept = certificate_store.keep(connection, found, key=key)
    if out is not None:
        certificate.write(kept.certificate, out)
    session.emit(kept.certificate, lambda paper: show(paper, kept.certificate))
    if kept.sequence is None:
        session.say("this login may not write: no certificate and no finding was stored")
    else:
        session.say(f"certificate {kept.sequence}, sha256 {kept.certificate['sha256']}")
    if not found.is_balanced:
        raise typer.Exit(1)


def verify(
    ctx: typer.Context,
    file: Path = typer.Argument(help="A certificate that `oneroof prove --out` wrote."),
    public_key: Path | None = typer.Option(None, help="The Ed25519 public key, PEM, that it must be signed with."),
) -> None:
    """Check a certificate: hash, signature, chain, and whatever has not changed since; exit 1 if anything is wrong.

    Writes nothing. Without --public-key the configured signing key is the one that counts, if there is one.
    """
    session: Session = ctx.obj
    own = None if public_key is not None else certificate.private_key(session.settings.signing_key)
    key = certificate.public_key(public_key) if public_key is not None else own.public_key() if own else None
    found, signed = verification.check_file(file, key=key)
    connection = session.connect_installed()
    with session.meter("checking") as meter:
        checked = verification.check_here(connection, found, signed, progress=meter)
    session.emit({**_plain(checked), "well": checked.is_well}, lambda paper: _tell(paper, found, checked))
    if not checked.is_well:
        raise typer.Exit(1)


def merge(ctx: typer.Context, files: list[Path] = FILES) -> None:
    """Add up certificates of many databases; exit 1 if one of them is not balanced. Needs no database."""
    session: Session = ctx.obj
    checked = [verification.check_file(file, key=None) for file in files]
    merged = certificate.merge([found for found, _ in checked])
    for file, (_, signed) in zip(files, checked, strict=True):
        if not signed.is_signed:
            session.say(printable(f"{file} is not signed: nothing shows who made it"))
    session.emit(merged, lambda paper: _show_merged(paper, merged))
    if not merged["balanced"]:
        raise typer.Exit(1)


def show(paper: Console, found: Certificate) -> None:
    paper.print(_books(found["scopes"]))
    for name, scope in found["scopes"].items():
        told = {
            "duplicates": "accounted by another row",
            "tombstones": "known to be gone",
            "vanished": "vanished since the last audit",
            "returned": "accounted as gone and there again",
            "unapplied": "whose last change failed",
            "awaiting": "not yet due",
            "changed": "changed and not yet due",
            "retry": "to be tried again",
            "dead_letter": "dead letters",
            "dirty": "to be judged anew",
        }
        parts = [f"{scope[what]:,} {words}" for what, words in told.items() if scope[what]]
        if parts:
            paper.print(Text(printable(f"{name}: {', '.join(parts)}")))
        for what, words in told.items():
            if names := scope.get(f"{what}_names"):
                paper.print(Text(printable(f"  {words}: {', '.join(names)}")))
    for obligation, words in SAYS.items():
        _show_obligation(paper, found, obligation, words)
    for caveat in found["caveats"]:
        paper.print(Text(printable(f"caveat: {caveat}"), style="dim"))
    _close(paper, found)


def _show_obligation(paper: Console, found: Certificate, obligation: str, words: str) -> None:
    of = {
        name: scope["obligations"][obligation]
        for name, scope in found["scopes"].items()
        if obligation in scope["obligations"]
    }
    if not of:
        return
    broken = {name: each for name, each in of.items() if not each["holds"]}
    paper.print(Text.assemble(_tick(not broken), f" {words}"))
    for name, each in broken.items():
        left = each["violations"] - len(each["names"])
        more = f" and {left:,} more" if left > 0 else ""
        paper.print(Text(printable(f"  {name}: {each['violations']:,}: {'; '.join(each['names'])}{more}")))


def _books(scopes: Mapping[str, Any], *, total: Mapping[str, Any] | None = None) -> Any:
    """A line for each grain, with its sum, and whether the scope's books close."""
    rows: list[list[object]] = []
    for name, scope in [*scopes.items(), *([("all", total)] if total else [])]:
        for grain in GRAINS:
            terms = scope["terms"][grain]
            if grain == "governed" or sum(terms.values()):
                cells = [f"{terms[term]:,}" for term in TERMS]
                rows.append([name, grain, *cells, f"{sum(terms.values()):,}", *_ends(scope, grain)])
    return table(["scope", "grain", *SHORT, "sum", "rows", ""], rows)


def _ends(scope: Mapping[str, Any], grain: str) -> list[object]:
    if grain != "governed":
        return ["", ""]
    return [f"{scope['rows']:,}", _tick(scope["balanced"]) if "balanced" in scope else ""]


def _tick(well: bool) -> Text:
    return Text("✓", style="bold green") if well else Text("✗", style="bold red")


def _close(paper: Console, found: Mapping[str, Any]) -> None:
    paper.print(Text.assemble(_tick(found["balanced"]), (_words(found), "bold")))


def _words(found: Mapping[str, Any]) -> str:
    """Both are always stated."""
    return "".join(f" {'' if found[word] else 'not '}{word}," for word in ("balanced", "complete")).rstrip(",")


def _show_merged(paper: Console, merged: Mapping[str, Any]) -> None:
    paper.print(_books(merged["scopes"], total=merged["total"]))
    paper.print(f"{len(merged['databases'])} databases")
    _close(paper, merged)


def _tell(paper: Console, found: Certificate, checked: Checked) -> None:
    signed = checked.signed
    words = "not signed"
    if signed.is_signed:
        whose = "by the key that was given" if signed.is_vouched else "by a key that is not vouched for"
        words = f"signed {whose}, {signed.fingerprint}"
    paper.print(Text.assemble(_tick(True), f" intact: sha256 {checked.sha256}"))
    paper.print(Text.assemble(_tick(True), f" {words}") if signed.is_signed else Text(words))
    if checked.sequence is not None:
        paper.print(Text.assemble(_tick(True), f" number {checked.sequence} of the chain of this database"))
    for again in checked.scopes:
        words = (
            f" {again.scope}: {again.rows:,} of {again.of_rows:,} rows and {again.candidates:,} of "
            f"{again.of_candidates:,} candidates have not changed since"
        )
        agreeing = ", and agree" if not again.disagreements else f": {'; '.join(again.disagreements)}"
        paper.print(Text.assemble(_tick(not again.disagreements), printable(words + agreeing)))
    for note in checked.notes:
        paper.print(Text(printable(f"note: {note}")))
    for warning in checked.warnings:
        paper.print(Text.assemble(("!", "bold yellow"), printable(f" {warning}")))
    for problem in checked.problems:
        paper.print(Text.assemble(_tick(False), printable(f" {problem}")))
    paper.print(Text(f"it said:{_words(found)}, {printable(str(found['proved_at']))}"))


def _plain(checked: Checked) -> dict[str, Any]:
    return {
        "sha256": checked.sha256,
        "signed": checked.signed,
        "sequence": checked.sequence,
        "notes": checked.notes,
        "warnings": checked.warnings,
        "problems": checked.problems,
        "scopes": checked.scopes,
    }
