-- Who may do what, applied whole at every install and upgrade. SELECT on the substrate comes from expected_tables.toml, in
-- the step before this one. Column lists are the narrowest that the functions need.
-- The owner, for its functions alone: the shared channels they write.
GRANT INSERT ON host.registry_changelog, host.approval_requests TO oneroof_owner;
GRANT UPDATE (status, decided_by, decided_at, updated_at) ON host.approval_requests TO oneroof_owner;
GRANT INSERT, UPDATE (value, updated_at) ON host.dot_config TO oneroof_owner;
GRANT INSERT, UPDATE (lease_owner, last_tick_at, last_tick_status, ticks_total, updated_at) ON host.queue_heartbeat
  TO oneroof_owner;
GRANT INSERT (issue_type, bucket, severity, status, title, entity_type, entity_code, owner_ref, coalesce_key, occurrence_count,
              reopen_count, business_logic_hash, violation_hash, source_system, details, first_seen_at, last_seen_at),
  UPDATE (status, title, occurrence_count, reopen_count, details, last_seen_at, resolved_at) ON host.system_issues TO oneroof_owner;
GRANT INSERT, UPDATE (event_type_hint, capture_payload, processed_at, error_count, last_error) ON host.event_pending
  TO oneroof_owner;
GRANT INSERT (snapshot_at, scope, metrics, delta_previous, notes) ON host.evolution_snapshots TO oneroof_owner;
-- The outbox is for gov_emit_checked, gov_untold_send and gov_events_promote alone. UPDATE of one column is also what a row lock needs.
GRANT INSERT (id, event_domain, event_type, event_stream, delivery_lane, event_severity, event_subject_table, event_subject_ref,
              canonical_address, actor_ref, source_system, correlation_id, payload_classification, safe_payload, occurred_at, created_at)
  ON host.event_outbox TO oneroof_owner;
GRANT INSERT (event_domain, event_type, event_stream, delivery_lane, default_severity, description, active), UPDATE (active)
  ON host.event_type_registry TO oneroof_owner;
-- The inbox: a subscription is added and muted, a signal is seen; neither is ever taken back.
GRANT INSERT (id, recipient_ref, event_domain, event_type, event_stream, scope_subject_table, scope_filter, mute, created_at), UPDATE (mute)
  ON host.event_subscription TO oneroof_owner;
GRANT INSERT (event_id, actor_ref, read_at, read_status_source) ON host.event_read TO oneroof_owner;
DO $sequences$
DECLARE
  written CONSTANT regclass[] := ARRAY[
    'host.registry_changelog', 'host.approval_requests', 'host.system_issues', 'host.event_pending', 'host.evolution_snapshots',
    'host.event_outbox', 'host.event_type_registry', 'host.event_subscription', 'host.event_read']::regclass[];
  found record;
BEGIN
  -- Sequences that belong to the columns, and any other that a column's default takes its number from.
  FOR found IN
    SELECT DISTINCT s.oid::regclass AS sequence
    FROM pg_catalog.pg_class AS s
    WHERE s.relkind = 'S' AND (
      EXISTS (SELECT FROM pg_catalog.pg_depend AS d
              WHERE d.objid = s.oid AND d.deptype IN ('a', 'i') AND d.classid = 'pg_catalog.pg_class'::regclass
                AND d.refobjid = ANY (written))
      OR EXISTS (SELECT FROM pg_catalog.pg_attrdef AS f
                 JOIN pg_catalog.pg_depend AS d ON d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.objid = f.oid
                 WHERE d.refobjid = s.oid
                   AND f.adrelid = ANY (written)))
  LOOP
    EXECUTE format('GRANT USAGE ON SEQUENCE %s TO oneroof_owner', found.sequence);
  END LOOP;
END
$sequences$;

-- PUBLIC has no right on anything of ours.
SET LOCAL ROLE oneroof_owner;
REVOKE ALL ON SCHEMA oneroof FROM PUBLIC;
GRANT USAGE ON SCHEMA oneroof TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_executor,
  oneroof_console;
DO $nobody$
DECLARE
  found record;
BEGIN
  FOR found IN
    SELECT p.oid::regprocedure AS routine FROM pg_catalog.pg_proc AS p
    WHERE p.pronamespace = 'oneroof'::regnamespace AND p.proowner = 'oneroof_owner'::regrole
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', found.routine);
  END LOOP;
END
$nobody$;

GRANT SELECT ON oneroof.governance_migration, oneroof.governance_schema
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_executor, oneroof_console;
GRANT SELECT ON oneroof.governance_person, oneroof.governance_person_login, oneroof.governance_request,
  oneroof.governance_gate, oneroof.governance_gate_opening TO oneroof_reader;
GRANT SELECT ON oneroof.governance_source, oneroof.gov_worker_cursor, oneroof.governance_open_row, oneroof.governance_open_span,
  oneroof.governance_candidate_state TO oneroof_reader, oneroof_worker;
GRANT SELECT ON oneroof.governance_gate TO oneroof_worker;
GRANT SELECT ON oneroof.governance_instance TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT SELECT ON oneroof.governance_source_removed TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT SELECT ON oneroof.governance_source, oneroof.gov_worker_cursor TO oneroof_operator, oneroof_approver, oneroof_console;
GRANT SELECT ON oneroof.governance_worker_policy, oneroof.governance_finding_type, oneroof.governance_finding,
  oneroof.governance_retry TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT SELECT ON oneroof.governance_office, oneroof.governance_object_ownership, oneroof.governance_exception
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver;
GRANT INSERT, UPDATE ON oneroof.governance_candidate_state, oneroof.gov_worker_cursor TO oneroof_worker;
GRANT INSERT, DELETE ON oneroof.governance_open_row TO oneroof_worker;
GRANT INSERT, UPDATE, DELETE ON oneroof.governance_open_span TO oneroof_worker;
GRANT SELECT ON oneroof.v_gate_state, oneroof.v_person, oneroof.v_request
  TO oneroof_reader, oneroof_operator, oneroof_approver, oneroof_console;
GRANT SELECT ON oneroof.v_finding, oneroof.v_governance_depth, oneroof.v_horizon, oneroof.v_worker_status
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT SELECT ON oneroof.v_active_ownership, oneroof.v_collection_owner, oneroof.v_object_effective_owner, oneroof.v_candidate_class,
  oneroof.v_exception, oneroof.v_exception_effective TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver;
GRANT SELECT ON oneroof.v_active_ownership, oneroof.v_collection_owner, oneroof.v_exception TO oneroof_console;
GRANT EXECUTE ON FUNCTION oneroof.gov_known_classes() TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;

GRANT SELECT ON oneroof.governance_rule, oneroof.governance_ruleset, oneroof.governance_ruleset_rule
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT EXECUTE ON FUNCTION oneroof.gov_ruleset_active(), oneroof.gov_ruleset_content(), oneroof.gov_ruleset_version(),
  oneroof.gov_ruleset_changed(text, text), oneroof.gov_facts_example(), oneroof.gov_rules_evaluate(jsonb[], text),
  oneroof.gov_rules_mentions(text)
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT EXECUTE ON FUNCTION oneroof.gov_rules_import(jsonb) TO oneroof_operator;
GRANT EXECUTE ON FUNCTION oneroof.gov_rules_count(jsonb[], text), oneroof.gov_known_sets(bigint, text, bigint),
  oneroof.gov_known_objects(text, bigint) TO oneroof_reader, oneroof_operator, oneroof_approver, oneroof_console;

GRANT SELECT ON oneroof.governance_fact_set, oneroof.governance_class, oneroof.governance_object, oneroof.governance_duplicate, oneroof.governance_ledger,
  oneroof.governance_verdict_history TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT INSERT (source_name, facts_hash, group_key, class, grain, row_facts) ON oneroof.governance_fact_set TO oneroof_worker;
GRANT INSERT, UPDATE, DELETE ON oneroof.governance_duplicate TO oneroof_worker;
GRANT EXECUTE ON FUNCTION oneroof.gov_class_facts(), oneroof.gov_facts_of(text, text, text, jsonb, jsonb, jsonb)
  TO oneroof_reader, oneroof_worker, oneroof_operator;
GRANT SELECT ON oneroof.governance_class_finding TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT EXECUTE ON FUNCTION oneroof.gov_objects_refresh(), oneroof.gov_inventory_gaps(), oneroof.gov_findings_count(text, bigint), oneroof.gov_findings_raise(text, bigint) TO oneroof_worker;
GRANT EXECUTE ON FUNCTION oneroof.gov_classes_refresh(), oneroof.gov_fact_sets_judge(text, bigint), oneroof.gov_objects_judge(text, bigint),
  oneroof.gov_fact_sets_meet(text, bigint[], text[], text[], text[], jsonb[]),
  oneroof.gov_input_mark(text, bigint), oneroof.gov_scan_apply(text, bigint), oneroof.gov_scan_spread(text, bigint),
  oneroof.gov_scan_expire(text, bigint), oneroof.gov_candidates_vanish(text, text[]), oneroof.gov_objects_vanish(text, text[]),
  oneroof.gov_vanished_decide(text, double precision, bigint, bigint), oneroof.gov_ledger_recount(text, text[]),
  oneroof.gov_applied_reasons(), oneroof.gov_scan_oldest(),
  oneroof.gov_fact_sets_forget(text, bigint[]), oneroof.gov_fact_sets_doubt(text, bigint, bigint, text),
  oneroof.gov_objects_doubt(text, text, bigint, text) TO oneroof_worker;
GRANT SELECT ON oneroof.governance_audit_facts, oneroof.governance_audit_bucket, oneroof.governance_audit_count, oneroof.governance_snapshot TO oneroof_reader, oneroof_worker;
GRANT EXECUTE ON FUNCTION oneroof.gov_snapshot_take(text, text, jsonb) TO oneroof_worker;
GRANT INSERT, UPDATE, DELETE ON oneroof.governance_audit_facts, oneroof.governance_audit_bucket, oneroof.governance_audit_count TO oneroof_worker;
GRANT SELECT ON oneroof.governance_vanishing TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;

GRANT SELECT ON oneroof.governance_handoff_map, oneroof.governance_handoff, oneroof.governance_group_mark, oneroof.governance_register_row
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT INSERT, UPDATE ON oneroof.governance_register_row TO oneroof_worker;
GRANT INSERT (source_name, many, kinds, classes, groups, systems, actors, places, keys, numbers, refs, times) ON oneroof.governance_untold TO oneroof_worker;
GRANT SELECT ON oneroof.governance_untold TO oneroof_reader, oneroof_worker;
GRANT EXECUTE ON FUNCTION oneroof.gov_changes_take(text, boolean, jsonb), oneroof.gov_group_marks_take(bigint), oneroof.gov_group_marks_share(), oneroof.gov_changes_emit(text, text), oneroof.gov_objects_emit(text, bigint, boolean),
  oneroof.gov_handoff_audit(text, text, bigint, bigint), oneroof.gov_handoff_heartbeat(), oneroof.gov_events_examine(interval) TO oneroof_worker;

GRANT SELECT ON oneroof.governance_certificate, oneroof.v_governance_books, oneroof.v_governance_group
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT EXECUTE ON FUNCTION oneroof.gov_certificate_store(jsonb) TO oneroof_worker, oneroof_operator;

GRANT SELECT ON oneroof.governance_event_type, oneroof.governance_event_activation, oneroof.governance_event, oneroof.v_event_type, oneroof.v_signal
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT SELECT ON oneroof.governance_event_examined, oneroof.v_event_compared, oneroof.v_event_foreign TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver;
GRANT EXECUTE ON FUNCTION oneroof.gov_event_id(text, text, bigint, text),
  oneroof.gov_event_digest(text, text, text, text, timestamptz)
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver;
GRANT EXECUTE ON FUNCTION oneroof.gov_emit(jsonb), oneroof.gov_events_promote(text, bigint), oneroof.gov_events_promotable(),
  oneroof.gov_handoff_emit(text, text, text[], text[], bigint[], text[], text[], text[], text[], text[], text[], timestamptz[], bigint[])
  TO oneroof_worker;
GRANT EXECUTE ON FUNCTION oneroof.gov_events_register(text[]) TO oneroof_operator;
GRANT SELECT ON oneroof.v_inbox, oneroof.v_event_subscription, oneroof.governance_subscription
  TO oneroof_reader, oneroof_operator, oneroof_approver, oneroof_console;
GRANT EXECUTE ON FUNCTION oneroof.gov_recipient_require(text) TO oneroof_reader, oneroof_operator, oneroof_approver, oneroof_console;
GRANT EXECUTE ON FUNCTION oneroof.gov_inbox_subscribe(text, text, text, text, jsonb), oneroof.gov_inbox_read(text, uuid[], bigint),
  oneroof.gov_inbox_mute(text, text[], boolean) TO oneroof_operator;
GRANT EXECUTE ON FUNCTION oneroof.gov_event_deactivate(text[], text) TO oneroof_operator, oneroof_approver;

GRANT EXECUTE ON FUNCTION oneroof.gov_now(), oneroof.gov_cluster() TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver,
  oneroof_executor, oneroof_console;
GRANT EXECUTE ON FUNCTION oneroof.gov_gate_is_open(text) TO oneroof_reader, oneroof_worker, oneroof_operator,
  oneroof_approver, oneroof_executor, oneroof_console;
GRANT EXECUTE ON FUNCTION oneroof.gov_request_digest(text, text, jsonb, text, text)
  TO oneroof_reader, oneroof_operator, oneroof_approver, oneroof_console;
GRANT EXECUTE ON FUNCTION oneroof.gov_session_person(), oneroof.gov_person_bootstrapping()
  TO oneroof_reader, oneroof_operator, oneroof_approver;

GRANT EXECUTE ON FUNCTION oneroof.gov_request_open(text, text, jsonb, text) TO oneroof_operator;
GRANT EXECUTE ON FUNCTION oneroof.gov_request_decide(bigint, text, text) TO oneroof_approver;
GRANT EXECUTE ON FUNCTION oneroof.gov_lease_claim(text[], text[], interval), oneroof.gov_lease_tick(text[], text[], text[]), oneroof.gov_lease_hold(text, text, text, interval), oneroof.gov_cursor_read(text, text),
  oneroof.gov_cursor_advance(text, text, jsonb, bigint, bigint, bigint, text, text, jsonb),
  oneroof.gov_lease_release(text[], text[]), oneroof.gov_instance_tick(text, text[], interval), oneroof.gov_instance_leave(text)
  TO oneroof_worker;
GRANT EXECUTE ON FUNCTION oneroof.gov_finding_raise(text, text, text, jsonb), oneroof.gov_finding_keep(text, text, text, jsonb), oneroof.gov_finding_clear(text, text)
  TO oneroof_worker, oneroof_operator;
GRANT EXECUTE ON FUNCTION oneroof.gov_worker_pause(text, boolean), oneroof.gov_policy_set(text, jsonb) TO oneroof_operator;
GRANT EXECUTE ON FUNCTION oneroof.gov_oldest_transaction(interval) TO oneroof_worker;
GRANT EXECUTE ON FUNCTION oneroof.gov_key_mark(text), oneroof.gov_expiry_holds(timestamptz, timestamptz, interval),
  oneroof.gov_expiry_keep(timestamptz, timestamptz, interval) TO oneroof_reader, oneroof_worker, oneroof_operator;
GRANT EXECUTE ON FUNCTION oneroof.gov_source_retire_objects(text, bigint) TO oneroof_worker;
GRANT EXECUTE ON FUNCTION oneroof.gov_retry_stage(text, text, text, text, bigint, text, text),
  oneroof.gov_retry_fail(bigint[], text, text), oneroof.gov_retry_end(bigint[], text, text),
  oneroof.gov_retry_link_candidates(text, text[], text[]) TO oneroof_worker;
GRANT EXECUTE ON FUNCTION oneroof.gov_retry_replay(bigint[]), oneroof.gov_retry_resolve(bigint[], text) TO oneroof_operator;
GRANT EXECUTE ON FUNCTION oneroof.gov_gate_close(text, text) TO oneroof_operator, oneroof_approver;
GRANT EXECUTE ON FUNCTION oneroof.gov_ownership_import(jsonb, boolean, boolean),
  oneroof.gov_exception_add(text, text, text, timestamptz) TO oneroof_operator;
GRANT EXECUTE ON FUNCTION oneroof.gov_exception_revoke(bigint) TO oneroof_operator, oneroof_approver;
SET LOCAL ROLE NONE;
