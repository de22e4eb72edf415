"""Everything that leads to a verdict, run to its end in a test; and what must be true of the verdicts then."""

from __future__ import annotations

from itertools import product

from inventory import emit_signals, settle, until_idle
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.fence import lease
from oneroof.sources import registration
from oneroof.sources.source import Source
from oneroof.workers import backfill_sweep, candidate_scan, handoff_intake, input_gate, periodic_full_audit
from oneroof.workers.backfill_sweep import BackfillSweep
from oneroof.workers.candidate_scan import CandidateScan
from oneroof.workers.handoff_intake import HandoffIntake
from oneroof.workers.input_gate import InputGate
from oneroof.workers.periodic_full_audit import FullAudit

BIRTHS = "birth_registry"

# Each candidate judged by itself, from its row as it is now and not from any fact set, against the verdict it has.
WRONG = """
WITH known AS MATERIALIZED (SELECT class, facts FROM oneroof.gov_class_facts() WHERE source_name = 'birth_registry'),
each AS MATERIALIZED (
  SELECT c.candidate_key, c.verdict, c.undecided_reason, c.input_quality_state, row_number() OVER () AS ordinal,
         oneroof.gov_facts_of('birth_registry'::text, b.collection_name,
           CASE WHEN b.governance_role = 'leaf' THEN 'inherited' ELSE 'governed' END,
           jsonb_build_object('collection_name', b.collection_name, 'status', b.status, 'species_code', b.species_code,
             'governance_role', b.governance_role, 'certified', b.certified::text, 'actor_ref', b.actor_ref,
             'source_system', b.source_system), k.facts, o.facts) AS facts
  FROM oneroof.governance_candidate_state AS c
  JOIN birth_registry AS b ON b.id::text = c.source_key
  LEFT JOIN known AS k ON k.class = b.collection_name
  LEFT JOIN oneroof.governance_object AS o ON o.candidate_key = c.candidate_key
  WHERE c.source_name = 'birth_registry')
SELECT format('%s is %s (%s), input %s; its facts say %s (%s), input %s', e.candidate_key, e.verdict,
              e.undecided_reason, e.input_quality_state, j.verdict, j.undecided_reason, j.input_state)
FROM oneroof.gov_rules_evaluate((SELECT array_agg(facts ORDER BY ordinal) FROM each), NULL) AS j JOIN each AS e
  USING (ordinal)
WHERE (e.verdict, e.undecided_reason, e.input_quality_state)
      IS DISTINCT FROM (j.verdict, j.undecided_reason, j.input_state)
"""

MISCOUNTED = """
SELECT source_name, group_key, grain, verdict, reason, counted, booked
FROM (SELECT source_name, group_key, grain, verdict, coalesce(undecided_reason, '') AS reason, count(*) AS counted
      FROM oneroof.governance_candidate_state GROUP BY 1, 2, 3, 4, 5) AS c
FULL JOIN (SELECT source_name, group_key, grain, verdict, undecided_reason AS reason, sum(members) AS booked
           FROM oneroof.governance_ledger GROUP BY 1, 2, 3, 4, 5 HAVING sum(members) <> 0) AS l
  USING (source_name, group_key, grain, verdict, reason)
WHERE counted IS DISTINCT FROM booked
"""


def births(connection: Connection) -> Source:
    return registration.find(connection, BIRTHS)


def sweep(connection: Connection, tailed: Source, *, batch: int = 500) -> None:
    settle(connection)
    held = lease.claim(connection, f"{backfill_sweep.NAME}:{tailed.source_name}", instance="test")
    until_idle(BackfillSweep(connection, tailed, held, batch=batch))
    lease.release(connection, held)


def intake(connection: Connection, tailed: Source, *, batch: int = 500, quietly: bool = True) -> None:
    """All that is new; `quietly` means when nobody else is at work."""
    if quietly:
        settle(connection)
    held = lease.claim(connection, f"{handoff_intake.NAME}:{tailed.source_name}", instance="test")
    until_idle(HandoffIntake(connection, tailed, held, batch=batch, at_once=True))
    lease.release(connection, held)
    emit_signals(connection, tailed)


def judge(connection: Connection, *tailed: Source, batch: int = 500) -> None:
    """The gate and the scan of these sources, until none has anything left."""
    for _ in range(10):
        for each, worker in product(tailed, (input_gate.NAME, candidate_scan.NAME)):
            held = lease.claim(connection, f"{worker}:{each.source_name}", instance="test")
            if worker == input_gate.NAME:
                until_idle(InputGate(connection, each, held, batch=batch))
            else:
                until_idle(CandidateScan(connection, each, held, batch=batch, at_once=True))
            lease.release(connection, held)
        if not one(connection, "SELECT EXISTS (SELECT FROM oneroof.governance_candidate_state WHERE dirty)")[0]:
            return
    left = connection.execute(
        "SELECT candidate_key, dirty_reason, input_quality_state FROM oneroof.governance_candidate_state WHERE dirty"
    )
    raise AssertionError(f"ten rounds, and something is dirty: {left.fetchmany(3)}")


def audit(connection: Connection, tailed: Source) -> None:
    """A whole audit, as an instance of its own."""
    settle(connection)
    held = lease.claim(connection, f"{periodic_full_audit.NAME}:{tailed.source_name}", instance="test")
    until_idle(FullAudit(connection, tailed, held, at_once=True))
    lease.release(connection, held)


def check(connection: Connection) -> None:
    """Every verdict is the one that its facts deserve now, nothing is dirty, and the books agree with a recount."""
    wrong = [each for (each,) in connection.execute(WRONG).fetchall()]
    assert wrong == [], f"{len(wrong)}: {wrong[:5]}"
    assert connection.execute(MISCOUNTED).fetchall() == []
    assert one(connection, "SELECT count(*) FROM oneroof.governance_candidate_state WHERE dirty") == (0,)
