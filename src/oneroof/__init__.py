"""oneroof: a governance verdict for every object, kept current, and a proof that none was missed.

The one way through (docs/explanation/flow.md), and the room in which each step stands:

    source row ─▶ tail ─▶ intake ─▶ candidates ─▶ judgement ─▶ verdict
                                                     │
                      findings ◀─────────────────────┤
                         │                           ▼
                      signals                     ledger ─▶ proof ─▶ certificate

One row, from its birth to its certificate:

     1  runtime/worker_thread     takes the assignment that is due, and asks admission
     2  workers/handoff_intake    newest rows, then a part of the frontier pass, then failed items
     3  intake/newest_rows        or intake/frontier_pass: which rows to read next
     4  fence/fenced_batch        BEGIN, settings, lease and cursor, in one message
     5  tail/row_queries          the SELECT, the only SQL that is composed
     6  tail/open_set             whether a row was seen before
     7  candidates/apply_batch    the one statement that writes candidates
     8  gov_ledger_move           the trigger that counts by group and verdict
     9  fence/cursor              the cursor moves, in one message with COMMIT
    10  judgement/judgements      judges facts that are new, changed or expired
    11  proof/prove               closes the books in one snapshot
    12  proof/certificate         seals them; proof/certificate_store keeps them

The rooms, lower first; a room imports only from itself and from those below, and tests/rooms.py is their one list:

    database    connections, transactions, named queries     people      requests, approvals, gates, owners
    host        the tables and channels of the host          sources     the tables that are followed
    candidates  what is accounted, and the ledger            failures    what failed, waits or is dead
    fence       leases, cursors, the transaction of a batch  tail        which rows are new, and where they lie
    judgement   rules, fact sets, verdicts                   intake      what a change does
    backfill    an inventory from its beginning              signals     types, outbox, inbox
    install     install, upgrade, uninstall, doctor          findings    open issues, and their counts
    proof       one snapshot, and the certificate            full_audit  sources against candidates, both ways
    workers     the five of the family                       runtime     which worker runs when
    reads       status and trace                             embedded    a private PostgreSQL
    estate      a simulated host                             cli         the commands

The folders of sql/, tests/db/ and docs/explanation/ have the same names.
"""

__version__ = "0.1.0"
