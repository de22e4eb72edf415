"""Poison is just an item (promises 10 and 11): each row is applied, or waits, or is dead; nothing else suffers.

Rows that break what reads them, as births and in a table that was added as a source, both before the first sweep and
afterwards, each among rows that are well.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bed import command, connect, eventually
from by_hand import Server, add_births, drop_code_indexes, number, server, set_policy
from oneroof.database.connection import Connection

pytestmark = pytest.mark.slow

ESCAPES = r'{"a": "\u0000", "b": "\ud800", "c": "\udfff\ud800"}'
CODES = {
    "quotes": 'it\'s "quoted" `and` \\ $$ %s {} ; --',
    "newlines": "one\ntwo\r\nthree\ttab",
    "controls": "".join(map(chr, range(1, 32))) + "\x7f\x9b2J\u202e\u2066\ufeff\uffff",
    "colons": "a:b::c/d\x1fe#1/2",
    "astral": "\U0001f3e0\U0010ffff",
    "empty": "",
}
FACTS = {
    "bad json": '{"a": [1, 2',
    "escapes": ESCAPES,
    "empty": "",
}
# As long as promised, once; the others only need to be far longer than anything an index can hold.
LONGEST, LONG = "x" * (10 << 20), "x" * (1 << 20)
TIMES = ("12000-01-01", "294276-12-31 23:59:59.999999+00", "4713-01-01 BC", "infinity", "-infinity")
# A birth is done if its key has a candidate.
BIRTHS = """SELECT b.id::text, EXISTS (SELECT FROM oneroof.governance_candidate_state AS c
                                       WHERE c.candidate_key = b.collection_name || ':' || b.entity_code)
            FROM birth_registry AS b"""
ROWS = """SELECT p.k, EXISTS (SELECT FROM oneroof.governance_candidate_state AS c
                              WHERE c.source_name = 'poison' AND c.source_key = p.k) FROM poison AS p"""


@pytest.fixture
def host() -> Iterator[Server]:
    """A server with an estate, on which nothing is tried long."""
    with server() as made:
        with connect(made.dsn()) as admin:
            set_policy(
                admin, attempts="2", backoff_first="20 milliseconds", backoff_most="20 milliseconds", batch_size="500"
            )
            drop_code_indexes(admin)
        yield made


def add_poisonous_births(admin: Connection, prefix: str) -> None:
    """Every odd code, fact and time, each once."""
    insert = "INSERT INTO birth_registry (collection_name, entity_code, born_at"
    for name, code in CODES.items():
        admin.execute(f"{insert}) VALUES (%s, %s, now())", (f"{prefix} {name}", code))
    admin.execute(f"{insert}) VALUES (%s, '', NULL)", ("" if prefix == "before" else "\n",))
    admin.execute(f"{insert}) VALUES ('long', %s, now())", (prefix + LONGEST,))
    for column in ("species_code", "actor_ref", "status"):
        for name, fact in FACTS.items():
            admin.execute(f"{insert}, {column}) VALUES (%s, %s, now(), %s)", (f"{prefix} {column}", name, fact))
    for column in ("species_code", "status"):
        admin.execute(f"{insert}, {column}) VALUES (%s, 'long', now(), %s)", (f"{prefix} {column}", LONG))
    for at in TIMES:
        admin.execute(f"{insert}) VALUES (%s, %s, %s)", (f"{prefix} at", at, at))


def add_poisonous_rows(admin: Connection, prefix: str) -> None:
    """The same for a table with a text key, a date and a jsonb."""
    insert = "INSERT INTO poison (k, at, fact, deep, grouped)"
    for name, code in CODES.items():
        admin.execute(
            f"{insert} VALUES (%s, now(), '', NULL, %s)", (code if prefix == "before" else prefix + code, name)
        )
    for name, fact in FACTS.items():
        admin.execute(f"{insert} VALUES (%s, now(), %s, NULL, '')", (f"{prefix} fact {name}", fact))
        admin.execute(f"{insert} VALUES (%s, now(), NULL, NULL, %s)", (f"{prefix} group {name}", fact))
    admin.execute(f"{insert} VALUES (%s, now(), %s, NULL, 'long')", (f"{prefix} long fact", LONGEST))
    admin.execute(f"{insert} VALUES (%s, now(), 'long', NULL, %s)", (f"{prefix} long group", LONG))
    admin.execute(f"{insert} VALUES (%s, NULL, NULL, %s, NULL)", (f"{prefix} deep", "[" * 10_000 + "]" * 10_000))
    admin.execute(
        f"{insert} VALUES (%s, NULL, NULL, %s, NULL)", (f"{prefix} pairs", '{"a":' * 5_000 + "1" + "}" * 5_000)
    )
    for at in ("12000-01-01", "5000000-01-01", "4713-01-01 BC", "infinity", "-infinity"):
        admin.execute(f"{insert} VALUES (%s, %s, 'x', '{{}}', 'g')", (f"{prefix} {at}", at))
    admin.execute(f"{insert} SELECT %s || n, now(), 'well', '{{}}', 'g' FROM generate_series(1, 50) AS n", (prefix,))


def assert_each_is_somewhere(admin: Connection, table: str, states: str) -> int:
    """done + waiting + dead = seen; each key is in one of the three, and no other key is; how many are not done."""
    rows = admin.execute(states).fetchall()
    done = {key for key, is_done in rows if is_done}
    stuck = {key for key, is_done in rows if not is_done}
    letters = admin.execute(
        "SELECT entity_ref FROM event_pending WHERE entity_table = %s AND processed_at IS NULL AND error_count > 0",
        (table,),
    ).fetchall()
    pending = [key for (key,) in letters]
    assert len(pending) == len(set(pending))
    assert {ascii(key)[:80] for key in stuck - set(pending)} == set()
    assert {ascii(key)[:80] for key in done & set(pending)} == set()
    assert len(done) + len(pending) == len(rows)
    seen = number(
        admin,
        "SELECT coalesce(sum(events_seen), 0) FROM oneroof.gov_worker_cursor"
        " WHERE worker_name IN ('gov_backfill_sweep', 'gov_handoff_intake')"
        f" AND split_part(source_name, '#', 1) = '{table}'",
    )
    assert seen == len(rows)
    return len(stuck)


def run_to_the_end(host: Server, admin: Connection) -> None:
    """Run until nothing waits for another attempt."""
    waiting = "SELECT count(*) FROM oneroof.governance_retry WHERE state = 'waiting'"

    def over() -> bool:
        ran = command("run", "--until-idle", dsn=host.dsn())
        assert ran.code == 0, ran.err
        return number(admin, waiting) == 0

    eventually(over, what="the last attempt", seconds=60)


def test_poisonous_births(host: Server) -> None:
    """Codes, facts and times that break parsers, indexes and ranges, before the sweep and after it."""
    with connect(host.dsn()) as admin:
        for prefix in ("before", "after"):
            add_births(admin, f"{prefix} first", 50)
            add_poisonous_births(admin, prefix)
            add_births(admin, f"{prefix} last", 50)
            run_to_the_end(host, admin)
            stuck = assert_each_is_somewhere(admin, "birth_registry", BIRTHS)
            well = "SELECT count(*) FROM oneroof.governance_candidate_state WHERE candidate_key LIKE"
            assert number(admin, f"{well} '{prefix} first:%'") == number(admin, f"{well} '{prefix} last:%'") == 50
            # Only what no index can hold: megabytes as a code, or as part of a group's key.
            assert 1 <= stuck <= 6
            for name in CODES:
                assert number(admin, f"{well} '{prefix} {name}:%'") == 1
            for at in TIMES:
                assert number(admin, f"{well} '{prefix} at:{at}'") == 1


def test_poisonous_rows_of_a_fourth_source(host: Server) -> None:
    """Odd keys, dates beyond any timestamp, deep JSON and long texts in a table that was added by command."""
    with connect(host.dsn()) as admin:
        admin.execute("CREATE TABLE poison (k text NOT NULL, at date, fact text, deep jsonb, grouped text)")
        options = ["--key", "k", "--timestamp", "at", "--facts", "fact,deep", "--group-by", "grouped"]
        added = command("source", "add", "poison", *options, dsn=host.dsn())
        assert added.code == 0, added.err
        for prefix in ("before", "after"):
            add_poisonous_rows(admin, prefix)
            run_to_the_end(host, admin)
            stuck = assert_each_is_somewhere(admin, "poison", ROWS)
            assert stuck <= 12
            well = "SELECT count(*) FROM oneroof.governance_candidate_state WHERE candidate_key ~"
            assert number(admin, f"{well} '^poison:{prefix}[0-9]+$'") == 50
        assert assert_each_is_somewhere(admin, "birth_registry", BIRTHS) == 0
