"""`oneroof trace KEY`: the whole story of one object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.errors import printable
from oneroof.reads.trace import Candidate, Story, trace

HELPS = "`oneroof run periodic_full_audit --until-idle` finds out what became of it, and `oneroof prove` tells the rest"


def register(app: typer.Typer) -> None:
    app.command(name="trace")(tell)


def tell(
    ctx: typer.Context, key: str = typer.Argument(help="A candidate key, such as customer_records:CUST-000001.")
) -> None:
    """Why an object has the verdict it has: its row, its facts, the rule that decided, what it was before and why that
    ended, and the findings it is one of.
    """
    session: Session = ctx.obj
    story = trace(session.connect_installed(), key)
    session.emit(story, lambda out: _show(out, story))


def _show(out: Console, story: Story) -> None:
    this = story.candidate
    out.print(Text.assemble((printable(this.candidate_key), "bold"), f"  {_words(this)}"))
    decided = f"by {this.rule_code}: {story.rules.get(this.rule_code, '')}" if this.rule_code else "by no rule yet"
    out.print(table(["", ""], [*_about(this, decided, story), *_facts(this.facts)]))
    out.print(Text("row", style="bold"))
    if story.row is None:
        why = f"cannot be read: {story.unreadable}" if story.unreadable else "is not shown by the source now"
        out.print(Text(printable(f"row {this.source_key} {why}")))
        if this.verdict != "retired":
            out.print(Text(HELPS))
    else:
        out.print(table(["column", "value"], list(story.row.items())))
    if story.history:
        out.print(Text("before", style="bold"))
        cells = [
            (
                h.ended_at,
                _reason(h.verdict, h.undecided_reason),
                h.ended_because,
                h.change_number,
                h.ruleset_version[:12],
            )
            for h in story.history
        ]
        out.print(table(["until", "verdict", "ended because", "change", "ruleset"], cells))
    if story.findings:
        out.print(Text("findings", style="bold"))
        told = [(f.issue_type, f.severity, f.owner_ref, f.title, f.first_seen_at) for f in story.findings]
        out.print(table(["type", "severity", "owner", "what", "since"], told))


def _about(this: Candidate, decided: str, story: Story) -> Iterator[tuple[str, object]]:
    yield "decided", decided
    yield "input", f"{this.input_state}, by {this.input_rule}" if this.input_rule else this.input_state
    yield "scanned", this.scan_time
    yield "holds until", this.stale_after
    yield "ruleset", this.ruleset_version
    yield "snapshot", this.snapshot_ref
    yield "source", f"{this.source_name}, row {this.source_key}, change {this.change_number}"
    yield "group", f"{this.group_key} ({this.grain})"
    if this.dirty:
        yield "dirty", f"{this.dirty_reason}, since {this.dirtied_at}"
    if story.stands_for:
        yield "stands for", story.stands_for


def _facts(facts: dict[str, Any] | None) -> Iterator[tuple[str, object]]:
    for section, value in (facts or {}).items():
        if isinstance(value, dict):
            said = ", ".join(f"{name} {_plain(fact)}" for name, fact in value.items())
            yield f"fact {section}", said
        else:
            yield f"fact {section}", value


def _plain(fact: object) -> str:
    return "unknown" if fact is None else str(fact).lower() if isinstance(fact, bool) else str(fact)


def _words(this: Candidate) -> str:
    return _reason(this.verdict, this.undecided_reason)


def _reason(verdict: str, reason: str | None) -> str:
    return f"{verdict}: {reason}" if reason else verdict
