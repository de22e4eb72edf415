"""The cluster: its folders, its version, its settings, and the plan by which a warden runs it.

Everything is under `<home>/server/`: `data/`, the locks, the log and, when the path is short enough, the
socket. Invariant: the server has no TCP port and trusts every process that reaches its socket, so the folder of
the socket must be the owner's alone, or nothing is started.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from psycopg.conninfo import make_conninfo

from oneroof.embedded.binaries import Binaries
from oneroof.embedded.identity import Identity
from oneroof.embedded.warden import LOG, Plan
from oneroof.errors import Unavailable

SUPERUSER = "postgres"
PORT = 5432
# The shortest limit of the platforms (macOS); Linux has four bytes more.
_LONGEST_SOCKET = 103
_LONGEST_LOG = 10_000_000
_COMPLAINT = re.compile(r"(?:FATAL|PANIC|ERROR|error):\s+(.+)")

_SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "cluster_name": "oneroof",
    "max_connections": "120",
    "max_prepared_transactions": "20",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    # After a checkpoint every page that changes is logged whole: two writers fill the default in a moment.
    "wal_buffers": "64MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_line_prefix": "%m [%p] ",
    "log_checkpoints": "off",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """The server folder of one home."""

    folder: Path

    @classmethod
    def under(cls, home: Path) -> Cluster:
        """The cluster of a home, its folder made and safe."""
        folder = home.expanduser().absolute() / "server"
        if {"\n", "\r"} & set(str(folder)):
            raise Unavailable(
                f"the data folder {str(folder)!r} has a line end in its name, which PostgreSQL refuses",
                hint="set ONEROOF_HOME to another folder",
            )
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            mode = folder.stat().st_mode
        except OSError as error:
            raise Unavailable(
                f"the data folder {folder} cannot be made: {error.strerror}",
                hint="set ONEROOF_HOME to a folder that you may write, or name a server with --dsn",
            ) from None
        if mode & 0o077:
            raise Unavailable(
                f"the data folder {folder} is open to other users, who could enter the server as any user",
                hint=f"chmod 700 '{folder}'",
            )
        return cls(folder)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / LOG

    def version(self) -> int | None:
        """The major version that made the data folder; None when there is none yet."""
        try:
            return int((self.data / "PG_VERSION").read_text().strip())
        except FileNotFoundError:
            if not self.data.exists():
                return None
        except (OSError, ValueError):
            pass
        raise Unavailable(
            f"{self.data} exists but is no data folder of PostgreSQL that can be read",
            hint="move it away, and a new one is made",
        )

    def choose(self, found: tuple[Binaries, ...], *, major: int | None) -> Binaries:
        """The binaries that fit the data folder, and the version asked for."""
        version = self.version()
        for binaries in found:
            if version in (None, binaries.major) and major in (None, binaries.major):
                return binaries
        have = ", ".join(str(binaries.major) for binaries in found)
        if version is None:
            raise Unavailable(
                f"PostgreSQL {major} is asked for, and only {have} was found",
                hint="set ONEROOF_PG_BIN to the folder of its binaries",
            )
        wanted = f"version {major} is asked for" if version in {b.major for b in found} else f"found: {have}"
        raise Unavailable(
            f"the data folder {self.data} is of PostgreSQL {version}, which cannot be used here ({wanted})",
            hint=f"set ONEROOF_PG_BIN to the binaries of PostgreSQL {version}, or use another ONEROOF_HOME",
        )

    def check_owner(self, identity: Identity) -> None:
        if self.folder.stat().st_uid != identity.owner:
            raise Unavailable(
                f"the data folder {self.folder} belongs to another user (number {self.folder.stat().st_uid})",
                hint="run oneroof as that user, or use another ONEROOF_HOME",
            )

    def dsn(self, database: str, *, user: str = SUPERUSER) -> str:
        """A connection string that the PG* variables of the environment cannot divert."""
        return make_conninfo(
            host=os.fsdecode(self._socket_note.read_bytes()),
            hostaddr="",
            port=PORT,
            dbname=database,
            user=user,
            requirepeer="",
            channel_binding="prefer",
            target_session_attrs="any",
        )

    def place_socket(self, identity: Identity) -> Path:
        """Choose, make and check the folder of the socket, and note it for processes that join."""
        place = self.folder
        # libpq takes a comma for a list of hosts, and a pid file has one item to a line.
        if not _fits(place) or "," in str(place) or not str(place).isprintable():
            place = self._short_place(identity)
        new = self._socket_note.with_name("socket.new")
        new.write_bytes(os.fsencode(place))
        new.replace(self._socket_note)
        return place

    @property
    def _socket_note(self) -> Path:
        return self.folder / "socket"

    def _short_place(self, identity: Identity) -> Path:
        key = hashlib.sha256(os.fsencode(self.folder.resolve()) + b"\0%d" % identity.owner).hexdigest()[:16]
        roots = (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp")  # noqa: S108
        for place in (Path(root) / f"oneroof-{key}" for root in roots if root.startswith("/")):
            if not _fits(place) or "," in str(place) or not os.access(place.parent, os.W_OK):
                continue
            with suppress(FileExistsError):
                place.mkdir(mode=0o700)
                identity.own(place)
            status = place.lstat()
            ours = stat.S_ISDIR(status.st_mode) and status.st_uid == identity.owner
            if not ours or status.st_mode & 0o077:
                raise Unavailable(
                    f"{place}, which is to hold the embedded server's socket, is not a private folder of ours",
                    hint="another user may want to pose as the server; remove it, or set TMPDIR to a private folder",
                )
            return place
        raise Unavailable(
            "no folder has a path short enough for the socket of the embedded server",
            hint="set ONEROOF_HOME or TMPDIR to a shorter path",
        )

    def plan(
        self,
        *,
        binaries: Binaries,
        identity: Identity,
        socket: Path,
        linger: float,
        overrides: Mapping[str, str],
    ) -> Plan:
        """What a new warden is to do. Settings are words of the command, so each start may change them."""
        quoted = str(socket).replace('"', '""')
        settings = {**_SETTINGS, **overrides, "unix_socket_directories": f'"{quoted}"'}
        initdb = [binaries.program("initdb"), "--username", SUPERUSER, "--encoding=UTF8", "--locale=C"]
        initdb += ["--auth-local=trust", "--auth-host=reject", "--data-checksums"]
        if settings.get("fsync") == "off":
            initdb.append("--no-sync")
        postgres = [binaries.program("postgres"), "-D", str(self.data)]
        for name, value in settings.items():
            postgres += ["-c", f"{name}={value}"]
        return Plan(
            folder=str(self.folder),
            socket=str(socket),
            initdb=[*identity.prefix, *initdb],
            postgres=[*identity.prefix, *postgres],
            drop_to=list(identity.drop_to) if identity.drop_to else None,
            linger=linger,
        )

    def check_reachable(self) -> None:
        """Refuse to wait for a server that is ready but whose socket was removed."""
        with suppress(FileNotFoundError):
            record = (self.data / "postmaster.pid").read_text().splitlines()
            socket = Path(os.fsdecode(self._socket_note.read_bytes())) / f".s.PGSQL.{PORT}"
            if record[-1].strip() == "ready" and not socket.exists():
                raise Unavailable(
                    f"the embedded server runs, but its socket {socket} was removed",
                    hint=f"kill -INT {record[0]}, and the next command starts it anew",
                )

    def begin_log(self) -> int:
        """Put a long log aside; say where the words of the coming start will begin."""
        size = self.log.stat().st_size if self.log.exists() else 0
        if size <= _LONGEST_LOG:
            return size
        self.log.replace(self.log.with_name(f"{LOG}.1"))
        return 0

    def last_words(self, *, since: int) -> str:
        """The last complaint in the log, else its last line."""
        with self.log.open("rb") as log:
            log.seek(since)
            lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
        complaints = [found[1] for line in lines if (found := _COMPLAINT.search(line))]
        others = [line for line in lines if not line.startswith("warden:")]
        return (complaints or others or ["nothing in the log"])[-1].strip()


def _fits(folder: Path) -> bool:
    return len(os.fsencode(folder / f".s.PGSQL.{PORT}")) <= _LONGEST_SOCKET
