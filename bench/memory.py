"""The memory of a worker process: a real `oneroof run backfill_sweep --until-idle`, at two sizes of the estate."""

from __future__ import annotations

from bench.figure import Figure
from bench.ground import Ground, Trial, say
from bench.process import peak_memory, running

MEBIBYTE = 2**20


def run(trial: Trial) -> list[Figure]:
    """The highest it was, and how much higher in the larger estate."""
    small, full = _peak(trial.small()), _peak(trial.ground())
    return [
        Figure(name="backfill, memory of the process", value=max(small, full) / MEBIBYTE, goal=64, unit="MiB"),
        Figure(name="backfill, memory in the larger / smaller estate", value=full / small, goal=1.1),
    ]


def _peak(ground: Ground) -> int:
    ground.forget()
    with running("backfill_sweep", "--until-idle", dsn=ground.dsn) as process:
        highest = peak_memory(process)
    ground.check()
    say(f"{ground.rows:,} rows: {highest / MEBIBYTE:.1f} MiB")
    return highest
