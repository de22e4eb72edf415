"""`make bench`: every benchmark in one run, on a durable server of its own, as a table of ratios.

A ratio is ours over bare, interleaved, by medians; an absolute time says nothing on a machine one does not know. The
facts of the machine are kept beside the figures in `bench/results/`.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import again, backfill, backlog, coverage, estate, frontier, handoff, idle, memory, tail
from bench.figure import Figure
from bench.ground import Trial
from oneroof import __version__
from oneroof.embedded.server import EmbeddedServer

RESULTS = Path(__file__).parent / "results"
# When each transaction committed, which is how the tail is measured.
# A server of the size that an estate of a million would have. One that has run for a while reuses the files of its log;
# in a new one every commit would wait, again and again, until the next file is filled with zeros.
SERVER = {"track_commit_timestamp": "on", "shared_buffers": "1GB", "wal_init_zero": "off"}
BENCHES: dict[str, Callable[[Trial], list[Figure]]] = {
    "estate": estate.run,
    "backfill": backfill.run,
    "coverage": coverage.run,
    "memory": memory.run,
    "again": again.run,
    "frontier": frontier.run,
    "idle": idle.run,
    "backlog": backlog.run,
    "tail": tail.run,
    "handoff": handoff.run,
}


def facts(server: EmbeddedServer) -> dict[str, object]:
    """What the figures depend on."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "oneroof": __version__,
        "postgresql": server.binaries.version,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }


def main() -> int:
    """Run, print, keep; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_037_724, help="births in the estate")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved pairs")
    parser.add_argument("--only", choices=BENCHES, action="append", metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--long", action="store_true", help="also sweep an estate of five million")
    wanted = parser.parse_args()
    # As `oneroof run` does.
    gc.freeze()
    with (
        tempfile.TemporaryDirectory(prefix="or-") as home,
        EmbeddedServer.open(home=Path(home), linger=0, overrides=SERVER) as server,
    ):
        known = facts(server)
        trial = Trial(server, rows=wanted.rows, rounds=wanted.rounds, is_long=wanted.long)
        figures = [figure for name in wanted.only or BENCHES for figure in BENCHES[name](trial)]
    out = Console(soft_wrap=True, highlight=False)
    out.print(" · ".join(f"{name} {value}" for name, value in known.items()))
    table = Table("what", "figure", "goal", "", box=None, pad_edge=False)
    for figure in figures:
        table.add_row(figure.name, figure.shown, figure.wanted, "ok" if figure.is_met else "short")
    out.print(table)
    RESULTS.mkdir(exist_ok=True)
    kept = {**known, "rows": wanted.rows, "rounds": wanted.rounds, "figures": [asdict(each) for each in figures]}
    (RESULTS / f"{datetime.now(UTC):%Y%m%dT%H%M%S}.json").write_text(json.dumps(kept, indent=2) + "\n")
    return 0 if all(figure.is_met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
