-- Say that the intake lives, once in every interval, however many sessions ask (doc 32 §5, step 7). Only where such a signal would be emitted: a
-- heartbeat that is held says nothing. What was seen is oneroof's own, coalesced, enqueued, failed, or no handoff; what failed is waiting, a
-- dead letter, or done since. Answers whether it was said.
CREATE OR REPLACE FUNCTION oneroof.gov_handoff_heartbeat() RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  v_type CONSTANT text := 'governance.handoff.heartbeat';
  v_beat bigint;
  v_said bigint;
BEGIN
  SELECT floor(extract(epoch FROM oneroof.gov_now()) / extract(epoch FROM p.heartbeat_interval)) INTO v_beat
  FROM oneroof.governance_worker_policy AS p WHERE p.worker_name = 'gov_handoff_intake';
  IF EXISTS (SELECT FROM oneroof.governance_event AS g WHERE g.event_id = oneroof.gov_event_id('gov_handoff_intake'::text, 'heartbeat'::text, v_beat, v_type))
     OR NOT EXISTS (SELECT FROM oneroof.v_worker_status AS s WHERE s.worker_name = 'gov_handoff_intake' AND s.state IN ('working', 'quiet', 'blind'))
     OR oneroof.gov_events_active(ARRAY[v_type]) = '{}' THEN
    RETURN false;
  END IF;
  SELECT e.emitted INTO v_said FROM (
    SELECT sum(c.events_seen) AS seen, sum(c.attempts_written) AS enqueued, sum(c.coalesced) AS coalesced, sum(c.dead_lettered) AS dlq
    FROM oneroof.gov_worker_cursor AS c WHERE c.worker_name = 'gov_handoff_intake') AS c
  CROSS JOIN LATERAL oneroof.gov_emit(jsonb_build_array(jsonb_build_object(
    'event_type', v_type, 'source', 'gov_handoff_intake', 'source_key', 'heartbeat', 'change_number', v_beat,
    'subject_table', 'gov_worker_cursor', 'subject_ref', 'gov_handoff_intake',
    'payload', jsonb_build_object('worker', 'gov_handoff_intake', 'seen', coalesce(c.seen, 0), 'enqueued', coalesce(c.enqueued, 0),
                                  'coalesced', coalesce(c.coalesced, 0), 'dlq', coalesce(c.dlq, 0))))) AS e;
  RETURN v_said > 0;
END
$$;
