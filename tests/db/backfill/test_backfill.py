"""The first sweep: every row once, resumable at any batch, whatever its timestamp and key (doc 39 §39.10)."""

from __future__ import annotations

import pytest
from psycopg.errors import UniqueViolation

from bed import connect
from inventory import settle
from oneroof.candidates import apply_batch
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import HeldElsewhere
from oneroof.fence import lease
from oneroof.sources import registration
from oneroof.workers.backfill_sweep import NAME, BackfillSweep

PARTITIONED = """CREATE TABLE src (k int PRIMARY KEY, t timestamptz) PARTITION BY HASH (k);
  CREATE TABLE src0 PARTITION OF src FOR VALUES WITH (MODULUS 2, REMAINDER 0);
  CREATE TABLE src1 PARTITION OF src FOR VALUES WITH (MODULUS 2, REMAINDER 1)"""

ODD = """
  ('a', 'null', NULL), ('a', 'past', '-infinity'), ('a', 'future', 'infinity'), ('a', 'far', '12000-01-01'),
  ('a', 'bc', '0044-03-15 BC'), ('a', 'soon', now() + interval '1 hour'), ('b', 'null', NULL),
  ('b', 'again', '-infinity')
"""


def sweep(connection: Connection, name: str = "birth_registry", *, batch: int = 300, steps: int | None = None) -> int:
    """Run a sweep to its end, or for so many steps, as an instance of its own; rows seen."""
    held = lease.claim(connection, lease.executor_name(NAME, name), instance="test")
    worker = BackfillSweep(connection, registration.find(connection, name), held, batch=batch)
    seen = 0
    while steps is None or steps > 0:
        step = worker.run_once()
        seen += step.seen
        if step.idle:
            break
        steps = None if steps is None else steps - 1
    lease.release(connection, held)
    return seen


def cursor_of(connection: Connection, name: str = "birth_registry") -> tuple[int, str, str]:
    row = one(
        connection,
        "SELECT events_seen, phase, last_watermark_ts::text FROM oneroof.gov_worker_cursor WHERE source_name = %s",
        (name,),
    )
    return row[0], row[1], row[2]


def accounted(connection: Connection) -> tuple[int, int]:
    """Source keys without a candidate, and candidates without a source row."""
    row = one(
        connection,
        """SELECT (SELECT count(*) FROM birth_registry AS b WHERE NOT EXISTS
                     (SELECT FROM oneroof.governance_candidate_state AS c
                      WHERE c.candidate_key = b.collection_name || ':' || b.entity_code)),
                  (SELECT count(*) FROM oneroof.governance_candidate_state AS c WHERE NOT EXISTS
                     (SELECT FROM birth_registry AS b WHERE b.id::text = c.source_key))""",
    )
    return row[0], row[1]


def test_every_row_once(admin: Connection) -> None:
    """All keys accounted, the counter equals the rows, the phase moves on, a second sweep finds nothing to do."""
    (rows,) = one(admin, "SELECT count(*) FROM birth_registry")
    assert sweep(admin) == rows
    assert accounted(admin) == (0, 0)
    assert cursor_of(admin)[:2] == (rows, "incremental")
    assert sweep(admin) == 0
    grains: dict[str, int] = dict(
        admin.execute("SELECT grain, count(*) FROM oneroof.governance_candidate_state GROUP BY 1").fetchall()
    )
    assert set(grains) == {"governed", "inherited"}


@pytest.mark.parametrize("batch", [1, 7, 300])
def test_odd_timestamps_are_neither_skipped_nor_followed(admin: Connection, batch: int) -> None:
    """NULL, infinities, far years and the near future are swept, and none moves the watermark past now + 5 min."""
    admin.execute("DELETE FROM birth_registry WHERE id > 20")
    admin.execute(f"INSERT INTO birth_registry (collection_name, entity_code, born_at) VALUES {ODD}")
    (rows,) = one(admin, "SELECT count(*) FROM birth_registry")
    assert sweep(admin, batch=batch) == rows
    assert accounted(admin) == (0, 0)
    (sane,) = one(admin, "SELECT last_watermark_ts <= now() + interval '5 minutes' FROM oneroof.gov_worker_cursor")
    assert sane


def test_doc39_10_1_resumability(admin: Connection) -> None:
    """Stopped after any number of batches, another instance processes exactly the remainder."""
    (rows,) = one(admin, "SELECT count(*) FROM birth_registry")
    seen, marks = 0, []
    for _ in range(4):
        seen += sweep(admin, batch=150, steps=3)
        marks.append(cursor_of(admin)[2])
    assert 0 < seen < rows
    assert marks == sorted(marks)
    assert seen + sweep(admin, batch=150) == rows
    assert accounted(admin) == (0, 0)
    assert cursor_of(admin)[0] == rows


def test_doc39_10_3_lease_safety(admin: Connection) -> None:
    """Of two instances one sweeps; the other is told who."""
    lease.claim(admin, lease.executor_name(NAME, "birth_registry"), instance="first")
    with pytest.raises(HeldElsewhere, match="is held by first/"):
        sweep(admin)


def test_rows_born_meanwhile_count_in_the_next_window(admin: Connection, installed_database: str) -> None:
    """A row whose transaction was open when the sweep began is not counted by it, however old its timestamp."""
    (rows,) = one(admin, "SELECT count(*) FROM birth_registry")
    with connect(installed_database) as host, host.transaction():
        birth = "INSERT INTO birth_registry (collection_name, entity_code, born_at) VALUES ('a', 'late', '2026-03-01')"
        host.execute(birth)
        assert sweep(admin, steps=4) > 0
    assert sweep(admin) > 0
    assert cursor_of(admin)[0] == rows


def test_an_old_transaction_does_not_delay_the_work(admin: Connection, installed_database: str) -> None:
    """With the horizon pinned from before the first birth everything is swept all the same; only the count waits."""
    with connect(installed_database) as host, host.transaction():
        host.execute("SELECT pg_current_xact_id()")
        admin.execute(
            "INSERT INTO birth_registry (collection_name, entity_code) SELECT 'p', n FROM generate_series(1, 50) n"
        )
        (rows,) = one(admin, "SELECT count(*) FROM birth_registry")
        assert sweep(admin) == rows
        assert accounted(admin) == (0, 0)
        assert cursor_of(admin)[0] <= rows - 50


@pytest.mark.parametrize(
    ("ddl", "key", "timestamp"),
    [
        ("CREATE TABLE src (k int PRIMARY KEY, t timestamptz)", ["k"], "t"),
        ("CREATE TABLE src (k bigint PRIMARY KEY, t timestamp)", ["k"], "t"),
        ("CREATE TABLE src (k uuid PRIMARY KEY DEFAULT gen_random_uuid(), t date)", ["k"], "t"),
        ("CREATE TABLE src (k text PRIMARY KEY, t timestamptz)", ["k"], None),
        ("CREATE TABLE src (k int, j text, t timestamp, PRIMARY KEY (k, j))", ["k", "j"], "t"),
        (PARTITIONED, ["k"], "t"),
    ],
)
def test_doc39_10_2_type_generality(admin: Connection, ddl: str, key: list[str], timestamp: str | None) -> None:
    """Every key and timestamp type, negative keys and keys out of order too, in batches of seven."""
    admin.execute(ddl)
    value = {
        "k int": "100 - 7 * n",
        "k bigi": "5000000000 - n",
        "k uuid": "md5(n::text)::uuid",
        "k text": "'key ' || n",
    }
    expression = next(v for start, v in value.items() if ddl.startswith(f"CREATE TABLE src ({start}"))
    columns, values = ("k, j", f"{expression}, 'j' || n") if "j" in key else ("k", expression)
    admin.execute(
        f"INSERT INTO src ({columns}, t) SELECT {values},"
        " CASE WHEN n % 5 > 0 THEN '2026-01-01'::timestamp + mod(n, 3) * interval '1 day' END"
        " FROM generate_series(1, 60) AS n"
    )
    registration.add(admin, "src", key=key, timestamp=timestamp)
    assert sweep(admin, "src", batch=7) == 60
    (distinct,) = one(
        admin, "SELECT count(DISTINCT source_key) FROM oneroof.governance_candidate_state WHERE source_name = 'src'"
    )
    assert distinct == 60


def test_a_policy_that_hides_rows_is_an_error_and_not_an_omission(admin: Connection) -> None:
    """Row-level security on a source stops the sweep with a sentence instead of shortening it."""
    admin.execute("ALTER TABLE birth_registry ENABLE ROW LEVEL SECURITY")
    with pytest.raises(Exception, match="row-level security"):
        sweep(admin)


@pytest.mark.parametrize("twins", [0, 1, 2, 3, 40])
@pytest.mark.parametrize("where", ["apart", "together"])
def test_known_keys_are_written_apart_from_a_batch(admin: Connection, twins: int, where: str) -> None:
    """Rows that share a key, in one batch or in two, whatever the key looks like: the first of them has the candidate,
    the others are noted, and the counter is that of the rows.
    """
    admin.execute("CREATE TABLE src (k int PRIMARY KEY, code text NOT NULL)")
    admin.execute(
        """INSERT INTO src SELECT n, 'it''s (candidate_key)=(' || n || ') "ä"' FROM generate_series(1, 100) AS n"""
    )
    second = "100 + n" if where == "together" else "200 + n"
    admin.execute(
        f"INSERT INTO src SELECT {second}, s.code FROM generate_series(1, %s) AS n JOIN src AS s ON s.k = n", (twins,)
    )
    admin.execute("INSERT INTO src SELECT n, 'last of ' || n FROM generate_series(500, 600) AS n")
    registration.add(admin, "src", key=["k"], ref="code")
    settle(admin)
    assert sweep(admin, "src", batch=300 if where == "together" else 100) == 201 + twins
    assert one(admin, "SELECT count(*), count(DISTINCT candidate_key) FROM oneroof.governance_candidate_state") == (
        201,
        201,
    )
    noted = admin.execute(
        """SELECT d.source_key::int, c.source_key::int FROM oneroof.governance_duplicate AS d
           JOIN oneroof.governance_candidate_state AS c USING (candidate_key) ORDER BY 1"""
    ).fetchall()
    assert noted == [((100 if where == "together" else 200) + n, n) for n in range(1, twins + 1)]
    assert one(admin, "SELECT events_seen FROM oneroof.gov_worker_cursor WHERE source_name = 'src'") == (201 + twins,)


def test_the_server_names_the_key_that_is_there(admin: Connection) -> None:
    """Whatever is in it; of a violation that names none there is none."""
    key = 'it\'s (candidate_key)=(1) "ä")'
    put = """INSERT INTO oneroof.governance_candidate_state
               (candidate_key, ruleset_version, group_key, source_name, source_key, source_version, facts_hash)
             VALUES (%s, 'none', 'g', 's', '1', '3', 0)"""
    admin.execute(put, (key,))
    with pytest.raises(UniqueViolation) as raised:
        admin.execute(put, (key,))
    assert apply_batch.known_key(raised.value) == key
    assert apply_batch.known_key(UniqueViolation("of something else")) is None


def test_a_batch_is_read_by_the_index_whatever_the_planner_expects(admin: Connection) -> None:
    """In the middle of a long table it takes the rows between two places for a quarter of all; here it believes that
    an index is dear. Nothing but the sample and the newest row may be read otherwise.
    """

    def scanned() -> int:
        admin.execute("SELECT pg_stat_force_next_flush()")
        return int(one(admin, "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'birth_registry'")[0])

    admin.execute("ANALYZE birth_registry")
    admin.execute("SET random_page_cost = 100000")
    sweep(admin, steps=4)
    before = scanned()
    assert sweep(admin) > 1000
    assert scanned() == before
    assert cursor_of(admin)[1] == "incremental"
