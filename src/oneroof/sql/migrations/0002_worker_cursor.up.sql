-- What is tailed, how far each worker is, and one row per candidate (doc 39 §39.4, doc 31 §3 and §4).

CREATE TABLE public.governance_source (
  source_name      text PRIMARY KEY CHECK (source_name !~ '[#:[:cntrl:]]' AND length(source_name) BETWEEN 1 AND 200),
  relation         regclass NOT NULL UNIQUE,
  source_kind      text NOT NULL CHECK (source_kind IN ('inventory', 'changelog')),
  timestamp_column name,
  key_columns      name[] NOT NULL CHECK (cardinality(key_columns) BETWEEN 1 AND 8),
  address_column   name,
  class_column     name,
  ref_column       name,
  grain_column     name,
  group_columns    name[] NOT NULL DEFAULT '{}',
  fact_columns     name[] NOT NULL DEFAULT '{}',
  added_at         timestamptz NOT NULL DEFAULT now(),
  added_by         name NOT NULL DEFAULT session_user
);
COMMENT ON TABLE public.governance_source IS 'the tables that are tailed; adding a source is adding a row, never code';

CREATE TABLE public.gov_worker_cursor (
  worker_name       text NOT NULL,
  source_name       text NOT NULL,
  event_domain      text NOT NULL DEFAULT 'governance',
  last_watermark_ts timestamptz,
  last_watermark_id text,
  last_run_at       timestamptz,
  last_run_summary  jsonb NOT NULL DEFAULT '{}',
  events_seen       bigint NOT NULL DEFAULT 0,
  attempts_written  bigint NOT NULL DEFAULT 0,
  dead_lettered     bigint NOT NULL DEFAULT 0,
  phase             text CHECK (phase IN ('seeding', 'reconciling', 'incremental')),
  metadata          jsonb NOT NULL DEFAULT '{}',
  created_at        timestamptz NOT NULL DEFAULT now(),
  updated_at        timestamptz NOT NULL DEFAULT now(),
  watermark_text    text,
  frontier          xid8,
  frontier_at       timestamptz,
  window_horizon    xid8,
  window_at         jsonb,
  cluster_identity  text,
  PRIMARY KEY (worker_name, source_name)
);
COMMENT ON TABLE public.gov_worker_cursor IS 'how far a worker is in a source: the watermark for people, the frontier for completeness';

CREATE TABLE public.governance_open_row (
  worker_name text NOT NULL,
  source_name text NOT NULL,
  source_key  text NOT NULL,
  row_xid     bigint NOT NULL,
  PRIMARY KEY (worker_name, source_name, source_key, row_xid)
);
COMMENT ON TABLE public.governance_open_row IS 'row versions at or beyond the frontier that were already applied, so that none is applied twice';

CREATE TABLE public.governance_candidate_state (
  candidate_key       text NOT NULL,
  ruleset_version     text NOT NULL,
  group_key           text NOT NULL,
  source_name         text NOT NULL,
  source_key          text NOT NULL,
  source_version      xid NOT NULL,
  facts_hash          bigint NOT NULL,
  change_number       bigint NOT NULL DEFAULT 1,
  grain               text NOT NULL DEFAULT 'governed',
  verdict             text NOT NULL DEFAULT 'undecided',
  undecided_reason    text DEFAULT 'pending',
  input_quality_state text NOT NULL DEFAULT 'pending',
  dirty               boolean NOT NULL DEFAULT false,
  dirty_reason        text,
  dirtied_at          timestamptz,
  source_snapshot_ref text,
  scan_time           timestamptz,
  stale_after         timestamptz,
  coverage_status           text,
  coverage_scope_status     text,
  coverage_exemption_reason text,
  coverage_review_owner     text,
  coverage_decided_at       timestamptz,
  coverage_decided_by       text,
  created_at          timestamptz NOT NULL DEFAULT now(),
  updated_at          timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (candidate_key)
);
COMMENT ON TABLE public.governance_candidate_state IS 'one current row per candidate; a verdict is always of a snapshot, a ruleset and a time';
CREATE INDEX governance_candidate_state_dirty ON public.governance_candidate_state (group_key) WHERE dirty;

-- The three of doc 39 §39.2; a fourth needs no code.
INSERT INTO public.governance_source
  (source_name, relation, source_kind, timestamp_column, key_columns, address_column, class_column, ref_column, grain_column,
   group_columns, fact_columns)
VALUES
  ('birth_registry', 'public.birth_registry', 'inventory', 'born_at', '{id}', 'canonical_address', 'collection_name',
   'entity_code', 'governance_role', '{collection_name,status}',
   '{species_code,governance_role,status,certified,actor_ref,source_system}'),
  ('registry_changelog', 'public.registry_changelog', 'changelog', 'timestamp', '{id}', NULL, 'entity_type',
   'entity_code', NULL, '{entity_type}', '{action,source_kind,migration_state}'),
  ('event_outbox', 'public.event_outbox', 'changelog', 'occurred_at', '{id}', NULL, 'event_subject_table',
   'event_subject_ref', NULL, '{event_domain}', '{event_type}');

CREATE TABLE public.governance_lease (
  executor_name text PRIMARY KEY
);
COMMENT ON TABLE public.governance_lease IS 'the key that queue_heartbeat may not have: whoever locks the row may change the lease';
