"""Keeping verdicts current, and proving them: 1 % of the objects changed, one collection's policy changed, the proof,
the proof that derives everything again, an audit that finds nothing, and what a person opens.

The 1 % are the youngest objects, which is where most changes are; and, far worse for any index, every hundredth. Both
are measured like the full backfill: until the last object has its verdict, by a run of the workers that give it,
connections included. What PostgreSQL itself takes to update as many candidates, without asking anybody for a verdict,
is told beside it. What a proof is measured against is one sequential scan of both tables that reads the keys it
compares, without parallel workers; the proof reads with two connections, as the command does.
"""

from __future__ import annotations

from statistics import median
from time import monotonic

from bench.figure import Figure
from bench.ground import CANDIDATES, Ground, Trial, say, serially
from oneroof.database.statements import one
from oneroof.proof import prove
from oneroof.runtime.progress import Report
from oneroof.runtime.supervisor import NAMES
from oneroof.workers import (
    backfill_sweep,
    candidate_scan,
    handoff_intake,
    handoff_signals,
    input_gate,
    periodic_full_audit,
)

JUDGES = [handoff_intake.NAME, input_gate.NAME, candidate_scan.NAME]
SCAN = (
    "SELECT count(entity_code), count(collection_name) FROM public.birth_registry",
    f"SELECT count(source_key), count(candidate_key), count(verdict) FROM {CANDIDATES}",
)
CHANGES = f"SELECT sum(change_number) FILTER (WHERE NOT dirty) FROM {CANDIDATES}"
BARE_UPDATE = f"""UPDATE {CANDIDATES} AS c
SET facts_hash = b.facts_hash, group_key = b.group_key, source_version = pg_current_xact_id()::xid,
    change_number = c.change_number + 1, scan_time = now(), updated_at = now()
FROM public.bench_changed AS b
WHERE c.candidate_key = b.candidate_key
  AND c.candidate_key = ANY (ARRAY(SELECT candidate_key FROM public.bench_changed))"""
FEW_MANY = (20, 200)
YOUNGEST = "id > (SELECT max(id) - max(id) / 100 FROM public.birth_registry)"
EVERY_HUNDREDTH = "id % 100 = {}"
# The last rule of each kind, so that every object has a verdict, and others, taken over and over, as many as wanted.
RULES = """INSERT INTO oneroof.governance_ruleset_rule
SELECT (jsonb_populate_record(r, jsonb_build_object(
         'rule_code', r.rule_code || '_' || n, 'priority', r.priority + 1000000 * (n - 1)))).*
FROM (SELECT b.*, b.rule_kind <> 'finding' AND b.priority = max(b.priority) OVER (PARTITION BY b.rule_kind) AS is_last
      FROM public.bench_rules AS b) AS k
JOIN public.bench_rules AS r USING (rule_code) CROSS JOIN generate_series(1, 100) AS n
WHERE n = 1 OR r.rule_kind = 'finding'
ORDER BY n, k.is_last DESC, r.priority
LIMIT %(number)s"""
SUMMARIES = ("v_governance_books", "v_governance_group", "v_governance_depth", "v_worker_status", "v_finding")


def run(trial: Trial) -> list[Figure]:
    """Each of them in every round, right behind what it is measured against: on a machine that is twice as fast a
    minute later, the ratio of a round says more than that of two medians.
    """
    ground = trial.ground()
    ratios: dict[str, list[float]] = {}
    for number in trial.each_round():
        full = _backfill(ground)
        ground.run(list(NAMES))
        ground.settle()
        absorbed, scattered = _absorb(ground, YOUNGEST), _absorb(ground, EVERY_HUNDREDTH.format(number))
        ground.settle()
        barely = _update_barely(ground, EVERY_HUNDREDTH.format(100 - number))
        ground.settle()
        scan, plain, deep = _scan(ground), _prove(ground, deep=False), _prove(ground, deep=True)
        audit = ground.run([periodic_full_audit.NAME], named=True)
        say(
            f"round {number}: backfill {full:.2f} s, 1 % {absorbed:.2f} s, scattered {scattered:.2f} s (barely "
            f"{barely:.2f} s), scan {scan:.2f} s, proof {plain:.2f} s, deep {deep:.2f} s, audit {audit:.2f} s"
        )
        told = {"1 %": absorbed / full, "scattered": scattered / full, "barely": barely / full}
        told |= {"proof": plain / scan, "deep": deep / scan, "audit": audit / scan}
        for name, ratio in told.items():
            ratios.setdefault(name, []).append(ratio)
    of = {name: median(each) for name, each in ratios.items()}
    say(f"a bare update of every hundredth candidate is {of['barely']:.3f} of a full backfill")
    small, large = _policy(ground, few=True), _policy(ground, few=False)
    return [
        Figure(name="1 % of the objects changed / full backfill", value=of["1 %"], goal=0.08),
        Figure(name="every hundredth object changed / full backfill", value=of["scattered"], goal=0.08),
        Figure(name="policy of a class, time a member, large / small", value=large / small, goal=1.3),
        Figure(name="prove / one scan of both tables", value=of["proof"], goal=3.5),
        Figure(name="prove --deep / one scan of both tables", value=of["deep"], goal=8.0),
        Figure(name="audit with nothing wrong / one scan of both tables", value=of["audit"], goal=4.5),
        Figure(name="full backfill with 200 rules / with 20", value=_rules(trial, ground), goal=1.1),
        Figure(name="slowest summary view, in the server", value=_slowest_view(ground), goal=5.0, unit="ms"),
    ]


def _backfill(ground: Ground) -> float:
    """Seconds until the last object of an estate that nobody has looked at has its verdict."""
    ground.forget()
    ground.calm()
    seconds = _until_judged(ground, [backfill_sweep.NAME, *JUDGES])
    ground.check()
    return seconds


def _until_judged(ground: Ground, workers: list[str]) -> float:
    """Seconds until the last verdict. The passes that then find nothing, and what is told of it, are not its cost."""
    began = ended = monotonic()

    def tell(report: Report) -> None:
        nonlocal ended
        if report.step is not None and report.step.written and not report.executor.endswith(f"/{handoff_signals.PART}"):
            ended = monotonic()

    ground.run(workers, tell=tell)
    assert one(ground.admin, f"SELECT count(*) FROM {CANDIDATES} WHERE dirty") == (0,)
    return ended - began


def _update_barely(ground: Ground, which: str) -> float:
    """Seconds of a bare UPDATE of the candidates of some births, as one statement that nobody hears of and that is
    taken back: what it changes is what a change of their status does.
    """
    ground.admin.execute("DROP TABLE IF EXISTS public.bench_changed")
    ground.admin.execute(
        "CREATE TABLE public.bench_changed AS SELECT c.candidate_key, c.facts_hash # 1 AS facts_hash, c.group_key"
        f" FROM public.birth_registry AS s JOIN {CANDIDATES} AS c ON c.source_key = s.id::text WHERE s.{which}"
    )
    with ground.admin.transaction(force_rollback=True):
        for setting in ("session_replication_role = replica", "enable_nestloop = off", "enable_seqscan = off"):
            ground.admin.execute(f"SET LOCAL {setting}")
        began = monotonic()
        ground.admin.execute(BARE_UPDATE)
        return monotonic() - began


def _absorb(ground: Ground, which: str) -> float:
    """Some objects change their status, in one statement; seconds until the last of them has its verdict."""
    changed = ground.admin.execute(
        f"UPDATE public.birth_registry SET status = CASE status WHEN 'born' THEN 'active' ELSE 'born' END WHERE {which}"
    ).rowcount
    (before,) = one(ground.admin, CHANGES)
    ground.calm()
    seconds = _until_judged(ground, JUDGES)
    (after,) = one(ground.admin, CHANGES)
    assert after - before == changed, (after - before, changed)
    return seconds


def _scan(ground: Ground) -> float:
    with serially(ground.admin):
        began = monotonic()
        for statement in SCAN:
            ground.admin.execute(statement)
        return monotonic() - began


def _prove(ground: Ground, *, deep: bool) -> float:
    began = monotonic()
    with ground.dial() as other:
        found = prove.prove(ground.admin, deep=deep, progress=lambda *_: None, others=[other])
    assert found.is_balanced
    return monotonic() - began


def _rules(trial: Trial, ground: Ground) -> float:
    """How much longer a full backfill takes, verdicts and all, with 200 rules than with 20, which are first in every
    other round.
    """
    ground.admin.execute(
        "CREATE TABLE public.bench_rules AS SELECT r.* FROM oneroof.governance_ruleset_rule AS r"
        " WHERE r.ruleset_version = oneroof.gov_ruleset_active()"
    )
    ratios = []
    for turn in trial.each_round():
        taken = {number: _sweep_with(ground, number) for number in (FEW_MANY if turn % 2 else FEW_MANY[::-1])}
        few, many = (taken[number] for number in FEW_MANY)
        say(f"20 rules {few:.2f} s, 200 rules {many:.2f} s")
        ratios.append(many / few)
    return median(ratios)


def _sweep_with(ground: Ground, number: int) -> float:
    with ground.admin.transaction():
        ground.admin.execute(
            "DELETE FROM oneroof.governance_ruleset_rule WHERE ruleset_version = oneroof.gov_ruleset_active()"
        )
        ground.admin.execute(RULES, {"number": number})
    ground.forget()
    ground.calm()
    return ground.sweep()


def _slowest_view(ground: Ground) -> float:
    """Milliseconds in the server of the slowest of what a person opens, each by its median."""
    return max(median(_milliseconds(ground, view) for _ in range(5)) for view in SUMMARIES)


def _milliseconds(ground: Ground, view: str) -> float:
    ((plan,),) = ground.admin.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT * FROM oneroof.{view}")
    return float(plan[0]["Execution Time"])


def _policy(ground: Ground, *, few: bool) -> float:
    """Seconds a member that a changed decision takes, of a small or of the largest covered collection."""
    order = "" if few else "DESC"
    name, members = one(
        ground.admin,
        "SELECT f.class, count(*) FROM oneroof.governance_fact_set AS f"
        f" JOIN {CANDIDATES} AS c ON c.facts_hash = f.facts_hash WHERE c.verdict = 'covered'"
        f" GROUP BY 1 HAVING count(*) > 2000 ORDER BY 2 {order} LIMIT 1",
    )
    ground.admin.execute(
        "UPDATE public.collection_registry SET coverage_scope_status = 'FUTURE_SCOPE',"
        " coverage_status = 'BIRTH_DEFERRED_NEEDS_REVIEW' WHERE collection_name = %s",
        (name,),
    )
    return ground.run([candidate_scan.NAME]) / int(members)
