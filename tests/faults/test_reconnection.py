"""A run goes on when its connections are cut, also while they are being opened again (promise 12)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bed import connect, eventually, spawn
from by_hand import LEASES, LEFT, Server, add_births, end, number, running, server


@dataclass
class Wire:
    """A way to the server that is cut at will: `cuts` begins with the bytes of a message that never arrives."""

    path: str
    cuts: tuple[bytes, ...] = ()
    cut: int = 0
    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    _open: list[socket.socket] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self.path)
                self._open += [client, far]
                for here, there, is_up in ((client, far, True), (far, client, False)):
                    threading.Thread(target=self._carry, args=(here, there, is_up), daemon=True).start()

    def drop(self) -> None:
        """Cut what is open."""
        while self._open:
            with suppress(OSError):
                self._open.pop().shutdown(socket.SHUT_RDWR)

    def _carry(self, here: socket.socket, there: socket.socket, is_up: bool) -> None:
        with suppress(OSError), here, there:
            while some := here.recv(65536):
                if is_up and self.cuts and some.startswith(self.cuts):
                    self.cut += 1
                    for each in (here, there):
                        each.shutdown(socket.SHUT_RDWR)
                    return
                there.sendall(some)
            there.shutdown(socket.SHUT_RDWR)


@contextmanager
def wire(host: Server) -> Iterator[tuple[Wire, str]]:
    """The wire, and the DSN that goes by it."""
    known = conninfo_to_dict(host.dsn())
    made = Wire(f"{known['host']}/.s.PGSQL.{known['port']}")
    threading.Thread(target=made.serve, daemon=True).start()
    given = {name: known[name] for name in ("dbname", "user")}
    try:
        yield (
            made,
            make_conninfo("", host="127.0.0.1", port=made.port, sslmode="disable", gssencmode="disable", **given),
        )
    finally:
        made.listener.close()
        made.drop()


@pytest.mark.slow
@pytest.mark.parametrize("cuts", [(b"\x00",), (b"Q", b"P")], ids=["at the startup message", "at the first statement"])
def test_a_run_outlives_connections_that_are_cut_while_they_are_opened(cuts: tuple[bytes, ...]) -> None:
    with server() as host, connect(host.dsn()) as admin, wire(host) as (way, dsn):
        process = spawn("run", dsn=dsn)
        with running(process):
            eventually(lambda: number(admin, LEASES) and number(admin, LEFT) == 0, what="the sweep", seconds=60)
            way.cuts = cuts
            way.drop()
            eventually(lambda: way.cut >= 20 or process.poll() is not None, what="attempts that are cut", seconds=60)
            way.cuts = ()
            assert process.poll() is None, end(process)
            add_births(admin, "cut", 3)
            eventually(lambda: number(admin, LEFT) == 0, what="births after the return", seconds=30)
            assert end(process)[0] == 0
