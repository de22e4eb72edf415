-- Open a gate on an approval just given. The opening is bound to this very version of the dot_config row: a rewrite
-- of that row by hand, with any value, breaks the bond and the gate is closed.
CREATE OR REPLACE FUNCTION oneroof.gov_gate_open(p_request bigint, p_gate text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  written bigint;
BEGIN
  IF p_gate = 'governance.emit_enabled' THEN
    -- Who holds something at this moment is waited for: nothing that comes after it may overtake it.
    PERFORM pg_advisory_xact_lock(hashtextextended('oneroof.events.emit', 0));
  END IF;
  -- The key's uniqueness in dot_config is the host's affair; ours is that one opening stands, one at a time.
  PERFORM 1 FROM oneroof.governance_gate WHERE gate_key = p_gate FOR UPDATE;
  UPDATE host.dot_config SET value = 'true', updated_at = oneroof.gov_now() WHERE key = p_gate;
  GET DIAGNOSTICS written = ROW_COUNT;
  IF written = 0 THEN
    INSERT INTO host.dot_config (key, value, updated_at) VALUES (p_gate, 'true', oneroof.gov_now());
  ELSIF written > 1 THEN
    PERFORM oneroof.gov_refuse(format('dot_config has %s rows with the key %s', written, p_gate)::text, NULL::text);
  END IF;
  UPDATE oneroof.governance_gate_opening SET closed_at = oneroof.gov_now(), close_reason = 'opened anew'
  WHERE gate_key = p_gate AND closed_at IS NULL;
  INSERT INTO oneroof.governance_gate_opening (request_id, gate_key, config_version, opened_at)
  SELECT p_request, p_gate, c.xmin, oneroof.gov_now() FROM host.dot_config AS c WHERE c.key = p_gate;
  IF NOT oneroof.gov_gate_is_open(p_gate) THEN
    PERFORM oneroof.gov_refuse(format('something on this host changes dot_config as it is written: %s stays closed', p_gate)::text,
                              'look at the triggers of dot_config'::text);
  END IF;
  PERFORM oneroof.gov_audit_note('gate'::text, p_gate, 'open'::text);
END
$$;
