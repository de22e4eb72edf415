"""oneroof: a governance verdict for every object, kept current, and a proof that none was missed.

The one way through (docs/explanation/flow.md):

    source row ─▶ tail ─▶ handoff ─▶ dirty mark ─▶ input gate ─▶ candidate scan ─▶ verdict
                                                                        │
                        findings ◀──────────────────────────────────────┤
                           │                                            ▼
                  signals ─▶ inbox / routes                   ledger ─▶ proof ─▶ certificate

Imports point one way: config errors model ← db ← migrate people approvals gate doctor ← cli.
"""

__version__ = "0.1.0"
