"""The first sweep against L: by one worker, in two ranges, its worst batch, and its time per row in a longer table.

The same without verdicts is what the worker family costs by itself: no facts are learned before, so that every
candidate waits for the gate, and L has the words of such rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from time import monotonic
from unittest.mock import patch

from bench.figure import Figure
from bench.ground import CANDIDATES, HUGE, PENDING, Ground, Trial, say
from oneroof.database.statements import one
from oneroof.fence.step import Step
from oneroof.judgement import fact_sets
from oneroof.workers.backfill_sweep import BackfillSweep


def run(trial: Trial) -> list[Figure]:
    """L, one worker, two ranges and the smaller estate, in turn; then without verdicts."""
    ground, small = trial.ground(), trial.small()
    bare, alone, two, few = [], [], [], []
    batches: list[float] = []
    for number in trial.each_round():
        bare.append(ground.time_bare())
        with _timed(batches):
            alone.append(_sweep(ground))
            two.append(_sweep(ground, shards=2))
        few.append(_sweep(small))
        say(f"round {number}: L {bare[-1]:.2f} s, one {alone[-1]:.2f} s, two {two[-1]:.2f} s, small {few[-1]:.2f} s")
    say(f"batches: median {1000 * median(batches):.0f} ms, worst {1000 * max(batches):.0f} ms of {len(batches)}")
    figures = [
        Figure(name="backfill with verdicts, one worker / L", value=median(alone) / median(bare), goal=1.5),
        Figure(name="backfill with verdicts, two ranges / L", value=median(two) / median(bare), goal=1.05),
        Figure(name="backfill, worst batch", value=1000 * max(batches), goal=500, unit="ms"),
        _growth(small, median(few), ground, median(alone)),
        *_unjudged(trial, ground),
    ]
    if trial.is_long:
        long = trial.ground(HUGE)
        figures.append(_growth(small, median(few), long, median(_sweep(long) for _ in range(3))))
        trial.drop(HUGE)
    return figures


def _unjudged(trial: Trial, ground: Ground) -> list[Figure]:
    bare, alone, two = [], [], []
    with patch.object(fact_sets, "sample", lambda *_, **__: None):
        for number in trial.each_round():
            bare.append(ground.time_bare(words=PENDING))
            alone.append(_sweep(ground))
            two.append(_sweep(ground, shards=2))
            say(f"without verdicts, round {number}: L {bare[-1]:.2f} s, one {alone[-1]:.2f} s, two {two[-1]:.2f} s")
    (judged,) = one(ground.admin, f"SELECT count(*) FROM {CANDIDATES} WHERE NOT dirty")
    assert judged == 0
    return [
        Figure(name="backfill without verdicts, one worker / L", value=median(alone) / median(bare), goal=1.35),
        Figure(name="backfill without verdicts, two ranges / L", value=median(two) / median(bare), goal=0.95),
    ]


def _sweep(ground: Ground, *, shards: int = 1) -> float:
    ground.forget()
    seconds = ground.sweep(shards=shards)
    ground.check()
    return seconds


def _growth(few: Ground, few_seconds: float, many: Ground, many_seconds: float) -> Figure:
    ratio = (many_seconds / many.rows) / (few_seconds / few.rows)
    return Figure(name=f"backfill, time per row, {many.rows:,} / {few.rows:,} rows", value=ratio, goal=1.3)


@contextmanager
def _timed(batches: list[float]) -> Iterator[None]:
    """Note how long each step of a sweep takes, as the lane calls it."""
    plain = BackfillSweep.run_once

    def timed(sweep: BackfillSweep) -> Step:
        began = monotonic()
        step = plain(sweep)
        batches.append(monotonic() - began)
        return step

    with patch.object(BackfillSweep, "run_once", timed):
        yield
