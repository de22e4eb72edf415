"""Sources are data: any table, any sensible key, odd names too; what cannot be tailed is refused in a sentence."""

from __future__ import annotations

import pytest

from bed import as_user, command, connect
from oneroof.database.connection import Connection
from oneroof.errors import OneroofError, Refused
from oneroof.install import doctor
from oneroof.sources import registration, source

HOSTILE = '"x""; DROP TABLE birth_registry; --"'


def test_the_three_of_doc_39_are_registered(admin: Connection) -> None:
    """birth_registry as an inventory, registry_changelog and event_outbox as change logs; the rest of doc 32 §3 as
    registers; all are well.
    """
    known = registration.listing(admin)
    assert {s.source_name for s in known if s.source_kind == source.REGISTER} == {
        "approval_requests",
        "collection_registry",
        "governance_exception",
        "governance_object_ownership",
        "governance_ruleset",
        "law_jurisdiction",
        "measurement_registry",
        "normative_registry",
        "pivot_definitions",
    }
    others = [s for s in known if s.source_kind != source.REGISTER]
    found = {s.source_name: (s.source_kind, s.timestamp_column, s.key_columns) for s in others}
    assert found == {
        "birth_registry": ("inventory", "born_at", ["id"]),
        "registry_changelog": ("changelog", "timestamp", ["id"]),
        "event_outbox": ("changelog", "occurred_at", ["id"]),
    }
    assert all(registration.check(admin, s) == [] for s in registration.listing(admin))


@pytest.mark.parametrize(
    ("ddl", "name", "key", "timestamp"),
    [
        ("CREATE TABLE plain (id int PRIMARY KEY, at timestamptz)", "plain", ["id"], "at"),
        ("CREATE TABLE big (id bigint PRIMARY KEY, at timestamp)", "big", ["id"], "at"),
        ("CREATE TABLE u (id uuid PRIMARY KEY, day date)", "u", ["id"], "day"),
        ("CREATE TABLE t (code text PRIMARY KEY)", "t", ["code"], None),
        ("CREATE TABLE c (a int, b text, at date, PRIMARY KEY (a, b))", "c", ["a", "b"], "at"),
        ('CREATE TABLE "Weird Table" ("when" timestamptz, "Key" int PRIMARY KEY)', '"Weird Table"', ["Key"], "when"),
        ("CREATE TABLE p (id int, at timestamptz, PRIMARY KEY (id)) PARTITION BY RANGE (id)", "p", ["id"], "at"),
        ("CREATE SCHEMA app; CREATE TABLE app.births (id int PRIMARY KEY)", "app.births", ["id"], None),
        (f"CREATE TABLE {HOSTILE} (id int PRIMARY KEY)", HOSTILE, ["id"], None),
    ],
)
def test_any_table_can_be_a_source(
    admin: Connection, ddl: str, name: str, key: list[str], timestamp: str | None
) -> None:
    """Every key type, composite keys, with and without a timestamp, partitioned, in another schema, oddly named."""
    admin.execute(ddl)
    added = registration.add(admin, name, key=key, timestamp=timestamp)
    assert registration.add(admin, name, key=key, timestamp=timestamp) == added
    with admin.transaction():
        admin.execute("GRANT USAGE ON SCHEMA app TO oneroof_worker" if name.startswith("app.") else "SELECT 1")
        admin.execute("SET LOCAL ROLE oneroof_worker")
        admin.execute(f"SELECT FROM {name}")
    assert registration.check(admin, added) == []
    registration.remove(admin, added.source_name)
    with pytest.raises(Refused, match="there is no source"):
        registration.find(admin, added.source_name)
    assert admin.execute("SELECT count(*) > 0 FROM birth_registry").fetchone() == (True,)


@pytest.mark.parametrize(
    ("name", "words", "why"),
    [
        ("v_registry_counts", {"key": ["collection_name"]}, "is a view"),
        ("pg_class", {"key": ["oid"]}, "system table"),
        ("oneroof.governance_person", {"key": ["person_code"]}, "oneroof's own"),
        ("no_such_table", {"key": ["id"]}, "there is no table"),
        ("birth_registry; DROP TABLE birth_registry", {"key": ["id"]}, "no table|not the name"),
        ("", {"key": ["id"]}, "no table|not the name"),
        ("a.b.c.d.e", {"key": ["id"]}, "no table|not the name"),
        ("birth_registry", {"key": ["born_at"]}, "born_at of public.birth_registry is timestamp"),
        ("birth_registry", {"key": ["species_code"]}, "may be NULL"),
        ("birth_registry", {"key": ["nope"]}, "has no column 'nope'"),
        ("birth_registry", {"key": ["id"], "timestamp": "status"}, "not a timestamp"),
        ("birth_registry", {"key": ["id"], "facts": ["id", "1; DROP TABLE birth_registry"]}, "has no column"),
        ("birth_registry", {"key": []}, "needs a key"),
        ("birth_registry", {"key": ["id"], "kind": "view"}, "a changelog or a register"),
    ],
)
def test_what_cannot_be_tailed_is_refused(admin: Connection, name: str, words: dict[str, object], why: str) -> None:
    """Each with a sentence that says why, and the sources stay as they were."""
    before = registration.listing(admin)
    with pytest.raises(OneroofError, match=why):
        registration.add(admin, name, **words)  # type: ignore[arg-type]
    assert registration.listing(admin) == before


def test_a_source_that_changed_underneath_is_found(admin: Connection) -> None:
    """A dropped column or table is named by `source check`."""
    admin.execute("CREATE TABLE mine (id int PRIMARY KEY, at timestamptz, colour text)")
    added = registration.add(admin, "mine", key=["id"], timestamp="at", facts=["colour"])
    admin.execute("ALTER TABLE mine DROP COLUMN colour")
    assert "no column 'colour'" in registration.check(admin, added)[0]
    admin.execute("DROP TABLE mine")
    assert "no table" in registration.check(admin, added)[0]


@pytest.mark.newest
@pytest.mark.slow
def test_sources_from_the_shell(installed_database: str) -> None:
    """add, list, check and remove, as a user types them; somebody without the right is refused."""
    with connect(installed_database) as admin:
        admin.execute('CREATE TABLE "Weird Table" ("when" timestamptz, "Key" int PRIMARY KEY)')
    words = ["source", "add", '"Weird Table"', "--key", "Key", "--timestamp", "when", "--json"]
    assert command(*words, dsn=as_user(installed_database, "requester")).code == 3
    added = command(*words, dsn=installed_database)
    assert added.code == 0, added.err
    assert added.json["source_name"] == "Weird Table"
    listed = command("source", "list", "--json", dsn=installed_database).json
    assert [s["source_name"] for s in listed][-1] == "Weird Table"
    assert command("source", "check", dsn=installed_database).code == 0
    assert command("source", "remove", "Weird Table", dsn=installed_database).code == 0
    assert command("source", "remove", "Weird Table", dsn=installed_database).code == 3


@pytest.mark.parametrize(
    ("ddl", "is_unique"),
    [
        ("ALTER TABLE keyed ADD PRIMARY KEY (k)", True),
        ("CREATE UNIQUE INDEX ON keyed (k)", True),
        ("CREATE UNIQUE INDEX ON keyed (k) INCLUDE (t)", True),
        ("CREATE UNIQUE INDEX ON keyed (k, t)", False),
        ("CREATE UNIQUE INDEX ON keyed (k) WHERE t > 0", False),
        ("CREATE UNIQUE INDEX ON keyed ((k + 0))", False),
        ("CREATE INDEX ON keyed (k)", False),
        ("ALTER TABLE keyed ADD PRIMARY KEY (k); CREATE TABLE child () INHERITS (keyed)", False),
    ],
)
def test_a_key_is_unique_if_the_host_says_so(admin: Connection, ddl: str, is_unique: bool) -> None:
    """By an index over all rows and on no more than the key; what is not said is noticed."""
    admin.execute("CREATE TABLE keyed (k int NOT NULL, t int)")
    admin.execute(ddl)
    assert registration.add(admin, "keyed", key=["k"]).key_is_unique is is_unique
    (check,) = [check for check in doctor.examine(admin).checks if check.name == "keyed key"]
    assert (check.verdict == "ok") is is_unique


def test_a_key_that_may_repeat_is_said_aloud(installed_database: str) -> None:
    """On stderr, and the source is added all the same."""
    with connect(installed_database) as admin:
        admin.execute("CREATE TABLE loose (k int NOT NULL)")
    added = command("source", "add", "loose", "--key", "k", "--json", dsn=installed_database)
    assert added.code == 0
    assert "rows that share a key are taken for one" in added.err
    assert added.json["key_is_unique"] is False
