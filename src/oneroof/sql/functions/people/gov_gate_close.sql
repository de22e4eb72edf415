-- Close a gate: one person is enough. Answers whether it was open.
CREATE OR REPLACE FUNCTION oneroof.gov_gate_close(p_gate text, p_reason text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  who CONSTANT text := oneroof.gov_require_person(ARRAY['operator', 'approver']::text[]);
  was_open boolean;
BEGIN
  IF p_gate = 'governance.emit_enabled' THEN
    -- Emits under way are waited for, and when this is over there are none.
    PERFORM pg_advisory_xact_lock(hashtextextended('oneroof.events.emit', 0));
  END IF;
  PERFORM 1 FROM oneroof.governance_gate WHERE gate_key = p_gate FOR UPDATE;
  IF NOT FOUND THEN
    PERFORM oneroof.gov_refuse(format('there is no gate %L', p_gate)::text, 'oneroof gate list'::text);
  END IF;
  was_open := oneroof.gov_gate_is_open(p_gate);
  UPDATE oneroof.governance_gate_opening SET closed_at = oneroof.gov_now(), closed_by = who, close_reason = p_reason
  WHERE gate_key = p_gate AND closed_at IS NULL;
  UPDATE host.dot_config SET value = 'false', updated_at = oneroof.gov_now() WHERE key = p_gate AND value IS DISTINCT FROM 'false';
  IF was_open THEN
    PERFORM oneroof.gov_audit_note('gate'::text, p_gate, 'close'::text);
  END IF;
  RETURN was_open;
END
$$;
