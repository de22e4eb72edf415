"""The zygote: a process that has loaded every module of ours once, and forks a command whenever a test asks for one.

To load is nearly all that a short command does. A command forked here is a process of its own, with its own number,
environment, folder and streams, and it ends as an interpreter ends; only the seed of its hashes is the zygote's.
Invariant: nothing is open and nothing runs before the fork: no connection, no thread, no settings read.

Between the zygote and a command stands a keeper, which alone waits for it: it tells the number and then the end, and
leaves the dead one unburied until the test has read that, so that a signal can never reach a stranger.
Run as a script by `process.py`, which is its other side.
"""

from __future__ import annotations

import gc
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
from importlib import import_module
from typing import Any, NoReturn

LONGEST = 1 << 20
STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}


def load() -> None:
    """Everything of ours but the way in, which a command runs anew."""
    import oneroof

    for module in pkgutil.walk_packages(oneroof.__path__, "oneroof."):
        if not module.name.endswith(".__main__"):
            import_module(module.name)
    # What lives now lives as long as the process: counting it again in every command would only copy its pages.
    gc.collect()
    gc.freeze()


def serve(requests: socket.socket) -> dict[str, Any]:
    """Answer requests; returns in the process of a command, with what it is to do."""
    while True:
        said, descriptors, _, _ = socket.recv_fds(requests, LONGEST, len(STREAMS) + 1)
        if not said:
            os._exit(0)
        if os.fork():
            for descriptor in descriptors:
                os.close(descriptor)
            continue
        requests.close()
        *streams, channel = descriptors
        # From its first moment on a command can be interrupted.
        for number in (signal.SIGCHLD, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        if command := os.fork():
            keep(command, streams=streams, channel=channel)
        for wanted, given in enumerate(streams):
            os.dup2(given, wanted)
        os.closerange(len(streams), max(descriptors) + 1)
        request: dict[str, Any] = json.loads(said)
        return request


def keep(number: int, *, streams: list[int], channel: int) -> NoReturn:
    """Tell how a command ends, and stay until that was heard."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for descriptor in (0, 1, 2, *streams):
        os.close(descriptor)
    told = socket.socket(fileno=channel)
    try:
        told.sendall(f"{number}\n".encode())
        # WNOWAIT: the number stays taken.
        end = os.waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT)
        assert end is not None
        told.sendall(f"{end.si_status if end.si_code == os.CLD_EXITED else -end.si_status}\n".encode())
        told.recv(1)
    finally:
        os._exit(0)


def become(request: dict[str, Any]) -> None:
    """Be what a new interpreter would be."""
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for descriptor, (name, mode) in enumerate(STREAMS.items()):
        setattr(sys, name, stream(descriptor, mode, like=getattr(sys, name)))
        setattr(sys, f"__{name}__", getattr(sys, name))
    # As `python -m` has it.
    sys.path[0] = request["cwd"]
    sys.argv[1:] = request["words"]


def stream(descriptor: int, mode: str, *, like: io.TextIOWrapper) -> io.TextIOWrapper:
    """A stream by the rules of an interpreter's start; the one that it made here has the encoding that holds."""
    bare = like.write_through
    raw: Any = open(descriptor, f"{mode}b", buffering=0 if bare and mode == "w" else -1, closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(
        raw,
        encoding=like.encoding,
        errors=like.errors,
        newline=None if mode == "r" else "\n",
        line_buffering=not bare and (raw.isatty() or descriptor == 2),
        write_through=bare,
    )


def main() -> None:
    # A Ctrl-C at the terminal is meant for the tests and for their commands.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load()
    assert len(os.listdir("/proc/self/task")) == 1, "a process that forks must not have threads"  # noqa: PTH208
    # Keepers need not be waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    become(serve(socket.socket(fileno=int(sys.argv[1]))))
    # At the top, so that the command ends as any other: buffers written, threads awaited, what was to be done at exit.
    runpy.run_module("oneroof", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
