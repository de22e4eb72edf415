"""`oneroof doctor`: can oneroof live here, and what can it promise?"""

from __future__ import annotations

import typer
from rich.console import Console
from rich.text import Text

from oneroof.cli.paper import table
from oneroof.cli.session import Session
from oneroof.install import doctor as examination

STYLE = {"ok": "green", "note": "cyan", "warn": "yellow", "fail": "bold red"}


def register(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(ctx: typer.Context) -> None:
    """Examine a database without changing it: server, substrate, privileges, and the guarantee each source can have.

    Exit 0 if nothing fails, else 1. Works on any DSN, installed or not.
    """
    session: Session = ctx.obj
    report = examination.examine(session.connect())
    session.emit(
        {"well": report.well, "checks": report.checks, "guarantees": report.guarantees},
        lambda out: show(out, report),
    )
    if not report.well:
        raise typer.Exit(1)


def show(out: Console, report: examination.Report) -> None:
    """The report as a table, section by section."""
    _show(out, report.checks)
    out.print("well" if report.well else "not well")


def show_briefly(out: Console, report: examination.Report) -> None:
    """What is not as it should be, and how much was looked at."""
    odd = [check for check in report.checks if check.verdict in ("warn", "fail")]
    if odd:
        _show(out, odd)
    out.print(f"{'well' if report.well else 'not well'}: {len(report.checks)} checks, {len(odd)} to look at")


def _show(out: Console, checks: list[examination.Check]) -> None:
    rows = [
        (check.section, check.name, Text(check.verdict, style=STYLE[check.verdict]), check.detail, check.hint)
        for check in checks
    ]
    out.print(table(["section", "check", "", "found", "what helps"], rows))
