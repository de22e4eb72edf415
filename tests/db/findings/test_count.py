"""How many objects of a class have which finding: counted in one statement, or class by class; and not lost."""

from __future__ import annotations

from typing import Any

import pytest

import inventory
import judging
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.errors import OneroofError
from oneroof.fence import lease
from oneroof.findings import counting
from oneroof.sources.source import Source
from oneroof.workers import candidate_scan
from oneroof.workers.candidate_scan import CandidateScan


def test_findings_are_counted_class_by_class_where_there_are_many_objects(admin: Connection) -> None:
    """What one statement says of all of them, and of the same classes, others say of some at a time."""
    births = judging.births(admin)
    judging.sweep(admin, births)
    judging.judge(admin, births)
    counted = (
        "SELECT class, issue_type, population, samples FROM oneroof.governance_class_finding WHERE population"
        " > 0 ORDER BY 1, 2"
    )
    at_once = admin.execute(counted).fetchall()
    assert len(at_once) > 5
    admin.execute("DELETE FROM oneroof.governance_class_finding")
    admin.execute("UPDATE oneroof.governance_class SET counted_xid = NULL")
    left = [counting.count(admin, births, most=200)]
    while left[-1]:
        left.append(counting.count(admin, births, most=200))
    assert len(left) > 5
    assert left == sorted(set(left), reverse=True)
    assert admin.execute(counted).fetchall() == at_once


def test_a_count_that_was_not_kept_is_made_again(admin: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scan has counted, and its transaction fails at the end: nothing else moves, and it counts again."""
    births = judging.births(admin)
    judging.sweep(admin, births)
    judging.judge(admin, births)
    admin.execute("DELETE FROM oneroof.governance_class_finding")
    admin.execute("UPDATE oneroof.governance_class SET counted_xid = NULL")
    held = lease.claim(admin, f"{candidate_scan.NAME}:birth_registry", instance="test")
    scan, count, failed = CandidateScan(admin, births, held, at_once=True), counting.count, list[int]()

    def once(connection: Connection, source: Source, **words: Any) -> int:
        left = count(connection, source, **words)
        if not failed:
            failed.append(1)
            connection.execute("SELECT 1 / 0")
        return left

    monkeypatch.setattr(counting, "count", once)
    with pytest.raises(OneroofError, match="division by zero"):
        inventory.until_idle(scan)
    inventory.until_idle(scan)
    assert one(admin, "SELECT count(*) > 5 FROM oneroof.governance_class_finding WHERE population > 0") == (True,)


def test_a_count_that_takes_too_long_is_one_of_fewer_objects(
    admin: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half as many each time, until it ends within the limit; nobody is sick for that."""
    births = judging.births(admin)
    judging.sweep(admin, births)
    held = lease.claim(admin, f"{candidate_scan.NAME}:birth_registry", instance="test")
    scan, count, asked = CandidateScan(admin, births, held, at_once=True), counting.count, list[int]()

    def slowly(connection: Connection, source: Source, *, most: int) -> int:
        asked.append(most)
        if most > 200:
            connection.execute("SET LOCAL statement_timeout = '10ms'")
            connection.execute("SELECT pg_sleep(60)")
        return count(connection, source, most=most)

    monkeypatch.setattr(counting, "count", slowly)
    inventory.until_idle(scan)
    assert asked[0] == counting.COUNTED
    assert min(asked) <= 200
    assert one(admin, "SELECT count(*) > 5 FROM oneroof.governance_class_finding WHERE population > 0") == (True,)
    assert one(
        admin,
        "SELECT count(*) FROM oneroof.governance_class WHERE source_name = %s AND counted_xid IS NULL",
        (births.source_name,),
    ) == (0,)


def test_a_class_that_cannot_be_counted_in_time_is_an_error_that_says_so(
    admin: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a single class takes too long there is nothing left to halve."""
    births = judging.births(admin)
    judging.sweep(admin, births)
    judging.judge(admin, births)
    held = lease.claim(admin, f"{candidate_scan.NAME}:birth_registry", instance="test")
    scan, asked = CandidateScan(admin, births, held, at_once=True), list[int]()

    def never(connection: Connection, _: Source, *, most: int) -> int:
        asked.append(most)
        connection.execute("SET LOCAL statement_timeout = '10ms'")
        connection.execute("SELECT pg_sleep(60)")
        return 0

    monkeypatch.setattr(counting, "count", never)
    with pytest.raises(OneroofError, match="scanning birth_registry"):
        inventory.until_idle(scan)
    assert asked[-1] == 1
