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
INSERT INTO oneroof.governance_worker_policy (worker_name, sweep_interval) VALUES
  ('gov_backfill_sweep', DEFAULT), ('gov_handoff_intake', DEFAULT), ('gov_input_gate', DEFAULT), ('gov_candidate_scan', DEFAULT),
  ('gov_periodic_full_audit', '1 hour');

-- Which instances live, so that they share the leases out among them (doc 39 §39.6).

CREATE TABLE oneroof.governance_instance (
  instance   text PRIMARY KEY,
  workers    text[] NOT NULL,
  started_at timestamptz NOT NULL,
  seen_at    timestamptz NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE oneroof.governance_instance IS 'a run of the workers that goes on for ever; it says once a second that it lives, and deletes its row when it stops';
COMMENT ON COLUMN oneroof.governance_instance.workers IS 'the workers that it runs: among those instances their leases are shared out';
