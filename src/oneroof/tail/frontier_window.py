"""A window of the frontier: where its pass over the table is, as the cursor keeps it (`window_at`).

A position is a ctid as a number, and holds for the files that the rows lay in when it was noted. `fresh` are partitions
that were not there before: of those every row is new, whatever its xid. A full pass is one in which F counts for
nothing.
"""

from __future__ import annotations

from typing import Any

from oneroof.fence.cursor import Cursor
from oneroof.sources.row_expressions import EPOCH
from oneroof.tail.row_queries import FARTHEST, SLOTS, Bounds, tid
from oneroof.tail.table_files import Ground

At = dict[str, Any]


def is_elsewhere(here: Cursor) -> bool:
    """Whether F is of another cluster, or so far behind that xids could be mistaken."""
    far = here.next_xid - (here.frontier or here.next_xid) > FARTHEST and not (here.window_at or {}).get("full")
    return far or here.cluster_identity != here.identity


def has_begun(here: Cursor) -> bool:
    """Whether there is a frontier, or a pass that makes the first one."""
    return here.frontier is not None or here.window_horizon is not None


def begin(here: Cursor, ground: Ground, *, full: bool) -> At:
    """At the first page."""
    fresh = sorted(_joined(here, ground))
    return {"tid": 0, "files": ground.files, "full": full, "fresh": fresh, "past": here.watermark_text}


def anew(here: Cursor, at: At, ground: Ground) -> At:
    """The table was rewritten: rows may lie where the pass has been, so it begins anew, and comes by some again."""
    fresh = sorted({*at["fresh"], *_joined(here, ground)})
    return {**at, "tid": 0, "files": ground.files, "fresh": fresh, "again": True}


def is_over(at: At, ground: Ground) -> bool:
    """Whether it has come to the end of the table."""
    return bool(at["tid"] >= ground.blocks * SLOTS)


def reach(at: At, ground: Ground, *, pages: int) -> int:
    """The position so many pages on, or the end."""
    return int(min(ground.blocks * SLOTS, at["tid"] + pages * SLOTS))


def bounds(here: Cursor, at: At) -> Bounds:
    """Which rows are of the window. Without an upper bound: what is at or beyond H is not proven to be all there, but
    what is there is work.
    """
    return Bounds(frontier=None if at["full"] else here.frontier, horizon=None, fresh=tuple(at["fresh"]))


def passed(here: Cursor) -> dict[str, str]:
    """Up to which ctid, and below which xid, the pass that is under way has applied all there is."""
    if here.window_at is None or here.window_horizon is None or here.window_at["full"]:
        return {"passed": tid(0), "below": "0"}
    return {"passed": tid(here.window_at["tid"]), "below": str(here.window_horizon % EPOCH)}


def leaves_all(here: Cursor) -> bool:
    """Whether the pass that is under way has everything below H, and the newest rows none of it: it is a full one, or
    has begun anew, and rows that it had applied may lie anywhere.
    """
    return bool(here.window_at and (here.window_at["full"] or here.window_at.get("again")))


def _joined(here: Cursor, ground: Ground) -> set[int]:
    return set(ground.leaves) - set(here.metadata.get("leaves", ground.leaves))
