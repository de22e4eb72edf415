"""What all workers together cost while nothing happens: time on the cores of `oneroof run` and of its sessions."""

from __future__ import annotations

from time import monotonic, sleep

from bench.figure import Figure
from bench.ground import Ground, Trial, say
from bench.process import cpu_seconds, running
from oneroof.runtime.supervisor import NAMES

SECONDS = 20.0
# Long enough for the first windows to close and the lanes to have grown quiet.
CALM = 15.0


def run(trial: Trial) -> list[Figure]:
    """As a share of one core."""
    ground = trial.ground()
    ground.complete()
    # What other benchmarks have left to do is not idle.
    ground.run(list(NAMES))
    with running(dsn=ground.dsn) as process:
        sleep(CALM)
        sessions = _sessions(ground)
        before, began = {pid: cpu_seconds(pid) for pid in (process.pid, *sessions)}, monotonic()
        sleep(SECONDS)
        used = {pid: cpu_seconds(pid) - spent for pid, spent in before.items()}
        seconds = monotonic() - began
        assert _sessions(ground) == sessions
    ours = used.pop(process.pid)
    say(
        f"idle: {ours:.2f} s in the process, {sum(used.values()):.2f} s in {len(sessions)} sessions, of {seconds:.0f} s"
    )
    share = (ours + sum(used.values())) / seconds
    return [Figure(name="idle, all workers, of one core", value=100 * share, goal=3, unit="%")]


def _sessions(ground: Ground) -> list[int]:
    found = ground.admin.execute(
        """SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname = current_database()
           AND application_name = 'oneroof' ORDER BY pid"""
    )
    return [int(pid) for (pid,) in found]
