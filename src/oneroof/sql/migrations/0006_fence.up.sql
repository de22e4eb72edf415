-- How far each worker is, and the key of its lease (doc 39 §39.4 and §39.6).

CREATE TABLE oneroof.gov_worker_cursor (
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
  coalesced         bigint NOT NULL DEFAULT 0,
  phase             text CHECK (phase IN ('seeding', 'reconciling', 'incremental')),
  metadata          jsonb NOT NULL DEFAULT '{}',
  created_at        timestamptz NOT NULL DEFAULT now(),
  updated_at        timestamptz NOT NULL DEFAULT now(),
  watermark_text    text,
  frontier          xid8,
  frontier_at       timestamptz,
  passed_at         timestamptz,
  window_horizon    xid8,
  window_at         jsonb,
  cluster_identity  text,
  cursor_id         bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  PRIMARY KEY (worker_name, source_name)
);
COMMENT ON COLUMN oneroof.gov_worker_cursor.attempts_written IS 'what came of the events: candidates or marks, without what failed';
COMMENT ON COLUMN oneroof.gov_worker_cursor.coalesced IS 'changes that share the mark of another one of their batch';
COMMENT ON TABLE oneroof.gov_worker_cursor IS 'how far a worker is in a source: the watermark for people, the frontier for completeness';

CREATE TABLE oneroof.governance_lease (
  executor_name text PRIMARY KEY
);
COMMENT ON TABLE oneroof.governance_lease IS 'the key that queue_heartbeat may not have: a session that has locked the row may change the lease';
