-- The replica substrate. Columns that the seeds give are theirs letter for letter (docs 03, 31, 32, 39 §39.2,
-- 41 §41.2); the rest is the least that works. Keys and indexes come after the data: indexes.sql.

CREATE TABLE estate_build (
    rows bigint NOT NULL,
    seed bigint NOT NULL,
    built_at timestamptz NOT NULL,
    version text NOT NULL
);

-- The ledgers that are tailed (doc 39 §39.2).

CREATE TABLE birth_registry (
    id serial,
    collection_name text NOT NULL,
    entity_code text NOT NULL,
    canonical_address text,
    species_code text,
    governance_role text,
    status text NOT NULL DEFAULT 'born',
    certified boolean NOT NULL DEFAULT false,
    born_at timestamptz,
    actor_ref text NOT NULL DEFAULT 'host',
    source_system text NOT NULL DEFAULT 'birth_gate',
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE registry_changelog (
    id serial,
    entity_type text NOT NULL,
    entity_code text NOT NULL,
    action text NOT NULL,
    "timestamp" timestamp NOT NULL DEFAULT (now() AT TIME ZONE 'UTC'),
    alert_level text,
    resolved boolean NOT NULL DEFAULT false,
    source_kind text,
    migration_state text,
    actor_ref text NOT NULL DEFAULT 'host',
    source_system text NOT NULL DEFAULT 'host',
    details jsonb NOT NULL DEFAULT '{}'
);

CREATE TABLE event_outbox (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    event_domain text NOT NULL,
    event_type text NOT NULL,
    event_stream text NOT NULL,
    delivery_lane text NOT NULL,
    event_severity text,
    event_subject_table text NOT NULL,
    event_subject_ref text,
    canonical_address text NOT NULL,
    actor_ref text NOT NULL,
    source_system text NOT NULL,
    correlation_id text,
    payload_classification text NOT NULL DEFAULT 'safe_metadata',
    safe_payload jsonb NOT NULL DEFAULT '{}',
    occurred_at timestamptz DEFAULT now(),
    created_at timestamptz DEFAULT now()
);

-- The event channels (doc 41 §41.2) and the queues (doc 39 §39.2).

CREATE TABLE event_type_registry (
    event_domain text NOT NULL,
    event_type text NOT NULL,
    event_stream text NOT NULL,
    delivery_lane text NOT NULL DEFAULT 'immediate',
    default_severity text,
    description text NOT NULL,
    active boolean NOT NULL DEFAULT true,
    created_at timestamptz DEFAULT now()
);

CREATE TABLE event_pending (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    event_domain text NOT NULL,
    event_type_hint text NOT NULL,
    entity_table text NOT NULL,
    entity_ref text,
    canonical_address text NOT NULL,
    actor_ref text NOT NULL,
    capture_payload jsonb,
    processed_at timestamptz,
    error_count integer NOT NULL DEFAULT 0,
    last_error text,
    created_at timestamptz DEFAULT now()
);

CREATE TABLE event_read (
    event_id uuid NOT NULL,
    actor_ref text NOT NULL,
    read_at timestamptz NOT NULL DEFAULT now(),
    read_status_source text NOT NULL DEFAULT 'host'
);

CREATE TABLE event_subscription (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    recipient_ref text NOT NULL,
    event_domain text,
    event_type text,
    event_stream text,
    scope_subject_table text,
    scope_filter jsonb NOT NULL DEFAULT '{}',
    mute boolean NOT NULL DEFAULT false,
    created_at timestamptz DEFAULT now()
);

CREATE TABLE queue_heartbeat (
    executor_name text NOT NULL,
    executor_kind text NOT NULL,
    last_tick_at timestamptz NOT NULL DEFAULT now(),
    last_tick_status text NOT NULL DEFAULT 'ok',
    ticks_total bigint NOT NULL DEFAULT 0,
    current_job_id uuid,
    lease_owner text,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz DEFAULT now(),
    updated_at timestamptz DEFAULT now()
);

CREATE TABLE job_queue (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    job_kind text NOT NULL,
    state text NOT NULL DEFAULT 'queued',
    payload jsonb NOT NULL DEFAULT '{}',
    priority integer NOT NULL DEFAULT 100,
    lease_owner text,
    lease_until timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL DEFAULT 5,
    idempotency_key text NOT NULL,
    run_id uuid,
    last_error text,
    scheduled_at timestamptz,
    created_at timestamptz DEFAULT now(),
    updated_at timestamptz DEFAULT now()
);

-- Findings, snapshots, requests, switches.

CREATE TABLE system_issues (
    id serial,
    issue_type text NOT NULL,
    bucket text,
    severity text,
    status text NOT NULL DEFAULT 'open',
    title text,
    description text,
    entity_type text,
    entity_code text,
    owner_ref text,
    coalesce_key text,
    occurrence_count integer NOT NULL DEFAULT 1,
    reopen_count integer NOT NULL DEFAULT 0,
    parent_issue_id integer,
    business_logic_hash text,
    violation_hash text,
    source_system text NOT NULL DEFAULT 'host',
    details jsonb NOT NULL DEFAULT '{}',
    first_seen_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    resolved_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE evolution_snapshots (
    id serial,
    snapshot_at timestamptz NOT NULL DEFAULT now(),
    scope text NOT NULL,
    metrics jsonb NOT NULL DEFAULT '{}',
    delta_previous jsonb,
    notes text
);

CREATE TABLE approval_requests (
    id serial,
    request_kind text NOT NULL,
    subject text NOT NULL,
    content jsonb NOT NULL DEFAULT '{}',
    reason text,
    requested_by text NOT NULL,
    status text NOT NULL DEFAULT 'pending',
    decided_by text,
    decided_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE dot_config (
    key text NOT NULL,
    value text,
    description text,
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- The inventories (doc 31 §2). Each class registry's primary key is the code that its births carry.

CREATE TABLE meta_catalog (
    id serial,
    entity_type text NOT NULL,
    registry_collection text NOT NULL,
    description text,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE collection_registry (
    id serial,
    code text NOT NULL,
    collection_name text NOT NULL,
    coverage_status text NOT NULL,
    coverage_scope_status text NOT NULL,
    coverage_exemption_reason text,
    coverage_review_owner text,
    coverage_decided_at timestamptz,
    coverage_decided_by text,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE measurement_registry (
    measurement_id text NOT NULL,
    name text NOT NULL,
    method text NOT NULL,
    threshold integer,
    severity text NOT NULL DEFAULT 'medium',
    enabled boolean NOT NULL DEFAULT true,
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE derived_objects_registry (
    code text NOT NULL,
    name text NOT NULL,
    depends_on_collections text[] NOT NULL DEFAULT '{}',
    stale_after timestamptz,
    recompute_status text NOT NULL DEFAULT 'fresh',
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE information_unit (
    unit_id text NOT NULL,
    title text NOT NULL,
    status text NOT NULL DEFAULT 'active',
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE dot_tools (
    dot_code text NOT NULL,
    name text NOT NULL,
    tier text NOT NULL DEFAULT 'A',
    status text NOT NULL DEFAULT 'active',
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE pivot_definitions (
    code text NOT NULL,
    name text NOT NULL,
    group_spec jsonb NOT NULL DEFAULT '{}',
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE binding_registry (
    code text NOT NULL,
    collection_name text NOT NULL,
    target text NOT NULL,
    status text NOT NULL DEFAULT 'active',
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE table_registry (
    code text NOT NULL,
    table_name text NOT NULL,
    status text NOT NULL DEFAULT 'active',
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE universal_rule_registry (
    code text NOT NULL,
    title text NOT NULL,
    status text NOT NULL DEFAULT 'active',
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE normative_registry (
    code text NOT NULL,
    title text NOT NULL,
    version integer NOT NULL DEFAULT 1,
    status text NOT NULL DEFAULT 'enacted',
    supersedes_code text,
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE law_jurisdiction (
    code text NOT NULL,
    title text NOT NULL,
    classification text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- The route worker's tables (doc 03, doc 39 §39.2).

CREATE TABLE iu_route_worker_cursor (
    worker_name text NOT NULL,
    event_domain text NOT NULL DEFAULT 'iu',
    last_created_at timestamptz,
    last_event_id uuid,
    last_run_at timestamptz,
    last_run_summary jsonb NOT NULL DEFAULT '{}',
    events_seen bigint NOT NULL DEFAULT 0,
    attempts_written bigint NOT NULL DEFAULT 0,
    dead_lettered bigint NOT NULL DEFAULT 0,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz DEFAULT now(),
    updated_at timestamptz DEFAULT now()
);

CREATE TABLE iu_outbound_route (
    id serial,
    route_code text NOT NULL,
    route_kind text NOT NULL,
    event_domain text NOT NULL DEFAULT 'iu',
    event_type text NOT NULL,
    event_stream text NOT NULL,
    target text,
    enabled boolean NOT NULL DEFAULT false,
    dry_run boolean NOT NULL DEFAULT true,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE iu_route_attempt (
    id serial,
    event_ref uuid NOT NULL,
    route_kind text NOT NULL,
    status text NOT NULL,
    idempotency_key text NOT NULL,
    attempt_no integer NOT NULL DEFAULT 1,
    error text,
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE VIEW v_registry_counts AS
SELECT 'birth_registry' AS registry_collection, count(*) AS row_count FROM birth_registry
UNION ALL SELECT 'collection_registry', count(*) FROM collection_registry
UNION ALL SELECT 'meta_catalog', count(*) FROM meta_catalog
UNION ALL SELECT 'dot_tools', count(*) FROM dot_tools
UNION ALL SELECT 'information_unit', count(*) FROM information_unit
UNION ALL SELECT 'pivot_definitions', count(*) FROM pivot_definitions
UNION ALL SELECT 'measurement_registry', count(*) FROM measurement_registry
UNION ALL SELECT 'derived_objects_registry', count(*) FROM derived_objects_registry
UNION ALL SELECT 'binding_registry', count(*) FROM binding_registry
UNION ALL SELECT 'table_registry', count(*) FROM table_registry
UNION ALL SELECT 'universal_rule_registry', count(*) FROM universal_rule_registry
UNION ALL SELECT 'normative_registry', count(*) FROM normative_registry
UNION ALL SELECT 'law_jurisdiction', count(*) FROM law_jurisdiction;
