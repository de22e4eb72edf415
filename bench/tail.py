"""The tail, from commit to applied: sixteen writers at a rate, a real `oneroof run handoff_intake`, no row missed.

A writer notes the time when COMMIT has returned. When a candidate was applied is the commit time that the server keeps
of the transaction that wrote it (`track_commit_timestamp`): taken where a commit becomes visible, in microseconds, by
the same clock, and read when all is over, so that nobody looks on and takes a core's time from those who work. The time
from the writer's own commit record is told beside it: no scheduling delay of a writer can make that one shorter. A
plain poller under the same load shows what the machine allows.
"""

from __future__ import annotations

import multiprocessing
from statistics import median
from time import monotonic, sleep

from bench import writer
from bench.figure import Figure
from bench.ground import CANDIDATES, Ground, Trial, say
from bench.poller import POLLED, polling
from bench.process import running
from oneroof.database.statements import one

WRITERS = 16
SECONDS = 15.0
# A lane that was quiet looks once a second: the first moment of a load is not what a steady one meets.
WARM = 2.0
RATES = ((1_000, 60.0), (10_000, 150.0))

APPLIED = """SELECT b.entity_code, extract(epoch FROM pg_xact_commit_timestamp(b.xmin))::float8,
                      extract(epoch FROM pg_xact_commit_timestamp(c.xmin))::float8
              FROM public.birth_registry AS b
              LEFT JOIN {into} AS c ON c.candidate_key = b.collection_name || ':' || b.entity_code
              WHERE b.id > %s AND b.collection_name = %s"""


def run(trial: Trial) -> list[Figure]:
    """Both rates in turn, some rounds of them, on an estate that has been swept; the median of the rounds."""
    ground = trial.ground()
    ground.complete()
    figures = []
    missed = 0
    with running("handoff_intake", dsn=ground.dsn):
        await_start(ground)
        found: dict[int, list[float]] = {rate: [] for rate, _ in RATES}
        for turn in range(trial.rounds):
            for rate, _ in RATES:
                delays, lost = load(ground, rate=rate, turn=turn)
                missed += lost
                found[rate].append(1000 * quantile(delays, 0.99))
    for rate, goal in RATES:
        name = f"tail at {rate:,} rows/s, commit to applied, p99"
        figures.append(Figure(name=name, value=median(found[rate]), goal=goal, unit="ms"))
    figures.append(Figure(name="tail, rows missed", value=missed, goal=0, unit="rows"))
    clean(ground)
    for rate, _ in RATES:
        with polling(ground):
            delays, _ = load(ground, rate=rate, into=POLLED, patience=5)
        say(f"a plain poller at {rate:,} rows/s: p99 {1000 * quantile(delays, 0.99):.1f} ms")
    clean(ground)
    return figures


def await_start(ground: Ground) -> None:
    """Until the intake follows every source."""
    _await(
        ground,
        "SELECT count(*) = (SELECT count(*) FROM oneroof.governance_source) FROM oneroof.gov_worker_cursor"
        " WHERE worker_name = 'gov_handoff_intake' AND frontier IS NOT NULL",
    )


def load(
    ground: Ground, *, rate: int, turn: int = 0, into: str = CANDIDATES, patience: float = 300.0
) -> tuple[list[float], int]:
    """Write at a rate; how long each row took into a table, and how many never came. A load begins when all that came
    before it is told: the signals of an earlier one are no part of it.
    """
    _await(ground, "SELECT NOT EXISTS (SELECT FROM oneroof.governance_untold)", seconds=patience)
    (last,) = one(ground.admin, "SELECT max(id) FROM public.birth_registry")
    ground.calm()
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["bench.__main__"])
    ready, committed = forks.Barrier(WRITERS), forks.Queue()
    share = writer.Share(
        dsn=ground.dsn,
        collection=f"bench_tail_{rate}_{turn}",
        rate=rate / WRITERS,
        seconds=WARM + SECONDS,
        is_single=rate <= 1_000,
    )
    writers = [forks.Process(target=writer.write, args=(share, n, ready, committed)) for n in range(WRITERS)]
    for each in writers:
        each.start()
    notes = [note for _ in writers for note in committed.get(timeout=WARM + SECONDS + 60)]
    for each in writers:
        each.join()
    rows = sum(count for _, _, count in notes)
    left = f"""SELECT NOT EXISTS (SELECT FROM public.birth_registry AS b WHERE b.id > {last} AND NOT EXISTS (
                 SELECT FROM {into} AS c WHERE c.candidate_key = b.collection_name || ':' || b.entity_code))"""
    _await(ground, left, seconds=patience)
    began = min(at for _, at, _ in notes)
    returned = {code: at for code, at, _ in notes}
    found = ground.admin.execute(APPLIED.format(into=into), (last, share.collection)).fetchall()
    lost = rows - sum(applied is not None for _, _, applied in found)
    warm = [
        (returned[code.rpartition("-")[0]], recorded, applied)
        for code, recorded, applied in found
        if applied is not None and returned[code.rpartition("-")[0]] > began + WARM
    ]
    delays = [max(0.0, applied - at) for at, _, applied in warm]
    longest = [applied - recorded for _, recorded, applied in warm]
    say(
        f"tail at {rate:,}: {rows / (WARM + SECONDS):,.0f} rows/s in {len(notes):,} transactions, "
        f"{_spread(delays)}; from the commit record {_spread(longest)}; {lost} missed"
    )
    return delays, lost


def _await(ground: Ground, condition: str, *, seconds: float = 300.0) -> None:
    """Wait for it; what has not come by then is counted as missed."""
    deadline = monotonic() + seconds
    while not one(ground.admin, condition)[0] and monotonic() < deadline:
        sleep(0.5)


def clean(ground: Ground) -> None:
    ground.admin.execute("DELETE FROM public.birth_registry WHERE collection_name LIKE 'bench_tail_%'")
    ground.admin.execute(f"DELETE FROM {CANDIDATES} WHERE candidate_key LIKE 'bench_tail_%'")
    ground.settle()


def _spread(delays: list[float]) -> str:
    return ", ".join(f"{word} {1000 * quantile(delays, q):.1f}" for word, q in _QUANTILES) + " ms"


_QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("most", 1.0))


def quantile(values: list[float], q: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]
