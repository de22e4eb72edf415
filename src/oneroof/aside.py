"""Aside: half of a reading by a second connection, while the first one reads the other half.

For what takes a processor's time and nothing else. The second connection is opened for it and closed after it; it reads
as the workers' role and writes nothing, holds no lease and needs none: what follows from what it has found is done by
the first. Whoever gets no second connection reads all by himself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

from oneroof.db import Connection, transaction
from oneroof.errors import Unavailable

# Seconds within which each statement ends.
LIMIT = 5.0
T = TypeVar("T")


def together(
    dial: Callable[[], Connection],
    ours: Callable[[], T],
    theirs: Callable[[Connection], T],
    *,
    doing: str,
    settings: Mapping[str, str],
) -> tuple[T, T | None]:
    """What both find; nothing of the second, if there was no connection to be had."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        aside: Future[T | None] = pool.submit(_read, dial, theirs, doing, settings)
        found = ours()
        return found, aside.result()


def _read(
    dial: Callable[[], Connection], theirs: Callable[[Connection], T], doing: str, settings: Mapping[str, str]
) -> T | None:
    try:
        other = dial()
    except Unavailable:
        return None
    with (
        closing(other),
        transaction(
            other,
            doing=doing,
            role="oneroof_worker",
            read_only=True,
            statement_timeout=LIMIT,
            lock_timeout=LIMIT / 2,
            settings=settings,
        ),
    ):
        return theirs(other)
