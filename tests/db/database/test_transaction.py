"""One transaction with its role and limits: whole or not at all, inside another too, and if a failure is swallowed."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from bed import connect
from oneroof.database.connection import Connection
from oneroof.database.statements import one
from oneroof.database.transaction import transaction
from oneroof.errors import Wrong


@pytest.fixture
def admin(empty_database: str) -> Iterator[Connection]:
    with connect(empty_database) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        yield connection


def kept(connection: Connection) -> list[int]:
    return [n for (n,) in connection.execute("SELECT n FROM public.kept ORDER BY n")]


def add(connection: Connection, n: int) -> None:
    with transaction(connection, doing="adding"):
        connection.execute("INSERT INTO public.kept VALUES (%s)", (n,))


def test_a_part_of_another_transaction_ends_with_it(admin: Connection) -> None:
    """What is inside neither commits what is around it, nor outlives it."""
    with pytest.raises(RuntimeError), admin.transaction():  # noqa: PT012
        admin.execute("INSERT INTO public.kept VALUES (1)")
        add(admin, 2)
        raise RuntimeError
    assert kept(admin) == []
    with transaction(admin, doing="working"):
        add(admin, 3)
        with pytest.raises(Wrong):
            add(admin, 2**40)
        add(admin, 4)
    assert kept(admin) == [3, 4]


def test_a_swallowed_failure_is_no_commit(admin: Connection) -> None:
    """The server rolls back, and says so; so do we."""
    with pytest.raises(Wrong, match="nothing of it was kept"), transaction(admin, doing="working"):  # noqa: PT012
        admin.execute("INSERT INTO public.kept VALUES (1)")
        with pytest.raises(psycopg.Error):
            admin.execute("SELECT 1 / 0")
    assert kept(admin) == []
    add(admin, 5)
    assert kept(admin) == [5]


def test_settings_and_role_end_with_the_transaction(admin: Connection) -> None:
    """A pooler may give the session to somebody else next."""
    show = "SELECT current_setting('search_path'), current_setting('statement_timeout'), current_user::text"
    before = one(admin, show)
    with transaction(admin, doing="looking", role="pg_monitor", statement_timeout=5):
        assert one(admin, show) == ("pg_catalog, pg_temp", "5s", "pg_monitor")
    assert one(admin, show) == before
