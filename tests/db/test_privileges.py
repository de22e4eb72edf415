"""Promises 19 and 20: what our roles may do, asked of the database itself."""

from __future__ import annotations

import psycopg
import pytest

from bed import connect
from oneroof.database.transaction import transaction
from oneroof.errors import Refused
from oneroof.estate.build import table_names
from oneroof.host import expected_tables

ROLES = ("owner", "reader", "worker", "operator", "approver", "executor", "console")
WRITES = "('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER')"


def test_no_role_has_more_than_select_on_a_registry(installed_database: str) -> None:
    """Not even a row lock, which needs UPDATE on a column."""
    channels = {table.name for table in expected_tables.tables() if table.kind == "channel"}
    registries = sorted(set(table_names()) - channels)
    assert {"birth_registry", "job_queue"} <= set(registries)
    with connect(installed_database) as connection:
        found = connection.execute(
            f"""SELECT r.rolname, t.name, p.privilege FROM pg_roles AS r
                CROSS JOIN unnest(%s::text[]) AS t (name)
                CROSS JOIN unnest(ARRAY[{WRITES[1:-1]}]) AS p (privilege)
                WHERE r.rolname LIKE 'oneroof%%'
                  AND (has_table_privilege(r.oid, t.name, p.privilege)
                       OR (p.privilege IN ('INSERT', 'UPDATE')
                           AND has_any_column_privilege(r.oid, t.name, p.privilege)))""",
            (registries,),
        ).fetchall()
        assert found == []


def test_only_the_owner_writes_channels_and_nobody_job_queue(installed_database: str) -> None:
    """The narrowest grants: eleven channels, through functions; job_queue not at all."""
    with connect(installed_database) as connection:
        found = connection.execute(
            f"""SELECT DISTINCT c.relname, g.rolname FROM pg_class AS c
                LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid
                CROSS JOIN LATERAL (
                  SELECT * FROM aclexplode(c.relacl) UNION ALL SELECT * FROM aclexplode(a.attacl)) AS x
                JOIN pg_roles AS g ON g.oid = x.grantee AND g.rolname LIKE 'oneroof%'
                WHERE x.privilege_type IN {WRITES} AND c.relowner <> 'oneroof_owner'::regrole"""
        ).fetchall()
        written = (
            "approval_requests",
            "dot_config",
            "event_outbox",
            "event_pending",
            "event_read",
            "event_subscription",
            "event_type_registry",
            "evolution_snapshots",
            "queue_heartbeat",
            "registry_changelog",
            "system_issues",
        )
        assert sorted(found) == [(name, "oneroof_owner") for name in written]


@pytest.mark.parametrize("role", ROLES)
def test_no_role_logs_in_or_has_powers(installed_database: str, role: str) -> None:
    """None may log in, create roles or databases, replicate or bypass row-level security."""
    with connect(installed_database) as connection:
        row = connection.execute(
            """SELECT rolcanlogin OR rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls
               FROM pg_roles WHERE rolname = %s""",
            (f"oneroof_{role}",),
        ).fetchone()
        assert row == (False,)


@pytest.mark.parametrize(
    ("role", "statement"),
    [
        ("oneroof_worker", "INSERT INTO birth_registry (collection_name, entity_code) VALUES ('a', 'b')"),
        ("oneroof_worker", "SELECT FROM birth_registry FOR UPDATE"),
        ("oneroof_worker", "DELETE FROM event_pending"),
        ("oneroof_worker", "INSERT INTO event_outbox DEFAULT VALUES"),
        ("oneroof_worker", "INSERT INTO job_queue DEFAULT VALUES"),
        ("oneroof_worker", "UPDATE oneroof.governance_gate_opening SET closed_at = NULL"),
        ("oneroof_worker", "CREATE TABLE mine (x int)"),
        ("oneroof_worker", "INSERT INTO system_issues (issue_type) VALUES ('x')"),
        ("oneroof_worker", "UPDATE event_type_registry SET active = true"),
        ("oneroof_worker", "INSERT INTO oneroof.governance_event DEFAULT VALUES"),
        ("oneroof_worker", "SELECT oneroof.gov_events_register(NULL)"),
        ("oneroof_operator", "SELECT oneroof.gov_emit('[]')"),
        ("oneroof_operator", "SELECT oneroof.gov_event_activate(1::bigint, '{}')"),
        ("oneroof_operator", "INSERT INTO event_outbox DEFAULT VALUES"),
        ("oneroof_executor", "INSERT INTO event_outbox DEFAULT VALUES"),
        ("oneroof_owner", "UPDATE event_outbox SET safe_payload = '{}'"),
        ("oneroof_owner", "DELETE FROM event_outbox"),
        ("oneroof_owner", "DELETE FROM event_pending"),
        ("oneroof_owner", "DELETE FROM event_type_registry"),
        ("oneroof_owner", "UPDATE event_subscription SET recipient_ref = 'x'"),
        ("oneroof_owner", "DELETE FROM event_subscription"),
        ("oneroof_owner", "UPDATE event_read SET read_at = now()"),
        ("oneroof_owner", "DELETE FROM event_read"),
        ("oneroof_operator", "UPDATE event_subscription SET mute = true"),
        ("oneroof_operator", "INSERT INTO event_read (event_id, actor_ref) VALUES (gen_random_uuid(), 'x')"),
        ("oneroof_operator", "SELECT oneroof.gov_inbox_lock('GOV-SIV')"),
        ("oneroof_reader", "SELECT oneroof.gov_inbox_read('GOV-SIV', NULL, 1::bigint)"),
        ("oneroof_worker", "SELECT oneroof.gov_inbox_mute('GOV-SIV', NULL, true)"),
        ("oneroof_worker", "SELECT oneroof.gov_worker_pause('gov_backfill_sweep', true)"),
        ("oneroof_operator", "UPDATE oneroof.governance_worker_policy SET batch_size = 1"),
        ("oneroof_operator", "SELECT oneroof.gov_audit_note('a', 'b', 'c')"),
        ("oneroof_owner", "UPDATE system_issues SET severity = 'x'"),
        ("oneroof_owner", "DELETE FROM system_issues"),
        ("oneroof_reader", "UPDATE dot_config SET value = 'true'"),
        ("oneroof_console", "SELECT FROM birth_registry"),
        ("oneroof_operator", "SELECT oneroof.gov_request_decide(1::bigint, 'approved', NULL)"),
        ("oneroof_approver", "INSERT INTO oneroof.governance_person VALUES ('x', 'x', '{approver}', now(), now())"),
        ("oneroof_approver", "SELECT oneroof.gov_gate_open(1::bigint, 'governance.emit_enabled')"),
        ("oneroof_owner", "UPDATE birth_registry SET status = 'retired'"),
        ("oneroof_owner", "INSERT INTO job_queue DEFAULT VALUES"),
        ("oneroof_owner", "CREATE TABLE public.mine (x int)"),
    ],
)
def test_a_superusers_connection_drops_to_the_role(installed_database: str, role: str, statement: str) -> None:
    """Whatever the DSN's own power is, a transaction with a role can do no more than the role."""
    with connect(installed_database) as connection:
        with (
            pytest.raises(Refused, match="permission denied"),
            transaction(connection, doing="trying", role=role, search_path="public, pg_temp"),
        ):
            connection.execute(statement)
        with transaction(connection, doing="trying as oneself"):
            assert connection.execute("SELECT current_user").fetchone() == ("postgres",)


def test_every_function_of_ours_is_pinned_and_for_nobody_by_default(installed_database: str) -> None:
    """SECURITY DEFINER with a search path of its own, and never executable by everybody."""
    with connect(installed_database) as connection:
        loose = connection.execute(
            """SELECT proname FROM pg_proc
               WHERE proowner = 'oneroof_owner'::regrole
                 AND (NOT proconfig @> ARRAY['search_path=pg_catalog, pg_temp']
                      OR has_function_privilege('public', oid, 'EXECUTE'))"""
        ).fetchall()
        assert loose == []


def test_a_stranger_reads_and_does_nothing(installed_database: str) -> None:
    """A login of the host without any of our roles sees none of our tables."""
    with connect(installed_database) as connection:
        connection.execute("SET ROLE pg_read_all_settings")
        for name in ("governance_person", "governance_request", "v_gate_state"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT FROM oneroof.{name}")
