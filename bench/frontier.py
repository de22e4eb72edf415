"""A frontier pass over rows that have not changed, against a bare count(*) of the table; neither in parallel.

The worker is called without a rest, so that the next window opens as soon as one has closed: a pass is the time from
one closing to the next, with its opening, its pieces, the fast lane's looks in between, and its closing.
"""

from __future__ import annotations

from statistics import median
from time import monotonic

from bench.figure import Figure
from bench.ground import SOURCE, Trial, say, serially
from oneroof.database.connection import allow_preparing
from oneroof.fence import lease
from oneroof.workers import handoff_intake
from oneroof.workers.handoff_intake import HandoffIntake

# Of each in a round: both are over in a moment.
TIMES = 5


def run(trial: Trial) -> list[Figure]:
    """count(*) and passes, in turn."""
    ground = trial.ground()
    ground.complete()
    bare, ours = [], []
    with ground.dial() as connection, serially(connection):
        # As a lane does.
        allow_preparing(connection)
        executor = lease.executor_name(handoff_intake.NAME, SOURCE)
        held = lease.claim(connection, executor, instance="bench")
        intake = HandoffIntake(connection, ground.source, held, sweep_interval=0)
        _pass(intake)
        steps = 0
        for _ in trial.each_round():
            for _ in range(TIMES):
                began = monotonic()
                connection.execute("SELECT count(*) FROM public.birth_registry")
                bare.append(monotonic() - began)
                began = monotonic()
                steps = _pass(intake)
                ours.append(monotonic() - began)
        lease.release(connection, held)
    say(f"count {1000 * median(bare):.1f} ms, pass {1000 * median(ours):.1f} ms in {steps} steps")
    return [Figure(name="frontier pass over unchanged rows / count(*)", value=median(ours) / median(bare), goal=2.0)]


def _pass(intake: HandoffIntake) -> int:
    """Call until another window has closed; how many calls it took."""
    closed, steps = intake.windows_closed, 0
    while intake.windows_closed == closed:
        intake.run_once()
        steps += 1
    return steps
