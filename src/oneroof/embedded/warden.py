"""The warden: the small process that owns the postmaster, and ends it when the last user is gone.

Run as a script, detached, with nothing but the standard library, so that it starts fast and holds nothing
else. It makes the data folder if there is none, starts postgres, waits until no process holds `users.lock`,
lingers, and stops it. Invariant: no server without a warden. Every process of the server inherits
`server.lock`, so a warden that holds it alone knows that nothing of an earlier server lives.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

USERS, START, WARDEN, SERVER, LOG = "users.lock", "start.lock", "warden.lock", "server.lock", "log"
LAUNCHED = "+"
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """All that the warden needs to know, as one word of its command line, which every user can read."""

    folder: str
    socket: str
    initdb: list[str]
    postgres: list[str]
    drop_to: list[int] | None
    linger: float

    def word(self) -> str:
        return json.dumps(asdict(self))


class Failure(Exception):
    """What the opener is to be told."""


class Warden:
    def __init__(self, plan: Plan, *, report: int) -> None:
        self.plan = plan
        self.report = report
        self.folder = Path(plan.folder)
        self.data = self.folder / "data"
        self.users = lock_file(self.folder / USERS)
        self.server = lock_file(self.folder / SERVER)
        self.asked_to_stop = False
        self.alone = threading.Event()
        self.wakeup, self.waker = os.pipe()
        os.set_blocking(self.wakeup, False)
        os.set_blocking(self.waker, False)
        signal.set_wakeup_fd(self.waker, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, self._hear)

    def run(self) -> None:
        for step in (self._await_remains, self._drop_stale_locks, self._make_cluster):
            step()
            if self.asked_to_stop:
                return
        postgres = self._start(self.plan.postgres, on_death=signal.SIGINT)
        self.tell(LAUNCHED)
        self._await_end(postgres)
        status = postgres.poll()
        if status is not None:
            raise Failure(f"PostgreSQL ended with status {status}")
        postgres.send_signal(signal.SIGINT)
        while postgres.poll() is None:
            self._nap(None)

    def tell(self, words: str) -> None:
        with suppress(BrokenPipeError):
            os.write(self.report, words.encode(errors="replace"))

    def _await_remains(self) -> None:
        """Wait until no process of an earlier server, nor of an earlier initdb, lives."""
        if take(self.server, fcntl.LOCK_EX):
            return
        if (pid := self._recorded_pid()) and self._serves(pid):
            os.kill(pid, signal.SIGINT)
        while not self.asked_to_stop and not take(self.server, fcntl.LOCK_EX):
            self._nap(0.05)

    def _drop_stale_locks(self) -> None:
        """Remove the pid files of a dead server whose number went to another process.

        PostgreSQL would take that process for itself and refuse to start. A number that no process has it
        handles alone, and a server on this folder that is not ours is left in peace.
        """
        pid = self._recorded_pid()
        if pid is not None and self._serves(pid):
            raise Failure(f"another server (process {pid}), not started by oneroof, runs on {self.data}")
        if pid is not None:
            (self.data / "postmaster.pid").unlink(missing_ok=True)
            Path(self.plan.socket, ".s.PGSQL.5432.lock").unlink(missing_ok=True)

    def _make_cluster(self) -> None:
        for rubbish in self.folder.glob("data.new-*"):
            shutil.rmtree(rubbish)
        if self.data.exists():
            return
        new = self.folder / f"data.new-{secrets.token_hex(4)}"
        initdb = self._start([*self.plan.initdb, "-D", str(new)], on_death=signal.SIGKILL)
        while initdb.poll() is None:
            self._nap(None)
            if self.asked_to_stop:
                initdb.kill()
        if initdb.returncode == 0:
            new.rename(self.data)
            os.fsync(os.open(self.folder, os.O_RDONLY))
        else:
            shutil.rmtree(new, ignore_errors=True)
            if not self.asked_to_stop:
                raise Failure(f"the data folder {self.data} could not be made")

    def _await_end(self, postgres: subprocess.Popen[bytes]) -> None:
        """Return when postgres is gone or is to go; when for want of users, then none can come meanwhile."""

        def over() -> bool:
            return self.asked_to_stop or postgres.poll() is not None

        while not over():
            self.alone.clear()
            threading.Thread(target=self._await_solitude, daemon=True).start()
            while not over() and not self.alone.is_set():
                self._nap(None)
            deadline = time.monotonic() + self.plan.linger
            while not over() and (left := deadline - time.monotonic()) > 0:
                self._nap(left)
            if over() or take(self.users, fcntl.LOCK_EX):
                return

    def _await_solitude(self) -> None:
        fcntl.flock(self.users, fcntl.LOCK_EX)
        fcntl.flock(self.users, fcntl.LOCK_UN)
        self.alone.set()
        with suppress(BlockingIOError):
            os.write(self.waker, b"\0")

    def _start(self, command: list[str], *, on_death: signal.Signals) -> subprocess.Popen[bytes]:
        uid, gid = self.plan.drop_to or (None, None)
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            cwd=self.folder,
            pass_fds=(self.server,),
            preexec_fn=_die_with_parent(on_death),
            user=uid,
            group=gid,
            extra_groups=None if uid is None else [],
        )

    def _nap(self, seconds: float | None) -> None:
        select.select([self.wakeup], [], [], seconds)
        with suppress(BlockingIOError):
            os.read(self.wakeup, 4096)

    def _hear(self, number: int, _: object) -> None:
        self.asked_to_stop |= number in (signal.SIGTERM, signal.SIGINT)

    def _recorded_pid(self) -> int | None:
        """The number in the pid file, if a process that we may signal has it."""
        try:
            pid = abs(int((self.data / "postmaster.pid").read_text().split("\n", 1)[0]))
            os.kill(pid, 0)
        except (OSError, ValueError, OverflowError):
            return None
        return pid

    def _serves(self, pid: int) -> bool:
        """Whether the process is a postmaster of this data folder: one always works in it."""
        try:
            if sys.platform == "linux":
                return Path(f"/proc/{pid}/cwd").samefile(self.data)
            else:  # noqa: RET505
                command = ["ps", "-o", "command=", "-p", str(pid)]
                return os.fsencode(self.data) in subprocess.run(command, capture_output=True).stdout
        except OSError:
            return False


def lock_file(path: Path) -> int:
    """Open a lock's file, close-on-exec, so that no child of ours holds the lock unless told to."""
    return beyond_standard(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def beyond_standard(descriptor: int) -> int:
    """Move a descriptor out of the way of stdin, stdout and stderr, which the caller may have closed."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved


def take(descriptor: int, mode: int) -> bool:
    """Take a lock without waiting; say whether it was had."""
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _die_with_parent(number: signal.Signals) -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def arrange() -> None:
        prctl(_PR_SET_PDEATHSIG, int(number))
        if os.getppid() != parent:
            os._exit(1)

    return arrange


def main() -> None:
    plan, report = Plan(**json.loads(sys.argv[1])), int(sys.argv[2])
    # A second fork, so that the opener need not reap a process that outlives it.
    if os.fork():
        os._exit(0)
    os.umask(0o077)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for inherited in (report, int(sys.argv[3])):
        os.set_inheritable(inherited, False)
    warden = Warden(plan, report=report)
    try:
        warden.run()
    except (Failure, OSError) as error:
        print(f"warden: {error}", file=sys.stderr, flush=True)
        warden.tell(str(error))
    os._exit(0)


if __name__ == "__main__":
    main()
