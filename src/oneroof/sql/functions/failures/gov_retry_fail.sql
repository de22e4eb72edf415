-- One more attempt of these items has failed: back-off with jitter, and after the last one a dead letter with a finding.
CREATE OR REPLACE FUNCTION oneroof.gov_retry_fail(p_items bigint[], p_sqlstate text, p_error text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  at CONSTANT timestamptz := oneroof.gov_now();
  found record;
BEGIN
  UPDATE oneroof.governance_retry AS r
  SET attempts = r.attempts + 1, sqlstate = p_sqlstate, last_error = p_error, updated_at = at,
      state = CASE WHEN r.attempts + 1 >= p.attempts THEN 'dead' ELSE 'waiting' END,
      next_attempt_at = CASE WHEN r.attempts + 1 < p.attempts
                             THEN at + least(p.backoff_most, p.backoff_first * power(2, least(r.attempts, 30))::float8) * (0.5 + random() / 2) END
  FROM oneroof.governance_worker_policy AS p
  WHERE r.item_id = ANY (p_items) AND p.worker_name = r.worker_name AND r.state IN ('waiting', 'dead');
  UPDATE host.event_pending AS e
  SET error_count = r.attempts, last_error = r.last_error,
      event_type_hint = CASE r.state WHEN 'dead' THEN 'cursor_dlq' ELSE 'cursor_retry' END,
      capture_payload = e.capture_payload || jsonb_build_object('state', r.state, 'sqlstate', r.sqlstate)
  FROM oneroof.governance_retry AS r
  WHERE r.item_id = ANY (p_items) AND e.actor_ref = 'oneroof' AND e.capture_payload ->> 'item_id' = r.item_id::text;
  -- An item counts as a dead letter once, however often it is replayed.
  UPDATE oneroof.gov_worker_cursor AS c SET dead_lettered = c.dead_lettered + d.died
  FROM (SELECT worker_name, source_name, count(*) AS died FROM oneroof.governance_retry
        WHERE item_id = ANY (p_items) AND state = 'dead' AND died_at IS NULL GROUP BY 1, 2) AS d
  WHERE c.worker_name = d.worker_name AND c.source_name = d.source_name;
  PERFORM oneroof.gov_handoff_audit(d.source_name, 'dead'::text, d.died, 0::bigint)
  FROM (SELECT r.source_name, count(*) AS died FROM oneroof.governance_retry AS r
        WHERE r.item_id = ANY (p_items) AND r.state = 'dead' AND r.died_at IS NULL AND r.worker_name = 'gov_handoff_intake' GROUP BY 1) AS d;
  UPDATE oneroof.governance_retry SET died_at = at WHERE item_id = ANY (p_items) AND state = 'dead' AND died_at IS NULL;
  PERFORM oneroof.gov_retry_note_objects(p_items);
  FOR found IN
    SELECT d.worker_name, d.source_name, d.sample, d.last_error, n.dead, p.dlq_limit,
           d.worker_name = 'gov_backfill_sweep' AS backfill
    FROM (SELECT worker_name, source_name, min(source_key) AS sample, min(last_error) AS last_error FROM oneroof.governance_retry
          WHERE item_id = ANY (p_items) AND state = 'dead' GROUP BY 1, 2) AS d
    JOIN oneroof.governance_worker_policy AS p USING (worker_name)
    CROSS JOIN LATERAL (SELECT count(*) AS dead FROM oneroof.governance_retry AS r
                        WHERE r.worker_name = d.worker_name AND r.source_name = d.source_name AND r.state = 'dead') AS n
  LOOP
    PERFORM oneroof.gov_finding_raise(
      'cursor_dlq'::text, (found.worker_name || ':' || found.source_name)::text,
      format('items of %s are dead letters', found.source_name)::text,
      jsonb_build_object('worker', found.worker_name, 'source', found.source_name, 'count', found.dead,
                         'sample', left(found.sample, 100))::jsonb);
    IF found.backfill THEN
      PERFORM oneroof.gov_finding_raise(
        'backfill_batch_failed'::text, (found.worker_name || ':' || found.source_name)::text,
        format('items of %s failed in the backfill: %s', found.source_name, left(found.last_error, 200))::text,
        jsonb_build_object('source', found.source_name, 'count', found.dead)::jsonb);
    END IF;
    IF found.dead > found.dlq_limit THEN
      PERFORM oneroof.gov_finding_raise(
        CASE WHEN found.backfill THEN 'backfill_dlq_overflow' ELSE 'handoff_dlq_overflow' END::text, (found.worker_name || ':' || found.source_name)::text,
        format('%s has more dead letters than %s', found.source_name, found.dlq_limit)::text,
        jsonb_build_object('source', found.source_name, 'count', found.dead, 'limit', found.dlq_limit)::jsonb);
    END IF;
  END LOOP;
END
$$;
