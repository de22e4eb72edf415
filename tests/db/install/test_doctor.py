"""doctor: says what is there, what is missing and what can be promised, and changes nothing."""

from __future__ import annotations

from bed import as_user, connect
from catalog import everything
from oneroof.install import doctor
from oneroof.install.doctor import Report


def verdict(report: Report, section: str, name: str) -> str:
    return next(check.verdict for check in report.checks if (check.section, check.name) == (section, name))


def test_an_installed_estate_is_well(installed_database: str) -> None:
    """Everything ok or noted, every source exact, every keyset indexed."""
    with connect(installed_database) as connection:
        before = everything(connection)
        report = doctor.examine(connection)
        assert report.well
        assert {g.guarantee for g in report.guarantees} == {"exact"}
        indexed = {g.source for g in report.guarantees if g.index}
        assert indexed >= {"birth_registry", "registry_changelog", "event_outbox"}
        assert everything(connection) == before


def test_an_empty_database_is_examined_too(empty_database: str) -> None:
    """Nothing is there: not well, and each missing table is named with its clause."""
    with connect(empty_database) as connection:
        report = doctor.examine(connection)
    assert not report.well
    assert verdict(report, "substrate", "birth_registry") == "fail"
    assert verdict(report, "oneroof", "schema") == "note"
    assert any("doc 39" in (check.hint or "") for check in report.checks)


def test_what_weakens_a_guarantee_is_said(estate_database: str) -> None:
    """Row-level security hides rows from an ordinary login, a view cannot be tailed, an index can be missing."""
    with connect(estate_database) as connection:
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO viewer")
        connection.execute("ALTER TABLE birth_registry ENABLE ROW LEVEL SECURITY")
        connection.execute("DROP INDEX birth_registry_born_at_id")
        connection.execute("ALTER TABLE event_outbox RENAME TO event_outbox_kept")
        connection.execute("CREATE VIEW event_outbox AS SELECT * FROM event_outbox_kept")
        connection.execute("ALTER TABLE registry_changelog ALTER COLUMN migration_state TYPE varchar")
    with connect(as_user(estate_database, "viewer")) as connection:
        report = doctor.examine(connection)
    found = {g.source: (g.guarantee, g.index) for g in report.guarantees}
    assert found["birth_registry"] == ("reconciled", None)
    assert found["event_outbox"] == ("none", None)
    assert verdict(report, "substrate", "registry_changelog.migration_state") == "fail"
    assert verdict(report, "sources", "birth_registry index") == "warn"
    assert not report.well


def test_an_old_transaction_is_named(installed_database: str) -> None:
    """Whoever pins the horizon is named by pid or by the prepared transaction's name."""
    with connect(installed_database) as host, connect(installed_database) as connection:
        host.execute("BEGIN")
        host.execute("SELECT FROM birth_registry LIMIT 1")
        host.execute("INSERT INTO dot_config (key) VALUES ('x')")
        host.execute("PREPARE TRANSACTION 'forgotten'")
        try:
            detail = next(c.detail for c in doctor.examine(connection).checks if c.name == "horizon")
        finally:
            host.execute("ROLLBACK PREPARED 'forgotten'")
    assert "forgotten" in detail or "pid" in detail


def test_a_login_without_rights_is_told_so(estate_database: str) -> None:
    """Unreadable tables fail the examination; not being able to install is only noted."""
    with connect(as_user(estate_database, "viewer")) as connection:
        report = doctor.examine(connection)
    assert verdict(report, "privileges", "read") == "fail"
    assert verdict(report, "privileges", "install") == "note"


def test_a_login_that_may_not_read_our_tables_is_examined_too(installed_database: str) -> None:
    """It is told so in one line, and the rest of the examination is there."""
    with connect(installed_database) as admin, admin.transaction():
        admin.execute("CREATE ROLE stranger")
        admin.execute("SET LOCAL ROLE stranger")
        report = doctor.examine(admin)
        admin.execute("RESET ROLE")
        admin.execute("DROP ROLE stranger")
    assert verdict(report, "oneroof", "schema") == "fail"
    assert {found.source for found in report.guarantees} == {"birth_registry", "registry_changelog", "event_outbox"}
