-- Keep a certificate (doc 31 §9, audit-anchored): in evolution_snapshots, with an audit row in registry_changelog, and its hash in
-- a chain of our own. Answers its number in the chain; NULL if another was stored since the one that it names as its predecessor.
CREATE OR REPLACE FUNCTION oneroof.gov_certificate_store(p_certificate jsonb) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  v_sha256 CONSTANT text := p_certificate ->> 'sha256';
  v_latest text;
  v_snapshot bigint;
  v_sequence bigint;
BEGIN
  IF p_certificate ->> 'format' IS DISTINCT FROM 'oneroof.certificate' OR coalesce(v_sha256, '') !~ '^[0-9a-f]{64}$' THEN
    PERFORM oneroof.gov_refuse('this is not a certificate'::text, 'oneroof prove makes one'::text);
  END IF;
  LOCK TABLE oneroof.governance_certificate IN SHARE ROW EXCLUSIVE MODE;
  v_latest := (SELECT c.sha256 FROM oneroof.governance_certificate AS c ORDER BY c.sequence DESC LIMIT 1);
  IF v_latest IS DISTINCT FROM p_certificate ->> 'previous_sha256' THEN
    RETURN NULL;
  END IF;
  INSERT INTO host.evolution_snapshots (snapshot_at, scope, metrics, notes)
  VALUES ((p_certificate ->> 'proved_at')::timestamptz, 'oneroof.certificate', p_certificate, 'sha256 ' || v_sha256)
  RETURNING id INTO v_snapshot;
  INSERT INTO oneroof.governance_certificate
    (sha256, previous_sha256, proved_at, is_balanced, is_complete, is_deep, ruleset_version, signer, snapshot_id, stored_at, stored_by)
  VALUES (v_sha256, v_latest, (p_certificate ->> 'proved_at')::timestamptz, (p_certificate ->> 'balanced')::boolean,
          (p_certificate ->> 'complete')::boolean, (p_certificate ->> 'deep')::boolean, p_certificate ->> 'ruleset_version', p_certificate ->> 'signer', v_snapshot,
          oneroof.gov_now(), session_user)
  RETURNING sequence INTO v_sequence;
  PERFORM oneroof.gov_audit_note('certificate'::text, v_sha256, CASE WHEN (p_certificate ->> 'balanced')::boolean THEN 'balanced' ELSE 'open' END);
  RETURN v_sequence;
END
$$;
