"""The steps of a full audit: each looks at a part of a source and its candidates, in one transaction (doc 31 §7, §9).

A step says where to go on in its part, or that it is over, and what it has put right. `following` says which step comes
next: where nothing has drifted no keys are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oneroof.candidates import apply_batch
from oneroof.candidates.apply_batch import Statements
from oneroof.database.parallel_reader import ParallelReader
from oneroof.database.statements import one, queries
from oneroof.errors import OneroofError
from oneroof.failures.batch_size import Width
from oneroof.failures.error_kinds import describe
from oneroof.fence.fenced_batch import Batch
from oneroof.full_audit import comparison, failed_item_recheck, rejudgement
from oneroof.full_audit.comparison import Done, Piece
from oneroof.full_audit.range_sums import Sums
from oneroof.intake import retry_failed
from oneroof.judgement import judgements
from oneroof.sources.row_expressions import EPOCH
from oneroof.sources.source import Source
from oneroof.tail import table_files
from oneroof.tail.row_queries import FARTHEST, SLOTS

# Pages of rows or candidates that are looked for one by one: where all may be suspects, and where only a few are.
FEW_PAGES, MANY_PAGES = 128, 8_192
# What failed for good goes on as the intake's item, which tries it again.
INTAKE = "gov_handoff_intake"
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


@dataclass(frozen=True, slots=True)
class AuditSteps:
    """The steps of one source's audit in one transaction. Up to `few` suspects are looked for one by one; more than
    `vanish_share` of a group, and at least `vanish_least`, may not vanish at once.
    """

    batch: Batch
    source: Source
    frontier: int
    size: int
    few: int
    vanish_share: float
    vanish_least: int
    pages: Width
    statements: Statements
    second: ParallelReader | None

    def following(self, at: dict[str, Any]) -> tuple[str | None, dict[str, int]]:
        """The next step. Where nothing has drifted no keys are compared, and where few have, no buckets are filled."""
        step = at["step"]
        known: dict[str, int] = {name: at[name] for name in ("buckets", "suspects") if name in at}
        if step == "objects":
            members, apart = one(self.batch.connection, queries("full_audit/steps")["drifted"], self.given())[1:]
            known = {"buckets": comparison.buckets(members, apart=apart, few=self.few), "suspects": members}
            if not members:
                return "books", {}
            if known["buckets"] == 1:
                return "found", known
        if step == "object_buckets":
            known["suspects"] = self.count("differing") * -(-at["suspects"] // at["buckets"])
            if not known["suspects"]:
                return "books", {}
        return (None if step == STEPS[-1] else STEPS[STEPS.index(step) + 1]), known

    def run(self, at: dict[str, Any]) -> Done:
        """The step where the audit stands."""
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
        return steps[at["step"]](at)

    def _notes(self, at: dict[str, Any]) -> Done:
        """Notes of rows that another stands for: those that are no longer right go, and their rows are looked at."""
        keys = self._some("notes", at)
        torn = comparison.tear(self.batch.connection, self.source, keys) if keys else 0
        left = [key for (key,) in self.execute("noted", self.given(keys=keys))] if keys else []
        if left:
            comparison.take_away(self.batch.connection, self.source, left)
        return Done(self._behind(keys), {"noted": torn})

    def _items(self, at: dict[str, Any]) -> Done:
        """Items whose rows can be applied, or are gone, are over."""
        return failed_item_recheck.look(self.batch.connection, self.source, at, frontier=self.frontier)

    def _judgements(self, at: dict[str, Any]) -> Done:
        """Sets of facts that are not what their hash says are learned anew, and what was judged of the others is judged
        again.
        """
        return rejudgement.doubt_sets(self.batch.connection, self.batch.cursor, self.source, at, most=judgements.JUDGED)

    def _rows(self, at: dict[str, Any]) -> Done:
        """Add up what the source has."""
        ground = table_files.read_ground(self.batch.connection, self.source)
        if at.get("files", ground.files) != ground.files:
            # A rewrite has moved rows to where the step has been.
            self.execute("forget", self.given())
            return Done({"step": STEPS[0], "tid": 0, "after": "", "files": ground.files})
        piece = self._piece(at, ground.blocks)
        Sums(self.batch.connection, self.source, self.second).add_rows(piece, end=ground.blocks * SLOTS)
        return Done(piece.then(files=ground.files))

    def _candidates(self, at: dict[str, Any]) -> Done:
        """Add up what is accounted; and see whether verdicts are those of what they are judged by."""
        blocks = self.count("pages")
        piece = self._piece(at, blocks)
        suspects = Sums(self.batch.connection, self.source, self.second).add_candidates(piece, end=blocks * SLOTS)
        marked = self.execute("verdicts", self.given(**piece.given, suspects=suspects)).rowcount if suspects else 0
        return Done(piece.then(), {"verdicts": marked})

    def _objects(self, at: dict[str, Any]) -> Done:
        """What is known of single objects: tombstones have no row, and verdicts may be an object's own. What was judged
        of them is judged again.
        """
        looking = self.statements.get("objects", compose=comparison.looking_at_objects)
        given = self.given(after=at.get("after", ""), batch=self.size)
        last, looked_at, marked = one(self.batch.connection, looking, given)
        is_last = looked_at < self.size
        begun, doubted = rejudgement.doubt_objects(
            self.batch.connection, self.batch.cursor, self.source, at, most=self.size, is_last=is_last
        )
        return Done(None if is_last else {"after": last, "begun": begun}, {"verdicts": marked, **doubted})

    def _row_buckets(self, at: dict[str, Any]) -> Done:
        """Add up the rows of sets that have drifted by buckets; from the beginning, if a rewrite has moved them."""
        ground = table_files.read_ground(self.batch.connection, self.source)
        anew = at.get("files") != ground.files
        if anew:
            self.execute("empty", self.given())
        piece = self._piece({} if anew else at, ground.blocks)
        adding = self.statements.get("row_buckets", compose=lambda: comparison.rows_in_buckets(self.source))
        self.batch.connection.execute(adding, self._suspects(at, **piece.given))
        return Done(piece.then(files=ground.files))

    def _note_buckets(self, at: dict[str, Any]) -> Done:
        """Rows that another stands for are in no bucket."""
        keys = self._some("notes", at)
        if keys:
            comparison.take_noted(self.batch.connection, self.source, self._suspects(at, keys=keys))
        return Done(self._behind(keys))

    def _candidate_buckets(self, at: dict[str, Any]) -> Done:
        """And the candidates."""
        piece = self._piece(at, self.count("pages"))
        adding = self.statements.get("candidate_buckets", compose=comparison.candidates_in_buckets)
        self.batch.connection.execute(adding, self._suspects(at, **piece.given))
        return Done(piece.then())

    def _object_buckets(self, at: dict[str, Any]) -> Done:
        """Tombstones and what has vanished are in no bucket."""
        keys = self._some("known", at)
        adding = self.statements.get("object_buckets", compose=comparison.buried_in_buckets)
        self.batch.connection.execute(adding, self._suspects(at, keys=keys))
        return Done(self._behind(keys))

    def _found(self, at: dict[str, Any]) -> Done:
        """Rows that are not accounted as they are; some at a time, and the same piece again until there are none."""
        blocks = table_files.read_ground(self.batch.connection, self.source).blocks
        piece = self._piece(at, blocks, most=self._few_pages(at))
        finding = self.statements.get("found", compose=lambda: comparison.found(self.source))
        given = self._suspects(at, **piece.given, batch=self.size)
        rows = self.batch.connection.execute(finding, given).fetchall()
        counts = comparison.put_right(self.batch.connection, self.source, rows)
        again = len(rows) == self.size
        return Done({"tid": piece.first} if again else piece.then(), counts)

    def _lost(self, at: dict[str, Any]) -> Done:
        """Candidates without their row: another row that it stood for takes its place, or it has vanished."""
        piece = self._piece(at, self.count("pages"), most=self._few_pages(at))
        asking = self.statements.get("accounted", compose=comparison.accounted)
        rows = self.batch.connection.execute(asking, self._suspects(at, **piece.given)).fetchall()
        through = piece.then()
        candidates, keys = [row[0] for row in rows], [row[1] for row in rows]
        lost = (
            comparison.lost(self.batch.connection, self.source, candidates, keys, frontier=self.frontier)
            if rows
            else []
        )
        if not lost:
            return Done(through)
        heirs = dict(self.execute("heirs", self.given(lost=lost)).fetchall())
        mended = comparison.mend(
            self.batch.connection, self.source, list(heirs.values()), reason="audit_successor", heirs=list(heirs)
        )
        comparison.unnote(self.batch.connection, self.source, [key for _, key in mended])
        left = sorted(set(lost).difference(candidate for candidate, _ in mended))
        vanished = self.count("lose", lost=left) if left else 0
        return Done(through, {"succeeded": len(mended), "vanished": vanished})

    def _books(self) -> Done:
        """Groups that were not counted as the books have them, counted again in one snapshot with the books."""
        (groups,) = one(self.batch.connection, queries("full_audit/steps")["miscounted"], self.given())
        return Done(None, {"groups": self.count("recount", groups=groups) if groups else 0})

    def _vanished(self) -> Done:
        """What vanished is retired, or held and asked about (doc 31 §7)."""
        retired = self.count("decide", share=self.vanish_share, least=self.vanish_least, batch=self.size)
        if retired:
            return Done({}, {"retired": retired})
        return Done(None, {"held": self.count("held")})

    def _expired(self) -> Done:
        """Verdicts whose time is over and that the scan has not expired."""
        expired = judgements.call(self.batch.connection, "expire", self.source, most=self.size)
        return Done({} if expired else None, {"expired": expired})

    def put_aside(self, at: dict[str, Any], poison: OneroofError) -> Done:
        """A row that cannot be mended, alone at last, becomes an item of the intake."""
        if at["step"] != "found":
            raise poison
        piece = self._piece(at, table_files.read_ground(self.batch.connection, self.source).blocks)
        who = {
            "worker": INTAKE,
            "source": self.source.source_name,
            "cursor": None,
            "keep": apply_batch.FORGET,
            **describe(poison),
        }
        given = self._suspects(at, **piece.given, **who)
        staging = apply_batch.staging(comparison.bare(self.source)).as_bytes(None)
        staged = retry_failed.stage(self.batch.connection, self.source, apply_batch.ask(self.source, staging, given))
        return Done(piece.then(), {"failed": staged.written})

    def _piece(self, at: dict[str, Any], blocks: int, *, most: int | None = None) -> Piece:
        first = at.get("tid", 0)
        last = first + min(self.pages.now, most or self.pages.now)
        return Piece(first, last, last if last < blocks * SLOTS else None)

    def _few_pages(self, at: dict[str, Any]) -> int:
        """As many as may hold a few suspects; they are anywhere, so that a piece may well hold some more of them."""
        return max(FEW_PAGES, MANY_PAGES * self.few // max(1, int(at.get("suspects", FARTHEST)))) * SLOTS

    def _some(self, what: str, at: dict[str, Any]) -> list[str]:
        return [key for (key,) in self.execute(what, self.given(after=at.get("after", ""), batch=self.size))]

    def _behind(self, keys: list[str]) -> dict[str, Any] | None:
        """Where to go on behind a batch of keys; nowhere, if it was not full."""
        return {"after": keys[-1]} if len(keys) == self.size else None

    def _suspects(self, at: dict[str, Any], **given: Any) -> dict[str, Any]:
        drifted = one(self.batch.connection, queries("full_audit/steps")["drifted"], self.given())[0]
        horizon = str(self.frontier % EPOCH)
        return self.given(drifted=drifted, mask=at.get("buckets", 1) - 1, horizon=horizon, **given)

    def execute(self, what: str, given: dict[str, Any]) -> Any:
        return self.batch.connection.execute(queries("full_audit/steps")[what], given)

    def count(self, what: str, **given: Any) -> int:
        return int(one(self.batch.connection, queries("full_audit/steps")[what], self.given(**given))[0])

    def given(self, **given: Any) -> dict[str, Any]:
        return {"scope": self.source.source_name, **given}
