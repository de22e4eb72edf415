"""`make bench`: every benchmark in one run, on a durable server of its own, as a table of ratios.

A ratio is ours over bare, interleaved, by medians; an absolute time says nothing on a machine one does not know. The
facts of the machine are kept beside the figures in `bench/results/`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import estate
from oneroof import __version__
from oneroof.embedded import EmbeddedServer

RESULTS = Path(__file__).parent / "results"


def facts(server: EmbeddedServer) -> dict[str, object]:
    """What the figures depend on."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "oneroof": __version__,
        "postgresql": server.binaries.version,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
    }


def main() -> int:
    """Run, print, keep; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_037_724, help="births in the estate")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved pairs")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="or-") as home, EmbeddedServer.open(home=Path(home), linger=0) as server:
        known = facts(server)
        figures = [estate.run(server.dsn(), rows=wanted.rows, rounds=wanted.rounds)]
    out = Console(soft_wrap=True, highlight=False)
    out.print(" · ".join(f"{name} {value}" for name, value in known.items()))
    table = Table("what", "ratio", "goal", "", box=None, pad_edge=False)
    for name, ratio, goal in figures:
        table.add_row(name, f"{ratio:.2f}", f"≤ {goal:.2f}", "ok" if ratio <= goal else "short")
    out.print(table)
    RESULTS.mkdir(exist_ok=True)
    kept = {**known, "rows": wanted.rows, "rounds": wanted.rounds, "figures": figures}
    (RESULTS / f"{datetime.now(UTC):%Y%m%dT%H%M%S}.json").write_text(json.dumps(kept, indent=2) + "\n")
    return 0 if all(ratio <= goal for _, ratio, goal in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
