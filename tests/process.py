"""A command as a process: started by a new interpreter as a user does, or forked from the zygote, which is quicker.

Both are real processes with the same face. A new interpreter is taken wherever a fork would not be the same: when the
test says so (`fresh=True`: its memory, its start, the words by which others see it), and by itself when the
environment has something that an interpreter or a library looks at when it is loaded.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TextIO

PROGRAM = (sys.executable, "-m", "oneroof")
# Looked at when a command runs, not when it is loaded; pytest's are nobody's business.
LATE = ("ONEROOF_", "PG", "PYTEST_", "COLUMNS", "HOME", "XDG_")


class Zygote:
    """The zygote of this test process, which ends with it."""

    def __init__(self) -> None:
        self.env = dict(os.environ)
        self.requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("zygote.py")), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self.end, os.getpid())

    def suits(self, env: Mapping[str, str]) -> bool:
        """Whether all that was loaded would have been loaded the same in this environment."""
        return early(env) == early(self.env)

    def end(self, owner: int) -> None:
        if os.getpid() == owner:
            self.requests.close()
            self.process.wait()


def early(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if not name.startswith(LATE)}


_starting = threading.Lock()


@cache
def _zygote() -> Zygote:
    return Zygote()


def zygote() -> Zygote:
    """Made when it is first asked for, by whichever thread."""
    with _starting:
        return _zygote()


class Fork:
    """A command that the zygote forked, with the members of a `Popen` that the tests use."""

    def __init__(self, words: Sequence[str], *, env: Mapping[str, str], stdin: int) -> None:
        self.args = list(words)
        self.returncode: int | None = None
        self._channel, theirs = socket.socketpair()
        out, their_out = os.pipe()
        err, their_err = os.pipe()
        self.stdout: TextIO = open(out, encoding=None)  # noqa: SIM115, PTH123
        self.stderr: TextIO = open(err, encoding=None)  # noqa: SIM115, PTH123
        self._readers: list[tuple[threading.Thread, list[str]]] = []
        request = {"words": self.args, "env": dict(env), "cwd": str(Path.cwd())}
        given = [stdin, their_out, their_err, theirs.fileno()]
        socket.send_fds(zygote().requests, [json.dumps(request).encode()], given)
        for descriptor in (their_out, their_err):
            os.close(descriptor)
        theirs.close()
        self.pid = self._hear()

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._channel], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._channel], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = self._hear()
            self._channel.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """All that it still says, and its end."""
        deadline = None if timeout is None else time.monotonic() + timeout
        self._readers = self._readers or [reader(stream) for stream in (self.stdout, self.stderr)]
        for thread, _ in self._readers:
            thread.join(left(deadline))
            if thread.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(left(deadline))
        out, err = ("".join(said) for _, said in self._readers)
        return out, err

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _hear(self) -> int:
        """The next number that the keeper tells."""
        said = b""
        while not said.endswith(b"\n"):
            part = self._channel.recv(1)
            assert part, "the zygote or the keeper of a command is gone"
            said += part
        return int(said)


Process = subprocess.Popen[str] | Fork


def start(words: Sequence[str], *, env: Mapping[str, str], stdin: int, fresh: bool) -> Process:
    """Start `oneroof` with these words and exactly this environment."""
    if fresh or sys.platform != "linux" or not zygote().suits(env):
        piped = subprocess.PIPE
        return subprocess.Popen([*PROGRAM, *words], env=env, stdin=stdin, stdout=piped, stderr=piped, text=True)
    return Fork(words, env=env, stdin=stdin)


def reader(stream: TextIO) -> tuple[threading.Thread, list[str]]:
    """A thread that reads a stream to its end, and what it has read."""
    said: list[str] = []

    def read() -> None:
        if not stream.closed:
            with stream:
                said.append(stream.read())

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread, said


def left(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())
