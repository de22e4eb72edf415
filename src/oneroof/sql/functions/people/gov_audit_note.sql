-- One row in the host's audit channel (doc 41 §41.3). The prefix marks it as our own, so that no tail acts on it.
CREATE OR REPLACE FUNCTION oneroof.gov_audit_note(p_type text, p_code text, p_action text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  INSERT INTO host.registry_changelog (entity_type, entity_code, action, "timestamp", resolved)
  VALUES ('oneroof.' || p_type, p_code, p_action, oneroof.gov_now() AT TIME ZONE 'UTC', true)
$$;
