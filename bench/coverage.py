"""Keeping verdicts current, and proving them: 1 % of the objects changed, one collection's policy changed, the proof,
the proof that derives everything again, and an audit that finds nothing.

What a proof is measured against is one sequential scan of both tables that reads the keys it compares, without parallel
workers.
"""

from __future__ import annotations

from statistics import median
from time import monotonic

from bench.figure import Figure
from bench.ground import CANDIDATES, Ground, Trial, say, serially
from oneroof import db, proof
from oneroof.supervisor import NAMES
from oneroof.workers import candidate_scan, full_audit, handoff_intake, input_gate

JUDGES = [handoff_intake.NAME, input_gate.NAME, candidate_scan.NAME]
SCAN = (
    "SELECT count(entity_code), count(collection_name) FROM public.birth_registry",
    f"SELECT count(source_key), count(candidate_key), count(verdict) FROM {CANDIDATES}",
)


def run(trial: Trial) -> list[Figure]:
    """A complete estate; then each of them in every round."""
    ground = trial.ground()
    ground.forget()
    began = monotonic()
    ground.sweep()
    full = monotonic() - began
    ground.run(list(NAMES))
    ground.settle()
    absorbed, scans, proofs, deeps, audits = [], [], [], [], []
    for number in trial.each_round():
        absorbed.append(_absorb(ground, number))
        ground.settle()
        scans.append(_scan(ground))
        proofs.append(_prove(ground, deep=False))
        deeps.append(_prove(ground, deep=True))
        audits.append(ground.run([full_audit.NAME], named=True))
        say(
            f"round {number}: 1 % {absorbed[-1]:.2f} s, scan {scans[-1]:.2f} s, proof {proofs[-1]:.2f} s, "
            f"deep {deeps[-1]:.2f} s, audit {audits[-1]:.2f} s"
        )
    small, large = _policy(ground, few=True), _policy(ground, few=False)
    scan = median(scans)
    return [
        Figure(name="1 % of the objects changed / full backfill", value=median(absorbed) / full, goal=0.03),
        Figure(name="policy of a class, time a member, large / small", value=large / small, goal=1.3),
        Figure(name="prove / one scan of both tables", value=median(proofs) / scan, goal=3.5),
        Figure(name="prove --deep / one scan of both tables", value=median(deeps) / scan, goal=8.0),
        Figure(name="audit with nothing wrong / one scan of both tables", value=median(audits) / scan, goal=4.5),
    ]


def _absorb(ground: Ground, number: int) -> float:
    """Every hundredth object changes its status, in one statement; seconds until all is judged."""
    ground.admin.execute(
        "UPDATE public.birth_registry SET status = CASE status WHEN 'born' THEN 'active' ELSE 'born' END"
        " WHERE id %% 100 = %s",
        (number,),
    )
    return ground.run(JUDGES)


def _scan(ground: Ground) -> float:
    with serially(ground.admin):
        began = monotonic()
        for statement in SCAN:
            ground.admin.execute(statement)
        return monotonic() - began


def _prove(ground: Ground, *, deep: bool) -> float:
    began = monotonic()
    found = proof.prove(ground.admin, deep=deep, progress=lambda *_: None)
    assert found.is_balanced
    return monotonic() - began


def _policy(ground: Ground, *, few: bool) -> float:
    """Seconds a member that a changed decision takes, of a small or of the largest covered collection."""
    order = "" if few else "DESC"
    name, members = db.one(
        ground.admin,
        "SELECT f.class, count(*) FROM public.governance_fact_set AS f"
        f" JOIN {CANDIDATES} AS c ON c.facts_hash = f.facts_hash WHERE c.verdict = 'covered'"
        f" GROUP BY 1 HAVING count(*) > 2000 ORDER BY 2 {order} LIMIT 1",
    )
    ground.admin.execute(
        "UPDATE public.collection_registry SET coverage_scope_status = 'FUTURE_SCOPE',"
        " coverage_status = 'BIRTH_DEFERRED_NEEDS_REVIEW' WHERE collection_name = %s",
        (name,),
    )
    return ground.run([candidate_scan.NAME]) / int(members)
