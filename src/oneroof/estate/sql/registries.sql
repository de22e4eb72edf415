-- The small registries, whose counts do not depend on the volume (doc 31 §2 and §3, doc 39 §39.2, doc 41 §41.2).

INSERT INTO collection_registry (code, collection_name, coverage_status, coverage_scope_status,
                                 coverage_exemption_reason, coverage_review_owner, coverage_decided_at,
                                 coverage_decided_by, created_at)
SELECT code, collection_name, status, scope,
       CASE WHEN status LIKE 'BIRTH_EXEMPT_%' THEN lower(replace(substr(status, 14), '_', ' '))
            WHEN scope = 'USER_EXCLUDED' THEN 'excluded by its users' END,
       review_owner,
       CASE WHEN status <> 'BIRTH_DEFERRED_NEEDS_REVIEW'
            THEN timestamptz '2026-03-01 09:00:00+00' + n * interval '1 hour' END,
       CASE WHEN status <> 'BIRTH_DEFERRED_NEEDS_REVIEW' THEN 'GOV-COUNCIL' END,
       timestamptz '2026-02-16 00:00:00+00' + n * interval '1 minute'
FROM pg_temp.estate_collection ORDER BY n;

-- 169 classes: 157 whose members are in the birth ledger, eleven with a registry of their own, and one whose
-- registry does not exist (doc 31 §2: an inventory gap, which fails closed). One collection has no class.
INSERT INTO meta_catalog (entity_type, registry_collection, description, created_at)
SELECT entity_type, registry_collection, description, timestamptz '2026-02-16 00:00:00+00'
FROM (SELECT n, collection_name AS entity_type,
             CASE WHEN n <= 158 THEN 'birth_registry' ELSE collection_name END AS registry_collection,
             replace(collection_name, '_', ' ') AS description
      FROM pg_temp.estate_collection WHERE n <> 158
      UNION ALL VALUES (169, 'collection', 'collection_registry', 'collections'),
                       (170, 'axis', 'axis_registry', 'axes; the registry is not there yet')) AS class
ORDER BY n;

INSERT INTO dot_tools (dot_code, name, tier, status, updated_at)
SELECT 'DOT-' || lpad(n::text, 4, '0'), 'tool ' || n, CASE WHEN mod(n, 5) = 0 THEN 'B' ELSE 'A' END,
       CASE WHEN mod(n, 30) = 0 THEN 'retired' ELSE 'active' END, timestamptz '2026-02-17 00:00:00+00'
FROM generate_series(1, 309) AS n;

INSERT INTO information_unit (unit_id, title, status, updated_at)
SELECT 'IU-' || lpad(n::text, 4, '0'), 'unit ' || n, CASE WHEN mod(n, 25) = 0 THEN 'superseded' ELSE 'active' END,
       timestamptz '2026-02-17 00:00:00+00'
FROM generate_series(1, 219) AS n;

INSERT INTO pivot_definitions (code, name, group_spec, updated_at)
SELECT 'PVT-' || lpad(n::text, 3, '0'), 'pivot ' || n,
       jsonb_build_object('dims', ARRAY[(ARRAY['species_code', 'status', 'collection_name'])[1 + mod(n, 3)]]),
       timestamptz '2026-02-17 00:00:00+00'
FROM generate_series(1, 37) AS n;

INSERT INTO measurement_registry (measurement_id, name, method, threshold, severity, enabled, updated_at)
SELECT 'MSR-' || lpad(n::text, 3, '0'), 'measurement ' || n, (ARRAY['count', 'ratio', 'age'])[1 + mod(n, 3)],
       mod(n * 37, 100), (ARRAY['low', 'medium', 'high'])[1 + mod(n, 3)], n NOT IN (71, 142),
       timestamptz '2026-02-17 00:00:00+00'
FROM generate_series(1, 142) AS n;

INSERT INTO derived_objects_registry (code, name, depends_on_collections, stale_after, recompute_status, updated_at)
SELECT 'DRV-' || n, 'derived object ' || n,
       ARRAY(SELECT collection_name FROM pg_temp.estate_collection AS c WHERE c.n IN (d.n, d.n + 7) ORDER BY c.n),
       timestamptz '2026-05-01 00:00:00+00' + n * interval '20 days',
       CASE WHEN n <= 2 THEN 'stale' ELSE 'fresh' END, timestamptz '2026-04-01 00:00:00+00'
FROM generate_series(1, 7) AS d (n);

INSERT INTO binding_registry (code, collection_name, target, status, updated_at)
SELECT 'BND-' || lpad(c.n::text, 3, '0'), collection_name, 'console',
       CASE WHEN mod(c.n, 16) = 0 THEN 'retired' ELSE 'active' END, timestamptz '2026-02-17 00:00:00+00'
FROM pg_temp.estate_collection AS c WHERE c.n <= 48 ORDER BY c.n;

INSERT INTO table_registry (code, table_name, updated_at)
SELECT 'TBL-' || lpad(n::text, 3, '0'), 'table_' || n, timestamptz '2026-02-17 00:00:00+00'
FROM generate_series(1, 61) AS n;

INSERT INTO universal_rule_registry (code, title, updated_at)
SELECT 'URL-' || lpad(n::text, 3, '0'), 'rule ' || n, timestamptz '2026-02-17 00:00:00+00'
FROM generate_series(1, 34) AS n;

INSERT INTO normative_registry (code, title, version, status, supersedes_code, updated_at)
SELECT 'NRM-' || lpad(n::text, 3, '0'), 'norm ' || n, 1 + mod(n, 3),
       CASE WHEN mod(n, 13) = 0 THEN 'superseded' ELSE 'enacted' END,
       CASE WHEN mod(n, 13) = 1 AND n > 1 THEN 'NRM-' || lpad((n - 1)::text, 3, '0') END,
       timestamptz '2026-02-17 00:00:00+00'
FROM generate_series(1, 52) AS n;

INSERT INTO law_jurisdiction (code, title, classification, updated_at)
SELECT 'LAW-' || lpad(n::text, 3, '0'), 'jurisdiction ' || n, (ARRAY['scope', 'pivot', 'authority'])[1 + mod(n, 3)],
       timestamptz '2026-02-17 00:00:00+00'
FROM generate_series(1, 26) AS n;

-- The 40 event types of five domains. `n` is their place in the mix of event_outbox.sql; an inactive type has none.
CREATE TEMP TABLE estate_event_type ON COMMIT DROP AS
SELECT t.*, CASE WHEN event_domain = 'iu' OR event_type = 'alert' THEN 'immediate' ELSE 'digest' END AS delivery_lane
FROM (VALUES
    (1, 'iu', 'unit_created', 'iu.unit', 'info'),
    (2, 'iu', 'unit_updated', 'iu.unit', 'info'),
    (3, 'iu', 'unit_superseded', 'iu.unit', 'info'),
    (4, 'iu', 'unit_retired', 'iu.unit', 'warn'),
    (5, 'iu', 'version_created', 'iu.version', 'info'),
    (6, 'iu', 'version_published', 'iu.version', 'info'),
    (7, 'iu', 'version_withdrawn', 'iu.version', 'warn'),
    (8, 'iu', 'axis_assigned', 'iu.axis', 'info'),
    (9, 'iu', 'axis_removed', 'iu.axis', 'info'),
    (10, 'iu', 'link_added', 'iu.link', 'info'),
    (11, 'iu', 'link_removed', 'iu.link', 'info'),
    (12, 'iu', 'review_requested', 'iu.review', 'info'),
    (13, 'iu', 'review_passed', 'iu.review', 'info'),
    (14, 'iu', 'review_failed', 'iu.review', 'warn'),
    (15, 'iu', 'cut_started', 'iu.cut', 'info'),
    (16, 'iu', 'cut_finished', 'iu.cut', 'info'),
    (17, 'piece', 'piece_created', 'piece.piece', 'info'),
    (18, 'piece', 'piece_split', 'piece.piece', 'info'),
    (19, 'piece', 'piece_merged', 'piece.piece', 'info'),
    (20, 'piece', 'piece_moved', 'piece.piece', 'info'),
    (21, 'piece', 'piece_retired', 'piece.piece', 'warn'),
    (22, 'piece', 'piece_restored', 'piece.piece', 'info'),
    (23, 'staging', 'batch_received', 'staging.batch', 'info'),
    (24, 'staging', 'batch_checked', 'staging.batch', 'info'),
    (25, 'staging', 'batch_rejected', 'staging.batch', 'warn'),
    (26, 'staging', 'batch_promoted', 'staging.batch', 'info'),
    (27, 'staging', 'batch_purged', 'staging.batch', 'info'),
    (28, 'system', 'heartbeat', 'system.health', 'info'),
    (29, 'system', 'health_changed', 'system.health', 'warn'),
    (0, 'system', 'alert', 'system.alert', 'warn'),
    (NULL, 'system', 'digest', 'system.digest', 'info'),
    (NULL, 'mother', 'mother_proposed', 'mother.mother', 'info'),
    (NULL, 'mother', 'mother_opened', 'mother.mother', 'info'),
    (NULL, 'mother', 'mother_closed', 'mother.mother', 'info'),
    (NULL, 'mother', 'child_added', 'mother.child', 'info'),
    (NULL, 'mother', 'child_moved', 'mother.child', 'info'),
    (NULL, 'mother', 'child_removed', 'mother.child', 'warn'),
    (NULL, 'mother', 'render_requested', 'mother.render', 'info'),
    (NULL, 'mother', 'render_finished', 'mother.render', 'info'),
    (NULL, 'mother', 'render_failed', 'mother.render', 'high')
) AS t (n, event_domain, event_type, event_stream, default_severity);

ANALYZE pg_temp.estate_event_type;

INSERT INTO event_type_registry (event_domain, event_type, event_stream, delivery_lane, default_severity, description,
                                 active, created_at)
SELECT event_domain, event_type, event_stream, delivery_lane, default_severity, replace(event_type, '_', ' '),
       n IS NOT NULL, timestamptz '2026-02-16 00:00:00+00'
FROM pg_temp.estate_event_type ORDER BY event_domain COLLATE "C", event_type COLLATE "C";

INSERT INTO event_subscription (id, recipient_ref, event_domain, event_type, event_stream, scope_subject_table, mute,
                                created_at)
SELECT ('00000000-0000-4000-8000-00000000000' || n)::uuid, recipient, domain, type, stream, subject_table, mute,
       timestamptz '2026-02-16 00:00:00+00'
FROM (VALUES (1, 'GOV-SIV', 'system', 'alert', NULL, NULL, false),
             (2, 'GOV-DOT', 'iu', NULL, 'iu.cut', 'information_unit', false),
             (3, 'operator', 'staging', NULL, NULL, NULL, true)
     ) AS s (n, recipient, domain, type, stream, subject_table, mute);

INSERT INTO queue_heartbeat (executor_name, executor_kind, last_tick_at, last_tick_status, ticks_total, created_at,
                             updated_at)
SELECT name, kind, at::timestamptz, status, ticks, timestamptz '2026-05-20 00:00:00+00', at::timestamptz
FROM (VALUES ('cut_pipeline_operator', 'external_worker', '2026-05-31 21:04:00+00', 'ok', 412),
             ('dieu45_phase3_pilot', 'external_worker', '2026-05-31 20:00:00+00', 'warn', 96),
             ('iu_outbound_default', 'PG_worker', '2026-05-31 23:30:00+00', 'ok', 68)
     ) AS h (name, kind, at, status, ticks);

INSERT INTO job_queue (id, job_kind, state, priority, attempts, idempotency_key, run_id, scheduled_at, created_at,
                       updated_at)
SELECT md5('job ' || n)::uuid, (ARRAY['cut.plan', 'cut.apply', 'cut.verify'])[1 + mod(n, 3)],
       CASE WHEN n <= 10 THEN 'succeeded' ELSE 'queued' END, 100, CASE WHEN n <= 10 THEN 1 ELSE 0 END, 'cut:' || n,
       CASE WHEN n <= 10 THEN md5('run ' || n)::uuid END, t.at, t.at, t.at
FROM generate_series(1, 13) AS n
CROSS JOIN LATERAL (SELECT timestamptz '2026-05-30 00:00:00+00' + n * interval '1 hour' AS at) AS t;

INSERT INTO evolution_snapshots (snapshot_at, scope, metrics, delta_previous, notes)
SELECT timestamptz '2026-05-27 03:00:00+00' + n * interval '1 day', 'host.daily', '{"collections": 168}',
       CASE WHEN n > 1 THEN '{"collections": 0}'::jsonb END, 'nightly'
FROM generate_series(1, 5) AS n;

INSERT INTO approval_requests (request_kind, subject, content, reason, requested_by, status, decided_by, decided_at,
                               created_at, updated_at)
SELECT kind, subject, content::jsonb, reason, 'office', status, CASE WHEN status <> 'pending' THEN 'treasurer' END,
       CASE WHEN status <> 'pending' THEN at::timestamptz END, at::timestamptz - interval '1 day', at::timestamptz
FROM (VALUES ('host.purchase', 'storage', '{"amount": 3}', 'the archive grows', 'approved', '2026-04-02 10:00:00+00'),
             ('host.purchase', 'licences', '{"amount": 40}', NULL, 'rejected', '2026-05-03 10:00:00+00'),
             ('host.access', 'reading room', '{}', 'an auditor comes', 'pending', '2026-05-30 10:00:00+00')
     ) AS r (kind, subject, content, reason, status, at);

INSERT INTO dot_config (key, value, description, updated_at)
VALUES ('iu_core.routes_enabled', 'false', 'master switch of the outbound routes', '2026-05-21 00:00:00+00'),
       ('iu_core.route_worker_enabled', 'false', 'switch of the route worker', '2026-05-21 00:00:00+00'),
       ('cut.batch_size', '200', 'units that one cut takes', '2026-05-20 00:00:00+00'),
       ('host.retention_days', '400', 'how long alerts are kept', '2026-02-16 00:00:00+00'),
       ('host.time_zone', 'UTC', 'zone of printed times', '2026-02-16 00:00:00+00');

-- Twelve of the sixteen iu types have a route, of which a third is switched off and none delivers (doc 03).
INSERT INTO iu_outbound_route (route_code, route_kind, event_type, event_stream, target, enabled, dry_run,
                               created_at, updated_at)
SELECT 'iu-' || replace(event_type, '_', '-'), 'webhook', event_type, event_stream,
       'https://host.invalid/' || event_stream, mod(n, 3) <> 0, true,
       timestamptz '2026-05-21 00:00:00+00', timestamptz '2026-05-21 00:00:00+00'
FROM pg_temp.estate_event_type WHERE event_domain = 'iu' AND n <= 12 ORDER BY n;
