-- emit --
SELECT emitted, held, refused, known FROM oneroof.gov_emit(%(events)s::jsonb)

-- promote --
SELECT oneroof.gov_events_promote(%(type)s::text, %(most)s::bigint)

-- promotable --
-- Whether anything is held that may be emitted now, or tried again.
SELECT (oneroof.gov_events_promotable() <> '{}'
        OR EXISTS (SELECT FROM oneroof.governance_event AS e WHERE e.state = 'stuck' AND e.tried_at < oneroof.gov_now() - interval '5 minutes'))
       AND oneroof.gov_gate_is_open('governance.emit_enabled'::text)

-- foreign --
SELECT event_id::text AS event_id, event_type, event_subject_table, event_subject_ref, source_system, created_at::text AS created_at, reason
FROM oneroof.v_event_foreign ORDER BY created_at, event_id LIMIT %(most)s
