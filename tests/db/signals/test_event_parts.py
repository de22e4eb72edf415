"""One event that cannot be read is refused alone, and the rest of its batch goes its way (promises 10 and 11)."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from logins import Logins
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.findings import store

BORN = "governance.handoff.object_born"


def part(number: int, **said: Any) -> dict[str, Any]:
    return {
        "event_type": BORN,
        "source": "birth_registry",
        "source_key": f"K-{number}",
        "change_number": number,
        "subject_table": "birth_registry",
        "subject_ref": f"ENT-{number}",
        **said,
    }


def emit(admin: Connection, batch: list[Any]) -> tuple[int, ...]:
    """Emitted, held, refused and known."""
    return tuple(one(admin, "SELECT * FROM oneroof.gov_emit(%s)", (Jsonb(batch),)))


def faults(admin: Connection) -> dict[str, list[str]]:
    return {
        each.subject.removeprefix("gov_emit:"): each.details["faults"]
        for each in store.listing(admin)
        if each.issue_type == "input_invalid_schema"
    }


def deep(levels: int) -> Any:
    value: Any = "the whole of it"
    for _ in range(levels):
        value = [value]
    return value


UNREADABLE: dict[str, dict[str, Any]] = {
    "a word for a number": {"change_number": "seven"},
    "too large": {"change_number": 2**63},
    "too small": {"change_number": -(2**63) - 1},
    "far too large": {"change_number": 10**400},
    "a fraction": {"change_number": 1.5},
    "a fraction of nought": {"change_number": "7.0"},
    "an exponent": {"change_number": "1e3"},
    "hexadecimal": {"change_number": "0x1F"},
    "underscores": {"change_number": "1_000"},
    "blanks": {"change_number": " 7 "},
    "no number": {"change_number": ""},
    "not a number": {"change_number": "NaN"},
    "true": {"change_number": True},
    "a list of numbers": {"change_number": [1]},
    "yesterdayish": {"occurred_at": "yesterdayish"},
    "yesterday": {"occurred_at": "yesterday"},
    "now": {"occurred_at": "now"},
    "infinity": {"occurred_at": "infinity"},
    "minus infinity": {"occurred_at": "-infinity"},
    "year 999999": {"occurred_at": "999999-01-01T00:00:00Z"},
    "year nought": {"occurred_at": "0000-01-01T00:00:00Z"},
    "no such day": {"occurred_at": "2026-02-29T00:00:00Z"},
    "no such hour": {"occurred_at": "2026-02-28T25:00:00Z"},
    "no such zone": {"occurred_at": "2026-02-28T00:00:00+99:00"},
    "a zone of six digits": {"occurred_at": "2026-02-28T00:00:00+053015"},
    "an epoch": {"occurred_at": 1_700_000_000},
    "an object for a moment": {"occurred_at": {"at": "2026-02-28"}},
    "an object for a ref": {"subject_ref": {"contents": "the whole of it"}},
    "an array for a ref": {"subject_ref": ["the whole of it"]},
    "an object for a key": {"source_key": {"contents": "the whole of it"}},
    "an object for an address": {"canonical_address": {"contents": "the whole of it"}},
    "an object for a table": {"subject_table": {"contents": "the whole of it"}},
    "an object for a source": {"source": {"contents": "the whole of it"}},
    "an array for a correlation": {"correlation_id": ["the whole of it"]},
    "an array for a severity": {"severity": ["high"]},
    "deep": {"payload": {"group_key": deep(200)}},
    "a long number": {"payload": {"change_number": 10**300}},
}


@pytest.mark.parametrize("active", [True, False], ids=["emitted", "held"])
def test_what_cannot_be_read_is_refused_alone(logins: Logins, active: bool) -> None:
    """Whatever is wrong with some of a batch, each of the others is emitted or held, and a finding names type and key,
    and nothing of what it said.
    """
    admin = logins.admin
    if active:
        logins.activate(BORN)
    for number, (_, said) in enumerate(UNREADABLE.items()):
        batch = [part(2 * number + 1000), part(1, **said), part(2 * number + 1001)]
        assert emit(admin, batch) == ((2, 0, 1, 0) if active else (0, 2, 1, 0)), said
        (key,) = said
        (named,) = faults(admin)[BORN]
        expected = "group_key" if "group_key" in str(said) else key if key != "payload" else "change_number"
        assert named.startswith(f"{expected}: "), (said, named)
    bad = [part(1, **said) for said in UNREADABLE.values()]
    good = [part(number) for number in range(5000, 5100)]
    mixed = [each for pair in itertools.zip_longest(good, bad) for each in pair if each is not None]
    assert emit(admin, mixed) == (*((100, 0) if active else (0, 100)), len(bad), 0)
    stored = admin.execute(
        " UNION ALL ".join(
            f"SELECT to_jsonb(t)::text FROM {table} AS t"
            for table in ("system_issues", "event_pending", "event_outbox", "oneroof.governance_event")
        )
    )
    assert [text for (text,) in stored if "the whole of it" in text] == []


def test_events_that_are_no_objects_are_refused_alone(logins: Logins) -> None:
    """Numbers, texts, arrays, nulls, and objects with nothing in them or with everything wrong."""
    logins.activate(BORN)
    wrong: list[Any] = [7, "x", None, True, [], [part(3)], {}, {"event_type": {}}, {key: {} for key in part(1)}]
    assert emit(logins.admin, [part(1), *wrong, part(2)]) == (2, 0, len(wrong), 0)
    assert faults(logins.admin) == {"(no type)": ["event_type: no type of the governance domain"]}


def test_a_whole_number_is_one_however_it_is_written(logins: Logins) -> None:
    """As JSON or as text, up to the last that fits, and the same number is the same event."""
    logins.activate(BORN)
    limits = [2**63 - 1, -(2**63), 0, -1, 10**18]
    assert emit(logins.admin, [part(n, change_number=str(limit)) for n, limit in enumerate(limits)])[0] == 5
    assert emit(logins.admin, [part(n, change_number=limit) for n, limit in enumerate(limits)])[3] == 5
    exponent = '{"change_number": 1e3, "source_key": "K-1000"'
    where = '"source": "birth_registry", "subject_table": "birth_registry", "subject_ref": "E"'
    rest = f', "event_type": "{BORN}", {where}}}'
    assert tuple(one(logins.admin, "SELECT * FROM oneroof.gov_emit(%s::jsonb)", (f"[{exponent}{rest}]",))) == (
        1,
        0,
        0,
        0,
    )
    assert emit(logins.admin, [part(1000)]) == (0, 0, 0, 1)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-01T12:30:00+00:00", datetime(2026, 3, 1, 12, 30, tzinfo=UTC)),
        ("2026-03-01T12:30:00.123456Z", datetime(2026, 3, 1, 12, 30, 0, 123456, tzinfo=UTC)),
        ("2026-03-01 12:30+02", datetime(2026, 3, 1, 10, 30, tzinfo=UTC)),
        ("2026-03-01t12:30:00-0530", datetime(2026, 3, 1, 18, 0, tzinfo=UTC)),
        ("2026-03-01T12:30:00+05:30:15", datetime(2026, 3, 1, 6, 59, 45, tzinfo=UTC)),
        ("2026-03-01T12:30:00", datetime(2026, 3, 1, 12, 30, tzinfo=UTC)),
        ("2000-02-29T00:00:00Z", datetime(2000, 2, 29, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59Z", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_a_moment_is_what_iso_8601_says_whatever_the_session_has_set(
    logins: Logins, text: str, moment: datetime
) -> None:
    """Without a zone it is UTC."""
    logins.activate(BORN)
    logins.admin.execute("SET timezone = 'Asia/Ho_Chi_Minh'")
    logins.admin.execute("SET datestyle = 'German, DMY'")
    assert emit(logins.admin, [part(1, occurred_at=text)])[0] == 1
    logins.admin.execute("SET timezone = 'UTC'")
    logins.admin.execute("SET datestyle = 'ISO'")
    assert one(logins.admin, "SELECT occurred_at FROM event_outbox WHERE event_domain = 'governance'") == (moment,)


def test_a_finding_names_the_type_whatever_key_was_wrong(logins: Logins) -> None:
    """Also where the key is called as the part that has the type."""
    emit(logins.admin, [part(1, payload={"event_type": "x"})])
    assert faults(logins.admin) == {BORN: ["event_type: not a key of such events"]}
