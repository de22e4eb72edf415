-- What is tailed, how far each worker is, and one row per candidate (doc 39 §39.4, doc 31 §3 and §4).

CREATE TABLE oneroof.governance_source (
  source_name      text PRIMARY KEY CHECK (source_name !~ '[#:[:cntrl:]]' AND length(source_name) BETWEEN 1 AND 200),
  relation         regclass NOT NULL UNIQUE,
  source_kind      text NOT NULL CHECK (source_kind IN ('inventory', 'changelog', 'register')),
  timestamp_column name,
  key_columns      name[] NOT NULL CHECK (cardinality(key_columns) BETWEEN 1 AND 8),
  address_column   name,
  class_column     name,
  ref_column       name,
  grain_column     name,
  group_columns    name[] NOT NULL DEFAULT '{}',
  fact_columns     name[] NOT NULL DEFAULT '{}',
  own_column       name,
  own_prefix       text,
  system_column    name,
  actor_column     name,
  births           boolean NOT NULL DEFAULT false CHECK (NOT births OR source_kind = 'inventory'),
  trusted_at       timestamptz,
  added_at         timestamptz NOT NULL DEFAULT now(),
  added_by         name NOT NULL DEFAULT session_user,
  added_horizon    xid8 NOT NULL DEFAULT pg_snapshot_xmin(pg_current_snapshot())
);
COMMENT ON COLUMN oneroof.governance_source.added_horizon IS 'whoever was not finished when it was added wrote at or beyond it: a change log is followed from there';
COMMENT ON COLUMN oneroof.governance_source.own_column IS 'a row whose value begins with own_prefix was written by oneroof: counted, not acted on';
COMMENT ON COLUMN oneroof.governance_source.source_kind IS 'inventory: rows are objects; changelog: rows are changes; register: rows are changed in place, and every change counts';
COMMENT ON COLUMN oneroof.governance_source.actor_column IS 'who made a change, and in system_column by what system: the provenance of a handoff (doc 32 §7)';
COMMENT ON COLUMN oneroof.governance_source.births IS 'its rows are births: an object that no such source has is not born yet (doc 31 §7)';
COMMENT ON COLUMN oneroof.governance_source.trusted_at IS 'since when its rows count: of others nothing is said until two people have vouched';
COMMENT ON TABLE oneroof.governance_source IS 'the tables that are tailed; adding a source is adding a row, never code';

CREATE TABLE oneroof.governance_source_removed (
  source_name text PRIMARY KEY,
  removed_at  timestamptz NOT NULL,
  removed_by  name NOT NULL,
  is_kept     boolean NOT NULL,
  at_page     bigint DEFAULT 0,
  found       bigint NOT NULL DEFAULT 0,
  retired     bigint NOT NULL DEFAULT 0,
  retired_at  timestamptz
);
COMMENT ON TABLE oneroof.governance_source_removed IS 'sources that were removed, and how far their objects are retired';
COMMENT ON COLUMN oneroof.governance_source_removed.is_kept IS 'whoever removed it wanted its objects to stay as they are';
COMMENT ON COLUMN oneroof.governance_source_removed.at_page IS 'the page of the candidates where the pass stands; none when a whole pass has met no more of them';
COMMENT ON COLUMN oneroof.governance_source_removed.found IS 'how many this pass has met';

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

CREATE TABLE oneroof.governance_open_row (
  cursor_id bigint NOT NULL,
  row_xid   bigint NOT NULL,
  key_mark  text NOT NULL,
  PRIMARY KEY (cursor_id, row_xid, key_mark)
);
COMMENT ON TABLE oneroof.governance_open_row IS 'row versions at or beyond the frontier that were already applied, so that none is applied twice';

CREATE TABLE oneroof.governance_open_span (
  cursor_id bigint NOT NULL,
  row_xid   bigint NOT NULL,
  pass      bigint NOT NULL,
  with_own  boolean NOT NULL,
  ordered_by text NOT NULL,
  first_ts  text NOT NULL,
  first_key text NOT NULL,
  last_ts   text NOT NULL,
  last_key  text NOT NULL,
  PRIMARY KEY (cursor_id, row_xid, pass)
);
COMMENT ON TABLE oneroof.governance_open_span IS 'the same for many at once: all rows that a transaction wrote from the first to the last, in the order of timestamp and key';
COMMENT ON COLUMN oneroof.governance_open_span.pass IS 'the pass over the newest rows that met them; one pass may meet a transaction in several batches';
COMMENT ON COLUMN oneroof.governance_open_span.ordered_by IS 'a digest of the columns whose order it is, and of their types: a source may be given others';
COMMENT ON COLUMN oneroof.governance_open_span.with_own IS 'whether what oneroof wrote itself is among them';

CREATE TABLE oneroof.governance_candidate_state (
  -- Refused at once when it is too long for the index, which would find out only after compressing it.
  candidate_key       text NOT NULL CONSTRAINT candidate_key_is_short CHECK (octet_length(candidate_key) <= 2000),
  ruleset_version     text NOT NULL,
  group_key           text NOT NULL CONSTRAINT group_key_is_short CHECK (octet_length(group_key) <= 2000),
  source_name         text NOT NULL,
  source_key          text NOT NULL,
  source_version      xid NOT NULL,
  -- squawk-ignore prefer-bigint-over-int
  class_mark          integer NOT NULL DEFAULT 0,
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
-- Room for a changed row beside the one it replaces: no index then hears of it, unless something changed by which it is found.
) WITH (fillfactor = 95);
COMMENT ON TABLE oneroof.governance_candidate_state IS 'one current row per candidate; a verdict is always of a snapshot, a ruleset and a time';
COMMENT ON COLUMN oneroof.governance_candidate_state.class_mark IS 'the hash of its class, by which the members of a set of facts are found: those change, their class does not';
CREATE INDEX governance_candidate_state_dirty ON oneroof.governance_candidate_state
  (source_name, (input_quality_state = 'pending'), dirtied_at) WHERE dirty;
CREATE INDEX governance_candidate_state_class ON oneroof.governance_candidate_state (class_mark);
CREATE INDEX governance_candidate_state_stale ON oneroof.governance_candidate_state (stale_after) WHERE stale_after IS NOT NULL;

-- The three of doc 39 §39.2; a fourth needs no code.
INSERT INTO oneroof.governance_source
  (source_name, relation, source_kind, timestamp_column, key_columns, address_column, class_column, ref_column, grain_column,
   group_columns, fact_columns, own_column, own_prefix, system_column, actor_column, births, trusted_at)
VALUES
  ('birth_registry', 'host.birth_registry', 'inventory', 'born_at', '{id}', 'canonical_address', 'collection_name',
   'entity_code', 'governance_role', '{collection_name,status}',
   '{species_code,governance_role,status,certified,actor_ref,source_system}', NULL, NULL, 'source_system', 'actor_ref', true, now()),
  ('registry_changelog', 'host.registry_changelog', 'changelog', 'timestamp', '{id}', NULL, 'entity_type',
   'entity_code', NULL, '{entity_type}', '{action,source_kind,migration_state}', 'entity_type', 'oneroof.', 'source_system', 'actor_ref', false, now()),
  ('event_outbox', 'host.event_outbox', 'changelog', 'occurred_at', '{id}', NULL, 'event_subject_table',
   'event_subject_ref', NULL, '{event_domain}', '{event_type}', 'source_system', 'oneroof', 'source_system', 'actor_ref', false, now());

CREATE TABLE oneroof.governance_lease (
  executor_name text PRIMARY KEY
);
COMMENT ON TABLE oneroof.governance_lease IS 'the key that queue_heartbeat may not have: whoever locks the row may change the lease';

-- How each worker may behave: data that an operator changes, not settings of a process (doc 31 §11, doc 39 §39.7).
CREATE TABLE oneroof.governance_worker_policy (
  worker_name           text PRIMARY KEY,
  paused_at             timestamptz,
  paused_by             name,
  batch_size            bigint NOT NULL DEFAULT 5000 CHECK (batch_size BETWEEN 1 AND 50000),
  rows_per_second       bigint CHECK (rows_per_second > 0),
  off_peak_from         time,
  off_peak_to           time,
  sweep_interval        interval NOT NULL DEFAULT '10 seconds' CHECK (sweep_interval > '0'),
  lease_ttl             interval NOT NULL DEFAULT '30 seconds' CHECK (lease_ttl BETWEEN '1 second' AND '1 hour'),
  attempts              bigint NOT NULL DEFAULT 5 CHECK (attempts BETWEEN 1 AND 100),
  backoff_first         interval NOT NULL DEFAULT '1 second' CHECK (backoff_first > '0'),
  backoff_most          interval NOT NULL DEFAULT '5 minutes' CHECK (backoff_most >= backoff_first),
  dlq_limit             bigint NOT NULL DEFAULT 100 CHECK (dlq_limit > 0),
  lag_limit             interval NOT NULL DEFAULT '5 minutes' CHECK (lag_limit > '0'),
  lock_wait_limit       bigint NOT NULL DEFAULT 5 CHECK (lock_wait_limit > 0),
  replication_lag_limit bigint NOT NULL DEFAULT 268435456 CHECK (replication_lag_limit > 0),
  error_limit           real NOT NULL DEFAULT 0.5 CHECK (error_limit > 0 AND error_limit <= 1),
  coalesce_window       interval NOT NULL DEFAULT '1 second' CHECK (coalesce_window BETWEEN '0.001 seconds' AND '1 hour'),
  digest_after          bigint NOT NULL DEFAULT 10 CHECK (digest_after > 0),
  digest_interval       interval NOT NULL DEFAULT '5 minutes' CHECK (digest_interval > '0'),
  heartbeat_interval    interval NOT NULL DEFAULT '5 minutes' CHECK (heartbeat_interval > '0'),
  storm_share           real NOT NULL DEFAULT 0.5 CHECK (storm_share > 0 AND storm_share <= 1),
  storm_changes         bigint NOT NULL DEFAULT 10000 CHECK (storm_changes > 0),
  CHECK ((off_peak_from IS NULL) = (off_peak_to IS NULL))
);
COMMENT ON TABLE oneroof.governance_worker_policy IS 'pace, limits and pause of each worker; they hold for every process that runs it';
COMMENT ON COLUMN oneroof.governance_worker_policy.off_peak_from IS 'works only from here to off_peak_to, UTC; may span midnight';
COMMENT ON COLUMN oneroof.governance_worker_policy.lock_wait_limit IS 'sessions waiting for a lock, above which work pauses';
COMMENT ON COLUMN oneroof.governance_worker_policy.replication_lag_limit IS 'bytes that a standby is behind, above which work pauses';
COMMENT ON COLUMN oneroof.governance_worker_policy.error_limit IS 'share of our own batches that fail, above which work pauses';
COMMENT ON COLUMN oneroof.governance_worker_policy.coalesce_window IS 'changes of one group within it are one signal (doc 32 §5)';
COMMENT ON COLUMN oneroof.governance_worker_policy.digest_after IS 'windows of one group that are told within digest_interval, after which there is one signal for each such interval';
COMMENT ON COLUMN oneroof.governance_worker_policy.storm_share IS 'share of groups that one tick of the intake dirties, above which it is a storm';
COMMENT ON COLUMN oneroof.governance_worker_policy.storm_changes IS 'changes of one group in a minute, above which it is a storm';
INSERT INTO oneroof.governance_worker_policy (worker_name) VALUES ('gov_backfill_sweep'), ('gov_handoff_intake');

-- What can be found, and to whom it goes (doc 31 §10, doc 39 §39.0).
CREATE TABLE oneroof.governance_finding_type (
  issue_type  text PRIMARY KEY,
  bucket      text NOT NULL,
  severity    text NOT NULL CHECK (severity IN ('low', 'medium', 'high', 'critical')),
  owner_hint  text NOT NULL,
  description text NOT NULL
);
COMMENT ON TABLE oneroof.governance_finding_type IS 'the kinds of finding, with bucket, base severity and default owner';
INSERT INTO oneroof.governance_finding_type (issue_type, bucket, severity, owner_hint, description) VALUES
  ('cursor_lag', 'silent_fail', 'medium', 'GOV-SIV', 'a cursor is further behind its source than allowed'),
  ('cursor_dlq', 'silent_fail', 'high', 'GOV-SIV', 'items failed every attempt and are dead letters'),
  ('cursor_silent_gap', 'silent_fail', 'high', 'GOV-SIV', 'a worker holds a lease and no longer ticks'),
  ('cursor_lease_conflict', 'silent_fail', 'low', 'GOV-SIV', 'two instances want the same lease, or one lost it at work'),
  ('cursor_watermark_regression', 'silent_fail', 'high', 'GOV-SIV', 'something tried to move a cursor backwards'),
  ('cursor_source_error', 'silent_fail', 'high', 'GOV-SIV', 'a source cannot be read or applied at all'),
  ('backfill_batch_failed', 'silent_fail', 'high', 'GOV-SIV', 'items of a backfill batch failed every attempt'),
  ('backfill_dlq_overflow', 'silent_fail', 'critical', 'GOV-SIV', 'more dead letters of the backfill than allowed'),
  ('handoff_dlq_overflow', 'silent_fail', 'critical', 'GOV-SIV', 'more dead letters of the handoff than allowed');

CREATE TABLE oneroof.governance_finding (
  coalesce_key text PRIMARY KEY,
  issue_type   text NOT NULL REFERENCES oneroof.governance_finding_type,
  issue_id     bigint,
  is_open      boolean NOT NULL,
  last_seen_at timestamptz NOT NULL
);
COMMENT ON TABLE oneroof.governance_finding IS 'the key that system_issues may not have: one row there per coalesce_key, opened and closed through here';
CREATE INDEX governance_finding_open ON oneroof.governance_finding (issue_type) WHERE is_open;

-- Items that failed: each is waiting, dead, done or resolved, and none is ever deleted (doc 39 §39.7).
CREATE TABLE oneroof.governance_retry (
  item_id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  worker_name     text NOT NULL,
  source_name     text NOT NULL,
  source_key      text NOT NULL,
  key_mark        text NOT NULL,
  candidate_key   text,
  row_xid         bigint NOT NULL,
  state           text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'dead', 'done', 'resolved')),
  attempts        bigint NOT NULL DEFAULT 1,
  next_attempt_at timestamptz,
  sqlstate        text NOT NULL,
  last_error      text NOT NULL,
  died_at         timestamptz,
  resolved_by     text,
  resolution      text,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (worker_name, source_name, key_mark, row_xid)
);
COMMENT ON TABLE oneroof.governance_retry IS 'the keys of failed items beside event_pending, which may have none: done + waiting + dead = seen';
COMMENT ON COLUMN oneroof.governance_retry.candidate_key IS 'the candidate that an earlier version of the row made, if there was one when it failed';
CREATE INDEX governance_retry_due ON oneroof.governance_retry (worker_name, source_name, next_attempt_at) WHERE state = 'waiting';
CREATE INDEX governance_retry_dead ON oneroof.governance_retry (worker_name, source_name) WHERE state = 'dead';
CREATE INDEX governance_retry_state ON oneroof.governance_retry (state, item_id);
CREATE INDEX governance_retry_version ON oneroof.governance_retry (key_mark, row_xid);
