"""The handoff with its signals: births written while the intake was down, against the bare insert of the same signals;
and from commit to the dirty mark at a rate, every birth told.
"""

from __future__ import annotations

from statistics import median
from time import monotonic

from bench import backlog, tail
from bench.figure import Figure
from bench.ground import Ground, Trial, say
from bench.process import running
from oneroof.database.statements import one
from oneroof.people import gates, requests
from oneroof.signals import emission, event_types
from oneroof.workers import handoff_intake

BIRTHS = 100_000
RATE, GOAL = 5_000, 30.0
GATE = "governance.emit_enabled"
COPY = "public.bench_signals"
OURS = "event_domain = 'governance' AND source_system = 'oneroof' AND event_subject_ref LIKE 'bench_backlog:%'"


def run(trial: Trial) -> list[Figure]:
    """Both with every type of the handoff active, on an estate that has been swept."""
    ground = trial.ground()
    ground.complete()
    _activate(ground)
    ground.run([handoff_intake.NAME])
    rows = min(BIRTHS, max(ground.rows // 5, 1))
    bare, ours = [], []
    for number in trial.each_round():
        (last,) = one(ground.admin, "SELECT max(id) FROM public.birth_registry")
        ground.admin.execute(backlog.BORN, (rows,))
        ours.append(backlog.drain(ground, rows, with_signals=True))
        bare.append(_bare(ground, rows))
        say(f"round {number}: intake with signals {ours[-1]:.2f} s, bare insert of the signals {bare[-1]:.2f} s")
        backlog.take_away(ground, last)
    ratio = median(ours) / median(bare)
    delays: list[float] = []
    missed = 0
    with running("handoff_intake", dsn=ground.dsn):
        tail.await_start(ground)
        for turn in trial.each_round():
            found, lost = tail.load(ground, rate=RATE, turn=turn)
            delays.append(1000 * tail.quantile(found, 0.99))
            missed += lost
    tail.clean(ground)
    return [
        Figure(name=f"intake of {rows:,} with signals / their bare insert", value=ratio, goal=2.5),
        Figure(
            name=f"handoff at {RATE:,} changes/s, commit to dirty mark, p99", value=median(delays), goal=GOAL, unit="ms"
        ),
        Figure(name="handoff, changes missed", value=missed, goal=0, unit="rows"),
    ]


def _activate(ground: Ground) -> None:
    """Two people open the gate and activate the handoff's types."""
    if one(ground.admin, "SELECT oneroof.gov_gate_is_open(%s::text)", (GATE,))[0]:
        return
    event_types.register(ground.admin)
    with ground.dial("requester") as asking, ground.dial("approver") as deciding:
        requests.decide(deciding, gates.request(asking, GATE, reason="benchmark"), "approved")
        wanted = event_types.request_activation(asking, ["governance.handoff.*"], reason="benchmark")
        requests.decide(deciding, wanted, "approved")
    while emission.promote(ground.admin):
        pass
    # What other benchmarks have left is not what is measured.
    ground.admin.execute(f"DELETE FROM public.event_outbox WHERE {OURS}")


def _bare(ground: Ground, rows: int) -> float:
    """Seconds to insert the signals that were just made, taken away before and copied aside, as one statement."""
    ground.admin.execute(f"DROP TABLE IF EXISTS {COPY}")
    ground.admin.execute(f"CREATE TABLE {COPY} AS SELECT * FROM public.event_outbox WHERE {OURS}")
    assert one(ground.admin, f"SELECT count(*) FROM {COPY}") == (rows,)
    ground.admin.execute(f"DELETE FROM public.event_outbox WHERE {OURS}")
    ground.admin.execute("VACUUM public.event_outbox")
    ground.admin.execute("CHECKPOINT")
    began = monotonic()
    ground.admin.execute(f"INSERT INTO public.event_outbox SELECT * FROM {COPY}")
    seconds = monotonic() - began
    ground.admin.execute(f"DELETE FROM public.event_outbox WHERE {OURS}")
    ground.admin.execute(f"DELETE FROM oneroof.governance_event WHERE event_id IN (SELECT id FROM {COPY})")
    ground.admin.execute("VACUUM public.event_outbox, oneroof.governance_event")
    return seconds
