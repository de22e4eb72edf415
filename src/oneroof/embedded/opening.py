"""An opening: one call of `EmbeddedServer.open`, from the locks to a server that answers.

Invariant: only the holder of `start.lock` may start a warden, and hands it `warden.lock` already taken, so
that there is never a second one. Locks are taken in the order users, start, warden, server. Whatever
interrupts an opening, closing its descriptors undoes all of it; a warden without users ends by itself.
"""

from __future__ import annotations

import fcntl
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

import psycopg

from oneroof.embedded import warden
from oneroof.embedded.binaries import Binaries
from oneroof.embedded.cluster import Cluster
from oneroof.embedded.identity import identify
from oneroof.errors import Unavailable

Say = Callable[[str], None]

_NOT_YET = ("starting up", "shutting down", "not yet accepting", "not accepting connections", "recovery mode")
_RECOVERING = "the embedded server is recovering; this takes as long as its unsaved work is large"
_MAKING = "the embedded server is being made; this is its first start"
_STOPPING = "the embedded server is stopping; it starts again right after"
_STARTING = "another process is starting the embedded server"
# The user's other variables may be secret, or (PG*) meant for another server.
_INHERITED = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_PATIENCE = 2.0
_PAUSE = 0.02
_ATTEMPTS = 3


@dataclass(kw_only=True, slots=True)
class Opening:
    cluster: Cluster
    found: tuple[Binaries, ...]
    linger: float
    major: int | None
    overrides: Mapping[str, str]
    say: Say
    said_at: float = field(default_factory=time.monotonic)

    def run(self) -> int:
        """Wait until the server answers; return the descriptor that is this process's share of it."""
        with ExitStack() as on_failure, ExitStack() as always:
            share = self._lock_file(warden.USERS, closed_by=on_failure)
            self._take(share, fcntl.LOCK_SH, meanwhile=_STOPPING)
            start = self._lock_file(warden.START, closed_by=always)
            self._take(start, fcntl.LOCK_EX, meanwhile=_STARTING)
            self.cluster.choose(self.found, major=self.major)
            self._bring_up()
            on_failure.pop_all()
            return share

    def _bring_up(self) -> None:
        for _ in range(_ATTEMPTS):
            with ExitStack() as always:
                lock = self._lock_file(warden.WARDEN, closed_by=always)
                if not warden.take(lock, fcntl.LOCK_EX) and self._join(lock):
                    return
                if self._start(lock):
                    return
        raise Unavailable(
            "the embedded server was ended from outside while it started",
            hint=f"the whole story is in {self.cluster.log}",
        )

    def _join(self, lock: int) -> bool:
        """Wait for the server of a living warden; false when the warden has gone and `lock` is ours."""
        while not self._answers():
            if warden.take(lock, fcntl.LOCK_EX):
                return False
            self.cluster.check_reachable()
            time.sleep(_PAUSE)
            self._remark(_RECOVERING if self.cluster.data.exists() else _MAKING)
        return True

    def _start(self, lock: int) -> bool:
        """Start a warden and wait for its server; false when the warden was killed meanwhile."""
        with ExitStack() as always:
            since = self.cluster.begin_log()
            report = self._start_warden(lock, closed_by=always)
            launched = False
            # Before the warden says that it launched a new server, an old one might answer a last time.
            while not (launched and self._answers()):
                if select.select([report], [], [], _PAUSE)[0]:
                    said = os.read(report, 4096).decode(errors="replace")
                    if not said:
                        return False
                    launched = True
                    if failure := said.removeprefix(warden.LAUNCHED):
                        raise Unavailable(
                            f"the embedded server did not start: {failure} ({self.cluster.last_words(since=since)})",
                            hint=f"the whole story is in {self.cluster.log}",
                        )
                self._remark(_RECOVERING if self.cluster.data.exists() else _MAKING)
            return True

    def _start_warden(self, lock: int, *, closed_by: ExitStack) -> int:
        """Start a detached warden that holds `lock`; return the pipe on which it says why it failed."""
        chosen = self.cluster.choose(self.found, major=self.major)
        identity, binaries = identify(folder=self.cluster.folder, binaries=chosen)
        self.cluster.check_owner(identity)
        plan = self.cluster.plan(
            binaries=binaries,
            identity=identity,
            socket=self.cluster.place_socket(identity),
            linger=self.linger,
            overrides=self.overrides,
        )
        report, told = map(warden.beyond_standard, os.pipe())
        closed_by.callback(os.close, report)
        try:
            with self.cluster.log.open("ab") as log:
                # By path and isolated: neither the caller's folder nor its packages can get in the way.
                subprocess.run(
                    [sys.executable, "-I", "-S", warden.__file__, plan.word(), str(told), str(lock)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self.cluster.folder,
                    env={name: os.environ[name] for name in _INHERITED if name in os.environ} | {"LC_ALL": "C"},
                    pass_fds=(told, lock),
                    start_new_session=True,
                    check=True,
                )
        except subprocess.CalledProcessError:
            raise Unavailable(
                "the process that owns the embedded server could not be started",
                hint=f"the whole story is in {self.cluster.log}",
            ) from None
        finally:
            os.close(told)
        return report

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.cluster.dsn("postgres"), connect_timeout=5).close()
        except FileNotFoundError:
            return False
        except psycopg.OperationalError as error:
            said = str(error)
            if "FATAL:" not in said or any(words in said for words in _NOT_YET):
                return False
            sentence = said.rsplit("FATAL:", 1)[1].strip()
            raise Unavailable(f"the embedded server refuses the connection: {sentence}") from None
        return True

    def _lock_file(self, name: str, *, closed_by: ExitStack) -> int:
        descriptor = warden.lock_file(self.cluster.folder / name)
        closed_by.callback(os.close, descriptor)
        return descriptor

    def _take(self, descriptor: int, mode: int, *, meanwhile: str) -> None:
        while not warden.take(descriptor, mode):
            time.sleep(_PAUSE)
            self._remark(meanwhile)

    def _remark(self, sentence: str) -> None:
        if time.monotonic() - self.said_at > _PATIENCE:
            self.said_at = time.monotonic()
            self.say(sentence)
