"""A plain poller: what anybody would write first, and so the measure of what this machine and PostgreSQL allow.

It copies keys into a table that has nothing but them: no facts, no verdicts, no books, no memory of what it has seen.
It looks back a little longer than the writers' transactions last, and what commits later than that it never sees.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event

import psycopg

from bench.ground import Ground

POLLED = "public.bench_polled"
PAUSE = 0.002
COPY = f"""INSERT INTO {POLLED} SELECT b.collection_name || ':' || b.entity_code FROM public.birth_registry AS b
           WHERE b.born_at > now() - interval '0.25 seconds' AND NOT EXISTS (
             SELECT FROM {POLLED} AS p WHERE p.candidate_key = b.collection_name || ':' || b.entity_code)"""


@contextmanager
def polling(ground: Ground) -> Iterator[None]:
    """One beside us, in a process of its own, until the block is over."""
    ground.admin.execute(f"CREATE TABLE {POLLED} (candidate_key text PRIMARY KEY)")
    forks = multiprocessing.get_context("forkserver")
    over = forks.Event()
    process = forks.Process(target=_poll, args=(ground.dsn, over))
    process.start()
    try:
        yield
    finally:
        over.set()
        process.join()
        ground.admin.execute(f"DROP TABLE {POLLED}")


def _poll(dsn: str, over: Event) -> None:
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=0) as connection:
        connection.execute("SET synchronous_commit = off")
        while not over.is_set():
            if not connection.execute(COPY).rowcount:
                time.sleep(PAUSE)
