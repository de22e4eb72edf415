"""A sweep of what is done: with nothing to do, and as a replay that reads everything again and changes nothing."""

from __future__ import annotations

from statistics import median

from bench.figure import Figure
from bench.ground import SOURCE, Trial, say
from oneroof.database.statements import one
from oneroof.database.transaction import transaction
from oneroof.fence import cursor
from oneroof.workers import backfill_sweep


def run(trial: Trial) -> list[Figure]:
    """L, a run with nothing to do and a replay, in turn."""
    ground = trial.ground()
    ground.complete()
    bare, nothing, replay, wal = [], [], [], []
    for number in trial.each_round():
        bare.append(ground.time_bare())
        ground.settle()
        nothing.append(ground.sweep())
        with transaction(ground.admin, doing="rewinding"):
            cursor.rewind(ground.admin, worker=backfill_sweep.NAME, source=SOURCE)
        ground.admin.execute("CHECKPOINT")
        (before,) = one(ground.admin, "SELECT pg_current_wal_insert_lsn()")
        replay.append(ground.sweep())
        (written,) = one(ground.admin, "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)::float8", (before,))
        wal.append(written / ground.rows)
        ground.check()
        say(
            f"round {number}: L {bare[-1]:.2f} s, nothing {nothing[-1]:.3f} s, replay {replay[-1]:.2f} s, "
            f"{wal[-1]:.1f} bytes of WAL a row"
        )
    return [
        Figure(name="re-run with nothing to do / L", value=median(nothing) / median(bare), goal=0.02),
        Figure(name="replay over a complete state / L", value=median(replay) / median(bare), goal=1.0),
        Figure(name="replay, WAL a row", value=median(wal), goal=60, unit="bytes"),
    ]
