"""Draining a backlog: births written while the intake was down, against L over the same rows."""

from __future__ import annotations

from statistics import median
from time import monotonic

from bench.figure import Figure
from bench.ground import CANDIDATES, Ground, Trial, say
from oneroof.database.statements import one
from oneroof.runtime.progress import Report
from oneroof.workers import handoff_intake, handoff_signals

BACKLOG = 200_000
BORN = """INSERT INTO public.birth_registry (collection_name, entity_code, species_code, governance_role, born_at)
          SELECT 'bench_backlog', 'BKL-' || n, 'SPC-01', 'leaf', now() FROM generate_series(1, %s) AS n"""


def run(trial: Trial) -> list[Figure]:
    """L over the backlog and the intake over the backlog, in turn; what a round has written is taken away again."""
    ground = trial.ground()
    ground.complete()
    ground.run([handoff_intake.NAME])
    rows = min(BACKLOG, max(ground.rows // 5, 1))
    bare, ours = [], []
    for number in trial.each_round():
        (last,) = one(ground.admin, "SELECT max(id) FROM public.birth_registry")
        ground.admin.execute(BORN, (rows,))
        bare.append(ground.time_bare(beyond=last))
        ours.append(drain(ground, rows))
        say(f"round {number}: L {rows / bare[-1]:,.0f} rows/s, intake {rows / ours[-1]:,.0f} rows/s")
        take_away(ground, last)
    ratio = median(bare) / median(ours)
    return [Figure(name=f"backlog of {rows:,}, intake / L, rows/s", value=ratio, goal=0.35, is_floor=True)]


def take_away(ground: Ground, last: int) -> None:
    """What a round has written beyond a birth."""
    ground.admin.execute("DELETE FROM public.birth_registry WHERE id > %s", (last,))
    ground.admin.execute(f"DELETE FROM {CANDIDATES} WHERE candidate_key LIKE 'bench_backlog:%'")
    ground.settle()
    ground.run([handoff_intake.NAME])


def drain(ground: Ground, rows: int, *, with_signals: bool = False) -> float:
    """Seconds until the last row of the backlog was applied, and told of if that is asked; the passes that then find
    nothing are not its cost.
    """
    ground.admin.execute("CHECKPOINT")
    began, applied, ended = monotonic(), 0, 0.0

    def tell(report: Report) -> None:
        nonlocal applied, ended
        is_signal = report.executor.endswith(f"/{handoff_signals.PART}")
        if report.step is not None and report.step.written and (with_signals or not is_signal):
            applied, ended = applied + (0 if is_signal else report.step.written), monotonic()

    ground.run([handoff_intake.NAME], tell=tell)
    assert applied == rows, (applied, rows)
    return ended - began
