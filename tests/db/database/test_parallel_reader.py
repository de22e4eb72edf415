"""Reading by two connections: the answers in order, each range once, and a failure of either is one of the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from bed import connect, eventually
from oneroof.database.connection import Connection
from oneroof.database.parallel_reader import ParallelReader, read_each
from oneroof.database.statements import one
from oneroof.errors import OneroofError, Unavailable

HOW: dict[str, str] = {"timezone": "UTC"}
OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type LIKE 'client%'"


@pytest.fixture
def dial(installed_database: str) -> Callable[[], Connection]:
    return lambda: connect(installed_database)


@pytest.fixture
def first(dial: Callable[[], Connection]) -> Iterator[Connection]:
    with dial() as connection:
        yield connection


def backend(connection: Connection, number: int) -> tuple[int, int]:
    """Which process has read, after a moment in which the other one can begin."""
    (process, *_) = one(connection, "SELECT pg_backend_pid(), pg_sleep(0.02)")
    return number, process


def test_two_connections_share_the_ranges(first: Connection, dial: Callable[[], Connection]) -> None:
    reader = ParallelReader(dial)
    found = reader.read(first, backend, range(8), doing="reading", settings=HOW)
    assert [number for number, _ in found] == list(range(8))
    assert len({process for _, process in found}) == 2
    reader.rest()
    eventually(lambda: one(first, OTHERS) == (1,), what="the second to leave")


def test_without_a_second_connection_the_first_reads_all(first: Connection) -> None:
    """And it is asked for once in a pass."""
    asked: list[int] = []

    def refuse() -> Connection:
        asked.append(1)
        raise Unavailable("too many connections")

    reader = ParallelReader(refuse)
    for _ in range(2):
        found = reader.read(first, backend, [1, 2], doing="reading", settings=HOW)
        assert {process for _, process in found} == {first.info.backend_pid}
    reader.rest()
    reader.read(first, backend, [1], doing="reading", settings=HOW)
    assert len(asked) == 2


def test_a_second_connection_that_is_cut_fails_the_reading_and_is_opened_again(
    first: Connection, dial: Callable[[], Connection]
) -> None:
    reader = ParallelReader(dial)
    reader.read(first, backend, range(2), doing="reading", settings=HOW)
    assert reader.connection is not None
    with dial() as killer:
        killer.execute("SELECT pg_terminate_backend(%s, 5000)", (reader.connection.info.backend_pid,))
    with pytest.raises(OneroofError, match="reading"):
        reader.read(first, backend, range(4), doing="reading", settings=HOW)
    assert len(reader.read(first, backend, range(4), doing="reading", settings=HOW)) == 4
    reader.rest()


def test_a_failure_calls_off_what_is_under_way(first: Connection, dial: Callable[[], Connection]) -> None:
    """The long statement of the other does not hold it up."""

    def read(connection: Connection, number: int) -> None:
        connection.execute("SELECT pg_sleep(60)" if number else "SELECT 1 / 0")

    with dial() as other, pytest.raises(psycopg.errors.DivisionByZero):
        list(read_each([first, other], read, [0, 1]))


def test_the_second_connection_writes_nothing(first: Connection, dial: Callable[[], Connection]) -> None:
    reader = ParallelReader(dial)

    def write(connection: Connection, _: int) -> None:
        if connection is not first:
            connection.execute("CREATE TEMP TABLE t (n int)")
        else:
            connection.execute("SELECT pg_sleep(0.2)")

    with pytest.raises(OneroofError, match="reading"):
        reader.read(first, write, range(2), doing="reading", settings=HOW)
    reader.rest()
