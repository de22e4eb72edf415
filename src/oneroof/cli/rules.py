"""`oneroof rules list | import | export | diff | check | activate | test`: edited by one, activated by two."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from oneroof.cli.approvals import requested
from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.database.connection import Connection
from oneroof.errors import OneroofError, Usage
from oneroof.judgement import ruleset, ruleset_cases, ruleset_check
from oneroof.judgement.ruleset import Rule, Which
from oneroof.judgement.ruleset_check import Check, Oddity
from oneroof.people import requests

app = typer.Typer(
    help="What makes a verdict. The working copy is edited with import; it judges nothing until another person "
    "approves its activation.",
    no_args_is_help=True,
)
ACTIVE = typer.Option(False, "--active", help="The active ruleset, not the working copy.")
# Warnings that are printed beside another result.
MOST = 10


@app.command("list")
def list_rules(ctx: typer.Context, active: bool = ACTIVE) -> None:
    """The rules in the order in which they are asked: the first that matches decides the input state, the first that
    matches decides the verdict, and every finding rule that matches adds its finding.
    """
    session: Session = ctx.obj
    found = ruleset.listing(session.connect_installed(), _which(active))
    columns = ["kind", "priority", "rule", "gives", "scope", "predicate", "enabled"]
    cells = [
        (
            r.rule_kind,
            r.priority,
            r.rule_code,
            _gives(r),
            json.dumps(r.scope) if r.scope else "",
            r.predicate,
            r.enabled,
        )
        for r in found
    ]
    session.emit(found, lambda out: out.print(table(columns, cells) if found else "there are no rules"))


@app.command("import")
def import_rules(
    ctx: typer.Context,
    file: Path = typer.Argument(help="A file as `oneroof rules export` writes it, or the same as JSON."),
) -> None:
    """Make FILE the working copy, whole or not at all: a rule that is not in it is no longer in the working copy.

    Predicates are PostgreSQL's jsonpath over an object's facts, such as $.owners.policy == 0. Nothing is judged by them
    before `oneroof rules activate` and another person's approval. What may be a mistake is warned of, as by
    `oneroof rules check`.
    """
    session: Session = ctx.obj
    connection = session.connect_installed()
    changed = ruleset.import_file(connection, file)
    count = len(ruleset.listing(connection))
    session.emit(
        {"file": str(file), "rules": count, "changed": changed, "warnings": _warn(session, connection)},
        lambda out: out.print(
            f"the working copy has the {count} rules of {file}" + ("" if changed else ", as it had before")
        ),
    )


@app.command()
def export(ctx: typer.Context, file: Path = typer.Argument(help="A file that does not exist yet.")) -> None:
    """Write the working copy to FILE, for review and for import; predicates are in the server's own form."""
    session: Session = ctx.obj
    connection = session.connect_installed()
    text = ruleset.export(connection)
    try:
        with file.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except (OSError, ValueError) as error:
        raise Usage(f"cannot write {file}: {getattr(error, 'strerror', None) or error}") from None
    count = len(ruleset.listing(connection))
    session.emit({"file": str(file), "rules": count}, lambda out: out.print(f"{count} rules are in {file}"))


@app.command()
def diff(ctx: typer.Context) -> None:
    """What an activation would change: rules, field by field, and the host's detectors and axes."""
    session: Session = ctx.obj
    found = ruleset.difference(session.connect_installed())
    cells = [(c.rule_code, c.change, c.field, _brief(c.active), _brief(c.working)) for c in found.changes]
    for registry, part, added, removed in (
        ("measurement_registry", "detectors", found.detectors_added, found.detectors_removed),
        ("pivot_definitions", "axes", found.axes_added, found.axes_removed),
    ):
        if added or removed:
            cells.append((registry, "changed", part, "", f"{added} new or changed, {removed} gone or changed"))
    session.emit(
        found,
        lambda out: out.print(
            table(["rule", "change", "field", "active", "working copy"], cells)
            if cells
            else f"the working copy is the active ruleset {found.active_version}"
        ),
    )


@app.command()
def check(ctx: typer.Context, active: bool = ACTIVE) -> None:
    """Ask every enabled rule about all facts that are known: how many are in its scope, match and are decided by it.

    A word warns of what may be a mistake: never (it matches nothing), always (it matches everything and is not the last
    that is asked), shadowed (rules before it decide all that it matches). The exit code is 0 all the same.
    """
    session: Session = ctx.obj
    found = ruleset_check.check(session.connect_installed(), _which(active))
    session.emit(found, lambda out: _show(out, found))


@app.command()
def activate(ctx: typer.Context, reason: str = typer.Option(..., help="Why, for the person who decides.")) -> None:
    """Ask for the working copy to become the active ruleset.

    Another person approves with `oneroof approvals approve ID`. The request is bound to the hash of the rules as they
    are now; an edit after it voids it. What may be a mistake is warned of, as by `oneroof rules check`.
    """
    session: Session = ctx.obj
    connection = session.connect_installed()
    found = requests.find(connection, ruleset.request_activation(connection, reason=reason))
    requested(session, found, warnings=_warn(session, connection))


@app.command("test")
def ask_cases(
    ctx: typer.Context,
    file: Path = typer.Argument(
        help="A file of cases: facts, and the verdict, input_state or findings expected of them."
    ),
    active: bool = ACTIVE,
) -> None:
    """Ask the working copy about every case of FILE and print each difference; exit 1 if there is any.

    A case is `- case: a name`, `facts: {"owners": {"policy": 0}}` and what is expected: verdict, undecided_reason,
    rule, input_state, findings. Facts that it leaves out are those of an ordinary covered object.
    """
    session: Session = ctx.obj
    outcome = ruleset_cases.run(session.connect_installed(), file, which=_which(active))
    cells = [(d.case, d.what, _brief(d.expected), _brief(d.found)) for d in outcome.differences]
    session.emit(
        outcome,
        lambda out: out.print(
            table(["case", "what", "expected", "found"], cells)
            if cells
            else f"all {outcome.cases} cases are as expected"
        ),
    )
    if outcome.differences:
        raise typer.Exit(1)


def _warn(session: Session, connection: Connection) -> list[Oddity]:
    """Say which rules of the working copy may be mistakes; what was done is done, whatever comes of this."""
    try:
        found = ruleset_check.check(connection).warnings
    except OneroofError as error:
        session.say(f"warning: {error}; oneroof rules check tries again")
        return []
    shown = [warning for warning in found if not warning.is_patient][:MOST]
    for warning in shown:
        session.say(f"warning: {warning.text}")
    if len(found) > len(shown):
        session.say(f"{len(found)} warnings in all, {len(shown)} shown; the rest: oneroof rules check")
    return found


def _show(out: Console, found: Check) -> None:
    if not found.known:
        out.print("no facts are known yet that rules could be asked about; they come with: oneroof run --until-idle")
        return
    columns = ["kind", "priority", "rule", "in scope", "matches", "decides", ""]
    cells = [(r.rule_kind, r.priority, r.rule_code, r.in_scope, r.matches, r.decides, r.word) for r in found.rules]
    out.print(table(columns, cells))
    of = f"{found.fact_sets} fact sets and {found.objects} single objects"
    sample = f" (a sample: there are more than {ruleset_check.MOST} of them)" if found.is_sample else ""
    out.print(f"asked about {of}{sample}; {len(found.warnings)} of {len(found.rules)} rules have a warning")


def _which(active: bool) -> Which:
    return "active" if active else "working"


def _gives(rule: Rule) -> str:
    given = rule.input_state or rule.verdict or rule.finding_type or ""
    return f"{given}: {rule.undecided_reason}" if rule.undecided_reason else given


def _brief(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case {"rule_code": _, "predicate": predicate}:
            return str(predicate)
        case _:
            return json.dumps(value, ensure_ascii=False)
