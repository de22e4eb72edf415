"""A command forked from the zygote is what a started one is: to the system, to its reader, to whoever signals it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bed import command, connect, environment, eventually, spawn
from oneroof.database.statements import one
from process import Fork, Process, zygote

# What the kernel keeps of a process and a test could meet.
KEPT = ("Umask", "Uid", "Groups", "NSpgid", "NSsid", "Threads", "SigBlk", "SigIgn", "SigCgt", "Seccomp")


@contextmanager
def living(dsn: str, *, fresh: bool) -> Iterator[Process]:
    """A command that is at work until it is told to stop."""
    births = "SELECT count(*), max(id::text) FROM birth_registry"
    with connect(dsn) as admin:
        before = one(admin, births)
        process = spawn("estate", "live", dsn=dsn, fresh=fresh)
        try:
            eventually(lambda: one(admin, births) != before, what="a change")
            yield process
        finally:
            process.kill()
            process.communicate()


def standing(process: Process) -> dict[str, object]:
    """All of it that does not differ between two processes of one kind."""
    entry = Path(f"/proc/{process.pid}")
    lines = (entry / "status").read_text().splitlines()
    open_files = {number.name: number.readlink().parts[0].split(":")[0] for number in (entry / "fd").iterdir()}
    return {
        "kept": [line.split() for line in lines if line.startswith(KEPT)],
        "folder": (entry / "cwd").readlink(),
        "limits": (entry / "limits").read_text(),
        "open": dict(sorted(open_files.items())),
    }


def test_the_system_sees_no_difference(estate_database: str) -> None:
    """Group, session, signals, descriptors, folder, limits and threads are those of a command with its interpreter."""
    with living(estate_database, fresh=True) as started, living(estate_database, fresh=False) as forked:
        assert isinstance(started, subprocess.Popen)
        assert isinstance(forked, Fork)
        assert os.getpgid(forked.pid) == os.getpgid(0)
        eventually(lambda: standing(forked) == standing(started), what="both to stand alike", seconds=5)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGABRT])
def test_a_signal_ends_both_alike(estate_database: str, number: signal.Signals) -> None:
    """With the same code, and the same last words."""
    ends = []
    for fresh in (True, False):
        with living(estate_database, fresh=fresh) as process:
            process.send_signal(number)
            out, err = process.communicate(timeout=30)
            ends.append((process.wait(), bool(out), err.splitlines()[-1:]))
    assert ends[0] == ends[1]


def test_a_signal_reaches_one_command_alone(estate_database: str) -> None:
    """Others of the same zygote do not notice, and the next one is forked as ever."""
    with living(estate_database, fresh=False) as bystander:
        with living(estate_database, fresh=False) as process:
            process.kill()
            assert process.wait(30) == -signal.SIGKILL
        assert command("--version").code == 0
        assert bystander.poll() is None


def test_whoever_waits_in_vain_is_told(estate_database: str) -> None:
    """As `subprocess` does it; what was said meanwhile is not lost."""
    with living(estate_database, fresh=False) as process:
        for wait in (process.wait, process.communicate):
            with pytest.raises(subprocess.TimeoutExpired):
                wait(timeout=0.01)
        assert process.poll() is None
        process.terminate()
        assert process.communicate(timeout=30) == process.communicate()


@pytest.mark.parametrize("name", ["PYTHONIOENCODING", "LC_ALL", "TZ", "PATH", "ANYTHING"])
def test_what_is_read_at_the_start_has_a_start(name: str) -> None:
    """An environment that could change what is loaded is not for the zygote; settings and libpq's variables are."""
    assert not zygote().suits(environment(None, {name: "ascii"}))
    assert zygote().suits(environment("host=h", {"ONEROOF_HOME": "h", "PGUSER": "u", "COLUMNS": "7"}))


def test_no_command_sees_the_settings_of_another(tmp_path: Path) -> None:
    """Each has its own environment, and nothing of what the one before read."""
    (tmp_path / "oneroof.toml").write_text("connect_timeout = 7\n")
    for _ in range(2):
        own = {
            row["name"]: row for row in command("config", "show", "--json", env={"ONEROOF_HOME": str(tmp_path)}).json
        }
        assert own["connect_timeout"]["value"] == "7"
        plain = command("config", "show", "--json")
        assert plain == command("config", "show", "--json", fresh=True)
        assert str(tmp_path) not in plain.out
