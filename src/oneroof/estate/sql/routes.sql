-- Where the host's route worker stands (doc 39 §39.2): 68 events seen, 67 attempts; fewer if there are fewer.

CREATE TEMP TABLE estate_seen ON COMMIT DROP AS
SELECT row_number() OVER (ORDER BY created_at, id) AS n, id, event_type, event_stream, created_at
FROM event_outbox WHERE event_domain = 'iu' ORDER BY created_at, id LIMIT 68;

INSERT INTO iu_route_attempt (event_ref, route_kind, status, idempotency_key, created_at, updated_at)
SELECT s.id, coalesce(r.route_kind, 'none'),
       CASE WHEN r.id IS NULL THEN 'skipped' WHEN r.enabled THEN 'dry_run' ELSE 'disabled' END,
       'iu_wrk:iu_outbound_default:' || coalesce(r.route_code, 'none') || ':' || s.id,
       s.created_at + interval '1 minute', s.created_at + interval '1 minute'
FROM pg_temp.estate_seen AS s
LEFT JOIN iu_outbound_route AS r ON (r.event_type, r.event_stream) = (s.event_type, s.event_stream)
WHERE s.n <= 67 ORDER BY s.n;

INSERT INTO iu_route_worker_cursor (worker_name, last_created_at, last_event_id, last_run_at, last_run_summary,
                                    events_seen, attempts_written, metadata, created_at, updated_at)
SELECT 'iu_outbound_default', latest.created_at, latest.id, timestamptz '2026-05-31 23:30:00+00',
       jsonb_build_object('seen', total.seen), total.seen, least(total.seen, 67),
       '{"scope": "event_domain=iu only"}', timestamptz '2026-05-21 00:00:00+00', timestamptz '2026-05-31 23:30:00+00'
FROM (SELECT count(*) AS seen FROM pg_temp.estate_seen) AS total
LEFT JOIN pg_temp.estate_seen AS latest ON latest.n = total.seen;
