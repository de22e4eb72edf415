"""oneroof: a governance verdict for every object, kept current, and a proof that none was missed.

The one way through (docs/explanation/flow.md):

    source row ─▶ tail ─▶ handoff ─▶ dirty mark ─▶ input gate ─▶ candidate scan ─▶ verdict
                                                                        │
                        findings ◀──────────────────────────────────────┤
                           │                                            ▼
                  signals ─▶ inbox / routes                   ledger ─▶ proof ─▶ certificate

The ground (docs/explanation/install.md, four-eyes.md, embedded.md): substrate, script, migrate, doctor; people,
approvals, gates; embedded; estate. The workers (tail.md, handoff.md, retry.md, supervisor.md, liveness.md): source,
tail, cursor, batch and handoff say what is read and applied; lease and worker fence it; retry takes what fails; lane,
control and supervisor run it, replay reads again; watch, findings and status tell how it is. Who answers for what
(ownership.md): owner_lines, owners, exceptions.
The rules (rules.md): rules, cases, matches. What people review and hand in is a document. The proof (proof.md): walk
reads one snapshot, recount counts, reckoning and deriving compare, proof closes the books, certificate is what is left
of it, witness keeps it. Signals (events.md): vocabulary is what may be said, events lets it out, signals reads it
again, inbox is what of it a recipient wants to see.

Imports point one way; tests/unit/test_import_direction.py has the layers:

    errors model moment document ← config owner_lines certificate vocabulary ← db
      ← substrate embedded approvals aside channels exceptions findings lease owners policy retry width
      ← estate script events gates kinds people rules source vanishing
      ← migrate columns cursor batch cases catalog guard inbox matches watch
      ← memory ← tail fingerprint handoff signals
      ← duty facts forgetting known lull reconcile streak strip telling ranges walk window worker control
      ← asking doubt retries recount ← ahead reckoning ← beside ← workers deriving ← executor ← lane
      ← supervisor status trace replay ← doctor ← proof ← witness ← cli
"""

__version__ = "0.1.0"
