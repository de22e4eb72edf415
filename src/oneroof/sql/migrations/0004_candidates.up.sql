-- One row per object, the rows that share one, the books of the verdicts and those that objects had before (doc 31 §3, §4 and §9).

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

-- Rows that resolve to the key of another row, which represents them (doc 31 §6: duplicates collapse): accounted by it.
CREATE TABLE oneroof.governance_duplicate (
  source_name   text NOT NULL,
  source_key    text NOT NULL,
  candidate_key text NOT NULL,
  found_at      timestamptz NOT NULL,
  is_double     boolean NOT NULL,
  PRIMARY KEY (source_name, source_key)
);
COMMENT ON TABLE oneroof.governance_duplicate IS 'source rows that are accounted by the candidate that another row has made';
COMMENT ON COLUMN oneroof.governance_duplicate.is_double IS 'one object twice in registries of one kind; the row of a class registry beside that of a birth is none';
CREATE INDEX governance_duplicate_candidate ON oneroof.governance_duplicate (candidate_key);
CREATE INDEX governance_duplicate_double ON oneroof.governance_duplicate (candidate_key) WHERE is_double;

-- The books: moved in the transaction that moves a verdict. Writers take different shards, so that none waits for another.
CREATE TABLE oneroof.governance_ledger (
  source_name      text NOT NULL,
  group_key        text NOT NULL,
  grain            text NOT NULL,
  verdict          text NOT NULL,
  undecided_reason text NOT NULL,
  shard            bigint NOT NULL,
  members          bigint NOT NULL,
  PRIMARY KEY (source_name, group_key, grain, verdict, undecided_reason, shard)
);
COMMENT ON TABLE oneroof.governance_ledger IS 'how many candidates of each group have which verdict; the sum over shards counts';
COMMENT ON COLUMN oneroof.governance_ledger.undecided_reason IS 'empty where the verdict is decided';

CREATE TABLE oneroof.governance_verdict_history (
  history_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  candidate_key    text NOT NULL,
  verdict          text NOT NULL,
  undecided_reason text,
  ruleset_version  text NOT NULL,
  change_number    bigint NOT NULL,
  scan_time        timestamptz,
  ended_at         timestamptz NOT NULL,
  ended_because    text
);
COMMENT ON TABLE oneroof.governance_verdict_history IS 'the verdicts that an object had before the one it has, and why each ended';
CREATE INDEX governance_verdict_history_key ON oneroof.governance_verdict_history (candidate_key, history_id);
