"""A real `oneroof run` beside us, and what the kernel says of it: its memory at its highest, its time on the cores."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def running(*words: str, dsn: str) -> Iterator[subprocess.Popen[bytes]]:
    """`oneroof run …` until the block is over; asked to end, and waited for."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ONEROOF_", "PG"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "oneroof", "run", *words],
        env={**environment, "ONEROOF_DSN": dsn},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.terminate()
        _, complaint = process.communicate(timeout=60)
    assert process.returncode == 0, complaint.decode()


def peak_memory(process: subprocess.Popen[bytes]) -> int:
    """Bytes a process had resident at most, watched to its end.

    Not ru_maxrss, which begins with what the parent had when it forked.
    """
    highest = 0
    while process.poll() is None:
        highest = max(highest, _status(process.pid, "VmHWM"))
        sleep(0.02)
    return highest * 1024


def cpu_seconds(pid: int) -> float:
    """Time a process has spent on the cores, in the system's ticks; 0 once it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def _status(pid: int, name: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)
