"""`gov_periodic_full_audit`: is what is accounted what is there (doc 31 §7 and §9, doc 39 §39.5)?

A source against its candidates, both ways, the candidates against what they are judged by, and the books against a
recount. Sums over sets of facts tell what has drifted, and sums over buckets of hashes where in them; only there are
keys compared. What is wrong is put right as a dirty mark, and comes round through the gate and the scan like any
change; what is gone becomes a tombstone, unless too much of a group went at once
(docs/explanation/full_audit/full-audit.md). What the
source was found to have is kept as a snapshot (doc 31 §5). Every step is a short transaction, or a part of one, and
where the audit stands is in `window_at`: whoever goes on after a crash goes on from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from oneroof.candidates import apply_batch
from oneroof.candidates.apply_batch import Statements
from oneroof.database.connection import Connection
from oneroof.database.parallel_reader import ParallelReader
from oneroof.database.statements import one, queries
from oneroof.errors import OneroofError
from oneroof.failures.batch_size import Width
from oneroof.failures.error_kinds import describe
from oneroof.fence.cursor import Cursor
from oneroof.fence.fenced_batch import Batch, run_fenced
from oneroof.fence.lease import Lease
from oneroof.fence.step import Run, Step, isolating
from oneroof.full_audit import comparison, failed_item_recheck, rejudgement
from oneroof.full_audit.comparison import Done, Piece
from oneroof.full_audit.range_sums import Sums
from oneroof.intake import retry_failed
from oneroof.judgement import judgements
from oneroof.signals import emission
from oneroof.sources.row_expressions import EPOCH
from oneroof.sources.source import Source
from oneroof.tail import table_files
from oneroof.tail.row_queries import FARTHEST, SLOTS

NAME = "gov_periodic_full_audit"
COMPLETED = "governance.coverage.audit_completed"
BATCH = 5_000
INTERVAL = 3_600.0
# Pages to add up at once; pages of rows or candidates that are looked for one by one, where all may be suspects, and
# where no more than a few are.
PAGES = 49_152
FEW_PAGES, MANY_PAGES = 128, 8_192
# So many are looked for one by one without more ado.
FEW = 20_000
# More than this share of a group, and at least so many, may not vanish at once.
VANISH_SHARE = 0.1
VANISH_LEAST = 100
# What failed for good goes on as the intake's item, which tries it again.
INTAKE = "gov_handoff_intake"
# Where no audit is due the next look can wait.
RESTING = Step(seen=0, written=0, idle=True, rest=5.0)
STEPS = (
    "notes",
    "items",
    "judgements",
    "rows",
    "candidates",
    "objects",
    "row_buckets",
    "note_buckets",
    "candidate_buckets",
    "object_buckets",
    "found",
    "lost",
    "books",
    "vanished",
    "expired",
)
# Steps that are over in a moment where there is nothing to do: they go on in the transaction of the one before.
BRIEF = {"items", "judgements", "books", "vanished", "expired"}
COUNTS = {
    "missing": "repaired_missing",
    "drifted": "repaired_drift",
    "reborn": "reborn",
    "duplicates": "duplicates",
    "noted": "notes_removed",
    "failed": "failed",
    "ended": "items_ended",
    "succeeded": "succeeded",
    "vanished": "vanished",
    "retired": "retired",
    "held": "held_groups",
    "judgements": "repaired_judgements",
    "verdicts": "repaired_verdicts",
    "groups": "repaired_groups",
    "expired": "expired",
}


@dataclass(slots=True)
class FullAudit:
    """The audit of one source. `interval` is how long one is good for; `at_once` means that the first does not wait."""

    connection: Connection
    source: Source
    lease: Lease
    batch: int = BATCH
    interval: float = INTERVAL
    at_once: bool = False
    few: int = FEW
    vanish_share: float = VANISH_SHARE
    vanish_least: int = VANISH_LEAST
    # A second connection, which reads along while an audit is under way.
    second: ParallelReader | None = None
    run: Run = field(default_factory=Run, init=False)
    audits: int = field(default=0, init=False)
    _statements: Statements = field(default_factory=Statements, init=False)
    _pages: Width = field(default_factory=lambda: Width(most=PAGES * SLOTS), init=False)
    _frontier: int = field(default=0, init=False)
    _here: Cursor = field(init=False)

    @property
    def name(self) -> str:
        return self.source.source_name

    def run_once(self) -> Step:
        """One step of an audit that is under way or due."""
        return isolating(self._pages, lambda: self._fenced(None), self._fenced)

    def _fenced(self, poison: OneroofError | None) -> Step:
        step, self.run, ended = run_fenced(
            self.connection,
            self.lease,
            lambda batch: self._next(batch, poison),
            worker=NAME,
            source=self.name,
            doing=f"auditing {self.name}",
        )
        self.audits += ended
        if self.second and (ended or step.idle):
            self.second.rest()
        return step

    def _next(self, batch: Batch, poison: OneroofError | None) -> tuple[Step, Run, int]:
        here = batch.cursor
        row = self._execute("frontier", {"source": self.name, "identity": here.identity}).fetchone()
        if row is None or row[0] is None or here.next_xid - row[0] > FARTHEST:
            return RESTING, self.run, 0
        self._frontier, self._here = row[0], here
        at = here.window_at
        if at is None:
            if here.rested < self.interval and not (self.at_once and self.audits == 0):
                return RESTING, self.run, 0
            self._execute("forget", self._given())
            self._execute("uncount", self._given())
            return self._advance(batch, {"step": STEPS[0], "counts": {}}, {})
        self._execute("by_hashing", {})
        done = self._poisoned(at, poison) if poison else self._step(at["step"])(at)
        following, known = (None, {}) if done.at is not None else self._following(at)
        while following in BRIEF and not sum(done.counts.values()):
            at = {"step": following, "counts": at["counts"], **known}
            done = self._step(following)(at)
            following, known = (None, {}) if done.at is not None else self._following(at)
        counts = dict(Counter(at["counts"]) + Counter(done.counts))
        if done.at is not None:
            return self._advance(batch, {**at, **done.at, "counts": counts}, done.counts)
        if following:
            return self._advance(batch, {"step": following, "counts": counts, **known}, done.counts)
        return self._end(batch, at, counts, done)

    def _end(self, batch: Batch, at: dict[str, Any], counts: dict[str, int], done: Done) -> tuple[Step, Run, int]:
        """What was found, as a snapshot, and that it is over."""
        step_done, run, _ = self._advance(batch, {**at, "counts": counts}, done.counts)
        batch.flush()
        snapshot = self._count("snapshot", frontier=self._frontier)
        self._execute("closed", {"worker": NAME, "source": self.name, "snapshot": snapshot})
        self._execute("signals", {})
        mended = sum(count for what, count in counts.items() if what != "held")
        told = {"number": int(batch.cursor.metadata.get("batches") or 0), "seen": run.rows_seen, "repaired": mended}
        emission.emit(self.connection, [emission.completed(COMPLETED, worker=NAME, source=self.name, **told)])
        return step_done, run, 1

    def _following(self, at: dict[str, Any]) -> tuple[str | None, dict[str, int]]:
        """The next step. Where nothing has drifted no keys are compared, and where few have, no buckets are filled."""
        step = at["step"]
        known: dict[str, int] = {name: at[name] for name in ("buckets", "suspects") if name in at}
        if step == "objects":
            members, apart = one(self.connection, queries("full_audit/steps")["drifted"], self._given())[1:]
            known = {"buckets": comparison.buckets(members, apart=apart, few=self.few), "suspects": members}
            if not members:
                return "books", {}
            if known["buckets"] == 1:
                return "found", known
        if step == "object_buckets":
            known["suspects"] = self._count("differing") * -(-at["suspects"] // at["buckets"])
            if not known["suspects"]:
                return "books", {}
        return (None if step == STEPS[-1] else STEPS[STEPS.index(step) + 1]), known

    def _advance(self, batch: Batch, at: dict[str, Any], counts: dict[str, int]) -> tuple[Step, Run, int]:
        # What was only seen is not written.
        written = sum(counts.values()) - counts.get("held", 0)
        run = replace(
            self.run,
            batch_count=self.run.batch_count + 1,
            rows_seen=self.run.rows_seen + written,
            dirty_marked=self.run.dirty_marked + written,
        )
        told = {name: at["counts"].get(key, 0) for key, name in COUNTS.items()}
        batch.advance(
            at=at,
            seen=written,
            written=written,
            summary={**run.summary(), **told, "step": at["step"]},
        )
        return Step(seen=written, written=written, idle=False), run, 0

    def _step(self, name: str) -> Callable[[dict[str, Any]], Done]:
        steps: dict[str, Callable[[dict[str, Any]], Done]] = {
            "notes": self._notes,
            "items": self._items,
            "judgements": self._judgements,
            "rows": self._rows,
            "candidates": self._candidates,
            "objects": self._objects,
            "row_buckets": self._row_buckets,
            "note_buckets": self._note_buckets,
            "candidate_buckets": self._candidate_buckets,
            "object_buckets": self._object_buckets,
            "found": self._found,
            "lost": self._lost,
            "books": lambda _: self._books(),
            "vanished": lambda _: self._vanished(),
            "expired": lambda _: self._expired(),
        }
        return steps[name]

    def _notes(self, at: dict[str, Any]) -> Done:
        """Notes of rows that another stands for: those that are no longer right go, and their rows are looked at."""
        keys = self._some("notes", at)
        torn = comparison.tear(self.connection, self.source, keys) if keys else 0
        left = [key for (key,) in self._execute("noted", self._given(keys=keys))] if keys else []
        if left:
            comparison.take_away(self.connection, self.source, left)
        return Done(self._behind(keys), {"noted": torn})

    def _items(self, at: dict[str, Any]) -> Done:
        """Items whose rows can be applied, or are gone, are over."""
        return failed_item_recheck.look(self.connection, self.source, at, frontier=self._frontier)

    def _judgements(self, at: dict[str, Any]) -> Done:
        """Sets of facts that are not what their hash says are learned anew, and what was judged of the others is judged
        again.
        """
        return rejudgement.doubt_sets(self.connection, self._here, self.source, at, most=judgements.JUDGED)

    def _rows(self, at: dict[str, Any]) -> Done:
        """Add up what the source has."""
        ground = table_files.read_ground(self.connection, self.source)
        if at.get("files", ground.files) != ground.files:
            # A rewrite has moved rows to where the walk has been.
            self._execute("forget", self._given())
            return Done({"step": STEPS[0], "tid": 0, "after": "", "files": ground.files})
        piece = self._piece(at, ground.blocks)
        Sums(self.connection, self.source, self.second).add_rows(piece, end=ground.blocks * SLOTS)
        return Done(piece.then(files=ground.files))

    def _candidates(self, at: dict[str, Any]) -> Done:
        """Add up what is accounted; and see whether verdicts are those of what they are judged by."""
        blocks = self._count("pages")
        piece = self._piece(at, blocks)
        suspects = Sums(self.connection, self.source, self.second).add_candidates(piece, end=blocks * SLOTS)
        marked = self._execute("verdicts", self._given(**piece.given, suspects=suspects)).rowcount if suspects else 0
        return Done(piece.then(), {"verdicts": marked})

    def _objects(self, at: dict[str, Any]) -> Done:
        """What is known of single objects: tombstones have no row, and verdicts may be an object's own. What was judged
        of them is judged again.
        """
        looking = self._statements.get("objects", compose=comparison.looking_at_objects)
        given = self._given(after=at.get("after", ""), batch=self.batch)
        last, looked_at, marked = one(self.connection, looking, given)
        is_last = looked_at < self.batch
        begun, doubted = rejudgement.doubt_objects(
            self.connection, self._here, self.source, at, most=self.batch, is_last=is_last
        )
        return Done(None if is_last else {"after": last, "begun": begun}, {"verdicts": marked, **doubted})

    def _row_buckets(self, at: dict[str, Any]) -> Done:
        """Add up the rows of sets that have drifted by buckets; from the beginning, if a rewrite has moved them."""
        ground = table_files.read_ground(self.connection, self.source)
        anew = at.get("files") != ground.files
        if anew:
            self._execute("empty", self._given())
        piece = self._piece({} if anew else at, ground.blocks)
        adding = self._statements.get("row_buckets", compose=lambda: comparison.rows_in_buckets(self.source))
        self.connection.execute(adding, self._suspects(at, **piece.given))
        return Done(piece.then(files=ground.files))

    def _note_buckets(self, at: dict[str, Any]) -> Done:
        """Rows that another stands for are in no bucket."""
        keys = self._some("notes", at)
        if keys:
            comparison.take_noted(self.connection, self.source, self._suspects(at, keys=keys))
        return Done(self._behind(keys))

    def _candidate_buckets(self, at: dict[str, Any]) -> Done:
        """And the candidates."""
        piece = self._piece(at, self._count("pages"))
        adding = self._statements.get("candidate_buckets", compose=comparison.candidates_in_buckets)
        self.connection.execute(adding, self._suspects(at, **piece.given))
        return Done(piece.then())

    def _object_buckets(self, at: dict[str, Any]) -> Done:
        """Tombstones and what has vanished are in no bucket."""
        keys = self._some("known", at)
        adding = self._statements.get("object_buckets", compose=comparison.buried_in_buckets)
        self.connection.execute(adding, self._suspects(at, keys=keys))
        return Done(self._behind(keys))

    def _found(self, at: dict[str, Any]) -> Done:
        """Rows that are not accounted as they are; some at a time, and the same piece again until there are none."""
        blocks = table_files.read_ground(self.connection, self.source).blocks
        piece = self._piece(at, blocks, most=self._few_pages(at))
        finding = self._statements.get("found", compose=lambda: comparison.found(self.source))
        given = self._suspects(at, **piece.given, batch=self.batch)
        rows = self.connection.execute(finding, given).fetchall()
        counts = comparison.put_right(self.connection, self.source, rows)
        again = len(rows) == self.batch
        return Done({"tid": piece.first} if again else piece.then(), counts)

    def _lost(self, at: dict[str, Any]) -> Done:
        """Candidates without their row: another row that it stood for takes its place, or it has vanished."""
        piece = self._piece(at, self._count("pages"), most=self._few_pages(at))
        asking = self._statements.get("accounted", compose=comparison.accounted)
        rows = self.connection.execute(asking, self._suspects(at, **piece.given)).fetchall()
        through = piece.then()
        candidates, keys = [row[0] for row in rows], [row[1] for row in rows]
        lost = comparison.lost(self.connection, self.source, candidates, keys, frontier=self._frontier) if rows else []
        if not lost:
            return Done(through)
        heirs = dict(self._execute("heirs", self._given(lost=lost)).fetchall())
        mended = comparison.mend(
            self.connection, self.source, list(heirs.values()), reason="audit_successor", heirs=list(heirs)
        )
        comparison.unnote(self.connection, self.source, [key for _, key in mended])
        left = sorted(set(lost).difference(candidate for candidate, _ in mended))
        vanished = self._count("lose", lost=left) if left else 0
        return Done(through, {"succeeded": len(mended), "vanished": vanished})

    def _books(self) -> Done:
        """Groups that were not counted as the books have them, counted again in one snapshot with the books."""
        (groups,) = one(self.connection, queries("full_audit/steps")["miscounted"], self._given())
        return Done(None, {"groups": self._count("recount", groups=groups) if groups else 0})

    def _vanished(self) -> Done:
        """What vanished is retired, or held and asked about (doc 31 §7)."""
        retired = self._count("decide", share=self.vanish_share, least=self.vanish_least, batch=self.batch)
        if retired:
            return Done({}, {"retired": retired})
        return Done(None, {"held": self._count("held")})

    def _expired(self) -> Done:
        """Verdicts whose time is over and that nobody has expired."""
        expired = judgements.call(self.connection, "expire", self.source, most=self.batch)
        return Done({} if expired else None, {"expired": expired})

    def _poisoned(self, at: dict[str, Any], poison: OneroofError) -> Done:
        """A row that cannot be mended, alone at last, becomes an item of the intake."""
        if at["step"] != "found":
            raise poison
        piece = self._piece(at, table_files.read_ground(self.connection, self.source).blocks)
        who = {"worker": INTAKE, "source": self.name, "cursor": None, "keep": apply_batch.FORGET, **describe(poison)}
        given = self._suspects(at, **piece.given, **who)
        staging = apply_batch.staging(comparison.bare(self.source)).as_bytes(None)
        staged = retry_failed.stage(self.connection, self.source, apply_batch.ask(self.source, staging, given))
        return Done(piece.then(), {"failed": staged.written})

    def _piece(self, at: dict[str, Any], blocks: int, *, most: int | None = None) -> Piece:
        first = at.get("tid", 0)
        last = first + min(self._pages.now, most or self._pages.now)
        return Piece(first, last, last if last < blocks * SLOTS else None)

    def _few_pages(self, at: dict[str, Any]) -> int:
        """As many as may hold a few suspects; they are anywhere, so that a piece may well hold some more of them."""
        return max(FEW_PAGES, MANY_PAGES * self.few // max(1, int(at.get("suspects", FARTHEST)))) * SLOTS

    def _some(self, what: str, at: dict[str, Any]) -> list[str]:
        return [key for (key,) in self._execute(what, self._given(after=at.get("after", ""), batch=self.batch))]

    def _behind(self, keys: list[str]) -> dict[str, Any] | None:
        """Where to go on behind a batch of keys; nowhere, if it was not full."""
        return {"after": keys[-1]} if len(keys) == self.batch else None

    def _suspects(self, at: dict[str, Any], **given: Any) -> dict[str, Any]:
        drifted = one(self.connection, queries("full_audit/steps")["drifted"], self._given())[0]
        horizon = str(self._frontier % EPOCH)
        return self._given(drifted=drifted, mask=at.get("buckets", 1) - 1, horizon=horizon, **given)

    def _execute(self, what: str, given: dict[str, Any]) -> Any:
        return self.connection.execute(queries("full_audit/steps")[what], given)

    def _count(self, what: str, **given: Any) -> int:
        return int(one(self.connection, queries("full_audit/steps")[what], self._given(**given))[0])

    def _given(self, **given: Any) -> dict[str, Any]:
        return {"scope": self.name, **given}
