"""A writer of births at a rate, in a process of its own: transactions that stay open for up to 200 ms.

`born_at` is now() at BEGIN; the rows are written before or after the wait, by chance, so that the xid is sometimes
older and sometimes younger than the timestamps of others that commit earlier.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier

import psycopg

LONGEST = 0.2
# A transaction's code, when its COMMIT had returned, and how many rows it wrote.
Note = tuple[str, float, int]

ONE = """INSERT INTO public.birth_registry (collection_name, entity_code, species_code, governance_role, born_at)
         VALUES (%s, %s, 'SPC-01', 'leaf', now())"""
MANY = """INSERT INTO public.birth_registry (collection_name, entity_code, species_code, governance_role, born_at)
          SELECT %s, code, 'SPC-01', 'leaf', now() FROM unnest(%s::text[]) AS code"""


@dataclass(frozen=True, slots=True)
class Share:
    """What each writer has to do: so many rows a second for so long, one by one or many in a statement."""

    dsn: str
    collection: str
    rate: float
    seconds: float
    is_single: bool


def write(share: Share, number: int, ready: Barrier, committed: Queue[list[Note]]) -> None:
    """Write a share, beginning together with the others, and hand over the notes at the end."""
    chance = random.Random(number)  # noqa: S311 a load is simulated, nothing is secret
    notes: list[Note] = []
    with psycopg.connect(share.dsn, autocommit=True) as connection:
        ready.wait(timeout=60)
        began, issued = time.monotonic(), 0
        while (elapsed := time.monotonic() - began) < share.seconds:
            owed = int(share.rate * elapsed) - issued
            if owed < 1:
                time.sleep(1 / share.rate)
                continue
            name = f"{number}-{len(notes)}"
            codes = [f"{name}-{n}" for n in range(owed)]
            wait = chance.uniform(0, LONGEST)
            early = chance.random() < 0.5
            with connection.transaction():
                connection.execute("SELECT now()")
                time.sleep(0 if early else wait)
                _insert(connection, share, codes)
                time.sleep(wait if early else 0)
            notes.append((name, time.time(), owed))
            issued += owed
    committed.put(notes)


def _insert(connection: psycopg.Connection, share: Share, codes: Sequence[str]) -> None:
    if share.is_single:
        for code in codes:
            connection.execute(ONE, (share.collection, code))
    else:
        connection.execute(MANY, (share.collection, list(codes)))
