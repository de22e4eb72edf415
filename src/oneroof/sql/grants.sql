-- Who may do what, applied whole at every install and upgrade. SELECT on the substrate comes from substrate.toml, in
-- the step before this one. Column lists are the narrowest that the functions need.
GRANT USAGE ON SCHEMA public TO oneroof_owner, oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver,
  oneroof_executor, oneroof_console;

-- The owner, for its functions alone: the shared channels they write.
GRANT INSERT ON public.registry_changelog, public.approval_requests TO oneroof_owner;
GRANT UPDATE (status, decided_by, decided_at, updated_at) ON public.approval_requests TO oneroof_owner;
GRANT INSERT, UPDATE (value, updated_at) ON public.dot_config TO oneroof_owner;
GRANT INSERT, UPDATE (lease_owner, last_tick_at, last_tick_status, ticks_total, updated_at) ON public.queue_heartbeat
  TO oneroof_owner;
GRANT INSERT (issue_type, bucket, severity, status, title, entity_type, entity_code, owner_ref, coalesce_key, occurrence_count,
              reopen_count, business_logic_hash, violation_hash, source_system, details, first_seen_at, last_seen_at),
  UPDATE (status, title, occurrence_count, reopen_count, details, last_seen_at, resolved_at) ON public.system_issues TO oneroof_owner;
GRANT INSERT, UPDATE (event_type_hint, capture_payload, processed_at, error_count, last_error) ON public.event_pending
  TO oneroof_owner;
GRANT INSERT (snapshot_at, scope, metrics, delta_previous, notes) ON public.evolution_snapshots TO oneroof_owner;
-- The outbox is for gov_emit_checked, gov_untold_send and gov_events_promote alone. UPDATE of one column is also what a row lock needs.
GRANT INSERT (id, event_domain, event_type, event_stream, delivery_lane, event_severity, event_subject_table, event_subject_ref,
              canonical_address, actor_ref, source_system, correlation_id, payload_classification, safe_payload, occurred_at, created_at)
  ON public.event_outbox TO oneroof_owner;
GRANT INSERT (event_domain, event_type, event_stream, delivery_lane, default_severity, description, active), UPDATE (active)
  ON public.event_type_registry TO oneroof_owner;
-- The inbox: a subscription is added and muted, a signal is seen; neither is ever taken back.
GRANT INSERT (id, recipient_ref, event_domain, event_type, event_stream, scope_subject_table, scope_filter, mute, created_at), UPDATE (mute)
  ON public.event_subscription TO oneroof_owner;
GRANT INSERT (event_id, actor_ref, read_at, read_status_source) ON public.event_read TO oneroof_owner;
DO $sequences$
DECLARE
  written CONSTANT regclass[] :=
    '{public.registry_changelog, public.approval_requests, public.system_issues, public.event_pending, public.evolution_snapshots,
      public.event_outbox, public.event_type_registry, public.event_subscription, public.event_read}';
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

-- Nothing of ours is for everybody.
SET LOCAL ROLE oneroof_owner;
DO $nobody$
DECLARE
  found record;
BEGIN
  FOR found IN
    SELECT p.oid::regprocedure AS routine FROM pg_catalog.pg_proc AS p
    WHERE p.pronamespace = 'public'::regnamespace AND p.proowner = 'oneroof_owner'::regrole
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', found.routine);
  END LOOP;
END
$nobody$;

GRANT SELECT ON public.governance_migration, public.governance_schema
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_executor, oneroof_console;
GRANT SELECT ON public.governance_person, public.governance_person_login, public.governance_request,
  public.governance_gate, public.governance_gate_opening TO oneroof_reader;
GRANT SELECT ON public.governance_source, public.gov_worker_cursor, public.governance_open_row, public.governance_open_span,
  public.governance_candidate_state TO oneroof_reader, oneroof_worker;
GRANT SELECT ON public.governance_gate TO oneroof_worker;
GRANT SELECT ON public.governance_source_removed TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT SELECT ON public.governance_source, public.gov_worker_cursor TO oneroof_operator, oneroof_approver, oneroof_console;
GRANT SELECT ON public.governance_worker_policy, public.governance_finding_type, public.governance_finding,
  public.governance_retry TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT SELECT ON public.governance_office, public.governance_object_ownership, public.governance_exception
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver;
GRANT INSERT, UPDATE ON public.governance_candidate_state, public.gov_worker_cursor TO oneroof_worker;
GRANT INSERT, DELETE ON public.governance_open_row TO oneroof_worker;
GRANT INSERT, UPDATE, DELETE ON public.governance_open_span TO oneroof_worker;
GRANT SELECT ON public.v_gate_state, public.v_person, public.v_request
  TO oneroof_reader, oneroof_operator, oneroof_approver, oneroof_console;
GRANT SELECT ON public.v_finding, public.v_governance_depth, public.v_horizon, public.v_worker_status
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT SELECT ON public.v_active_ownership, public.v_collection_owner, public.v_object_effective_owner, public.v_candidate_class,
  public.v_exception, public.v_exception_effective TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver;
GRANT SELECT ON public.v_active_ownership, public.v_collection_owner, public.v_exception TO oneroof_console;
GRANT EXECUTE ON FUNCTION public.gov_known_classes() TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;

GRANT SELECT ON public.governance_rule, public.governance_ruleset, public.governance_ruleset_rule
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT EXECUTE ON FUNCTION public.gov_ruleset_active(), public.gov_ruleset_content(), public.gov_ruleset_version(),
  public.gov_ruleset_changed(text, text), public.gov_facts_example(), public.gov_rules_evaluate(jsonb[], text),
  public.gov_rules_mentions(text)
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT EXECUTE ON FUNCTION public.gov_rules_import(jsonb) TO oneroof_operator;
GRANT EXECUTE ON FUNCTION public.gov_rules_count(jsonb[], text), public.gov_known_sets(bigint, text, bigint),
  public.gov_known_objects(text, bigint) TO oneroof_reader, oneroof_operator, oneroof_approver, oneroof_console;

GRANT SELECT ON public.governance_fact_set, public.governance_class, public.governance_object, public.governance_duplicate, public.governance_ledger,
  public.governance_verdict_history TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT INSERT (source_name, facts_hash, group_key, class, grain, row_facts) ON public.governance_fact_set TO oneroof_worker;
GRANT INSERT, UPDATE, DELETE ON public.governance_duplicate TO oneroof_worker;
GRANT EXECUTE ON FUNCTION public.gov_class_facts(), public.gov_facts_of(text, text, text, jsonb, jsonb, jsonb)
  TO oneroof_reader, oneroof_worker, oneroof_operator;
GRANT SELECT ON public.governance_class_finding TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT EXECUTE ON FUNCTION public.gov_objects_refresh(), public.gov_inventory_gaps(), public.gov_findings_count(text, bigint), public.gov_findings_tell(text, bigint) TO oneroof_worker;
GRANT EXECUTE ON FUNCTION public.gov_classes_refresh(), public.gov_fact_sets_judge(text, bigint), public.gov_objects_judge(text, bigint),
  public.gov_gate_mark(text, bigint), public.gov_scan_apply(text, bigint), public.gov_scan_spread(text, bigint),
  public.gov_scan_expire(text, bigint), public.gov_candidates_vanish(text, text[]), public.gov_candidates_lose(text, text[]),
  public.gov_vanished_decide(text, double precision, bigint, bigint), public.gov_ledger_recount(text, text[]),
  public.gov_applied_reasons(), public.gov_scan_oldest(),
  public.gov_fact_sets_forget(text, bigint[]), public.gov_fact_sets_doubt(text, bigint, bigint, text),
  public.gov_objects_doubt(text, text, bigint, text) TO oneroof_worker;
GRANT SELECT ON public.governance_audit_facts, public.governance_audit_bucket, public.governance_audit_count, public.governance_snapshot TO oneroof_reader, oneroof_worker;
GRANT EXECUTE ON FUNCTION public.gov_snapshot_take(text, text, jsonb) TO oneroof_worker;
GRANT INSERT, UPDATE, DELETE ON public.governance_audit_facts, public.governance_audit_bucket, public.governance_audit_count TO oneroof_worker;
GRANT SELECT ON public.governance_vanishing TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;

GRANT SELECT ON public.governance_handoff_map, public.governance_handoff, public.governance_group_mark, public.governance_register_row
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT INSERT, UPDATE ON public.governance_register_row TO oneroof_worker;
GRANT INSERT (source_name, many, kinds, classes, groups, systems, actors, places, keys, numbers, refs, times) ON public.governance_untold TO oneroof_worker;
GRANT SELECT ON public.governance_untold TO oneroof_reader;
GRANT EXECUTE ON FUNCTION public.gov_handoff_take(text, boolean, jsonb), public.gov_handoffs_absorb(bigint), public.gov_handoff_share(), public.gov_handoffs_tell(text, text), public.gov_untold_tell(text, bigint, boolean),
  public.gov_handoff_audit(text, text, bigint, bigint), public.gov_handoff_heartbeat(), public.gov_events_examine(interval) TO oneroof_worker;

GRANT SELECT ON public.governance_certificate, public.v_governance_books, public.v_governance_group
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT EXECUTE ON FUNCTION public.gov_certificate_store(jsonb) TO oneroof_worker, oneroof_operator;

GRANT SELECT ON public.governance_event_type, public.governance_event_activation, public.governance_event, public.v_event_type, public.v_signal
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver, oneroof_console;
GRANT SELECT ON public.governance_event_examined, public.v_event_compared, public.v_event_foreign TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver;
GRANT EXECUTE ON FUNCTION public.gov_event_id(text, text, bigint, text),
  public.gov_event_digest(text, text, text, text, timestamptz)
  TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver;
GRANT EXECUTE ON FUNCTION public.gov_emit(jsonb), public.gov_events_promote(text, bigint), public.gov_events_lively(),
  public.gov_handoff_emit(text, text, text[], text[], bigint[], text[], text[], text[], text[], text[], text[], timestamptz[], bigint[])
  TO oneroof_worker;
GRANT EXECUTE ON FUNCTION public.gov_events_register(text[]) TO oneroof_operator;
GRANT SELECT ON public.v_inbox, public.v_event_subscription, public.governance_subscription
  TO oneroof_reader, oneroof_operator, oneroof_approver, oneroof_console;
GRANT EXECUTE ON FUNCTION public.gov_recipient_require(text) TO oneroof_reader, oneroof_operator, oneroof_approver, oneroof_console;
GRANT EXECUTE ON FUNCTION public.gov_inbox_subscribe(text, text, text, text, jsonb), public.gov_inbox_read(text, uuid[], bigint),
  public.gov_inbox_mute(text, text[], boolean) TO oneroof_operator;
GRANT EXECUTE ON FUNCTION public.gov_event_deactivate(text[], text) TO oneroof_operator, oneroof_approver;

GRANT EXECUTE ON FUNCTION public.gov_now(), public.gov_cluster() TO oneroof_reader, oneroof_worker, oneroof_operator, oneroof_approver,
  oneroof_executor, oneroof_console;
GRANT EXECUTE ON FUNCTION public.gov_gate_is_open(text) TO oneroof_reader, oneroof_worker, oneroof_operator,
  oneroof_approver, oneroof_executor, oneroof_console;
GRANT EXECUTE ON FUNCTION public.gov_request_digest(text, text, jsonb, text, text)
  TO oneroof_reader, oneroof_operator, oneroof_approver, oneroof_console;
GRANT EXECUTE ON FUNCTION public.gov_session_person(), public.gov_person_bootstrapping()
  TO oneroof_reader, oneroof_operator, oneroof_approver;

GRANT EXECUTE ON FUNCTION public.gov_request_open(text, text, jsonb, text) TO oneroof_operator;
GRANT EXECUTE ON FUNCTION public.gov_request_decide(bigint, text, text) TO oneroof_approver;
GRANT EXECUTE ON FUNCTION public.gov_lease_claim(text, text, interval), public.gov_lease_hold(text, text, text, interval), public.gov_cursor_read(text, text),
  public.gov_cursor_advance(text, text, jsonb, bigint, bigint, bigint, text, text, jsonb),
  public.gov_lease_release(text, text) TO oneroof_worker;
GRANT EXECUTE ON FUNCTION public.gov_finding_raise(text, text, text, jsonb), public.gov_finding_keep(text, text, text, jsonb), public.gov_finding_clear(text, text)
  TO oneroof_worker, oneroof_operator;
GRANT EXECUTE ON FUNCTION public.gov_worker_pause(text, boolean), public.gov_policy_set(text, jsonb) TO oneroof_operator;
GRANT EXECUTE ON FUNCTION public.gov_oldest_transaction(interval) TO oneroof_worker;
GRANT EXECUTE ON FUNCTION public.gov_key_mark(text), public.gov_expiry_holds(timestamptz, timestamptz, interval),
  public.gov_expiry_keep(timestamptz, timestamptz, interval) TO oneroof_reader, oneroof_worker, oneroof_operator;
GRANT EXECUTE ON FUNCTION public.gov_source_bury(text, bigint) TO oneroof_worker;
GRANT EXECUTE ON FUNCTION public.gov_retry_stage(text, text, text, text, bigint, text, text),
  public.gov_retry_fail(bigint[], text, text), public.gov_retry_end(bigint[], text, text),
  public.gov_retry_know(text, text[], text[]) TO oneroof_worker;
GRANT EXECUTE ON FUNCTION public.gov_retry_replay(bigint[]), public.gov_retry_resolve(bigint[], text) TO oneroof_operator;
GRANT EXECUTE ON FUNCTION public.gov_gate_close(text, text) TO oneroof_operator, oneroof_approver;
GRANT EXECUTE ON FUNCTION public.gov_ownership_import(jsonb, boolean, boolean),
  public.gov_exception_add(text, text, text, timestamptz) TO oneroof_operator;
GRANT EXECUTE ON FUNCTION public.gov_exception_revoke(bigint) TO oneroof_operator, oneroof_approver;
SET LOCAL ROLE NONE;
