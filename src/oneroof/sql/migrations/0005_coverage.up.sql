-- What is known of objects, what was judged of it, and the books that are kept of the verdicts (doc 31 §3, §4 and §9).

-- Millions of objects share few distinct facts: each is judged once, and a candidate points to it by its hash.
CREATE TABLE oneroof.governance_fact_set (
  source_name      text NOT NULL,
  facts_hash       bigint NOT NULL,
  group_key        text NOT NULL,
  class            text NOT NULL,
  -- squawk-ignore prefer-bigint-over-int
  class_mark       integer NOT NULL GENERATED ALWAYS AS (hashtext(class COLLATE "C")) STORED,
  grain            text NOT NULL,
  row_facts        jsonb NOT NULL,
  verdict          text NOT NULL DEFAULT 'undecided',
  undecided_reason text DEFAULT 'pending',
  rule_code        text,
  input_state      text NOT NULL DEFAULT 'pending',
  input_rule       text,
  finding_types    text[] NOT NULL DEFAULT '{}',
  stale_after      interval,
  ruleset_version  text NOT NULL DEFAULT 'none',
  judged_at        timestamptz,
  is_dirty         boolean NOT NULL DEFAULT true,
  is_spreading     boolean NOT NULL DEFAULT false,
  is_heard         boolean NOT NULL DEFAULT false,
  spreads_until    xid8,
  PRIMARY KEY (source_name, facts_hash)
);
COMMENT ON TABLE oneroof.governance_fact_set IS 'every distinct set of facts that rows of a source have, with what the active ruleset says of it';
COMMENT ON COLUMN oneroof.governance_fact_set.is_dirty IS 'to be judged, for the first time or anew';
COMMENT ON COLUMN oneroof.governance_fact_set.is_spreading IS 'was judged otherwise than before; some members may not have heard yet';
COMMENT ON COLUMN oneroof.governance_fact_set.is_heard IS 'of one that spreads: whoever could be seen has heard';
COMMENT ON COLUMN oneroof.governance_fact_set.spreads_until IS 'whoever began before this xid may have written a member by the older judgement';
CREATE INDEX governance_fact_set_class ON oneroof.governance_fact_set (source_name, class);
CREATE INDEX governance_fact_set_dirty ON oneroof.governance_fact_set (source_name) WHERE is_dirty;
CREATE INDEX governance_fact_set_spreading ON oneroof.governance_fact_set (source_name) WHERE is_spreading;

-- What is known of a class apart from its rows: coverage decision, catalog, owners, exception (doc 31 §3).
CREATE TABLE oneroof.governance_class (
  source_name text NOT NULL,
  class       text NOT NULL,
  facts       jsonb NOT NULL,
  changed_at  timestamptz NOT NULL,
  counted_xid xid8,
  PRIMARY KEY (source_name, class)
);
COMMENT ON COLUMN oneroof.governance_class.counted_xid IS 'whatever was written at or beyond it has not been counted: how many of its objects have which finding';
COMMENT ON TABLE oneroof.governance_class IS 'the facts that all objects of a class inherit, as they were when it was last looked';

-- What is known of one object alone: its own owners or exception, that it vanished, failed, is back … (doc 31 §6 and §7).
CREATE TABLE oneroof.governance_object (
  candidate_key    text PRIMARY KEY CHECK (octet_length(candidate_key) <= 2000),
  facts            jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(facts) = 'object'),
  verdict          text NOT NULL DEFAULT 'undecided',
  undecided_reason text DEFAULT 'pending',
  rule_code        text,
  input_state      text NOT NULL DEFAULT 'pending',
  input_rule       text,
  finding_types    text[] NOT NULL DEFAULT '{}',
  stale_after      interval,
  ruleset_version  text NOT NULL DEFAULT 'none',
  judged_at        timestamptz,
  judged_hash      bigint,
  is_dirty         boolean NOT NULL DEFAULT true,
  is_settled       boolean NOT NULL DEFAULT false,
  settles_until    xid8
);
COMMENT ON COLUMN oneroof.governance_object.is_settled IS 'whether everybody is finished who may have written its candidate without knowing of it';
COMMENT ON COLUMN oneroof.governance_object.judged_hash IS 'the facts of its row that it was judged with';
COMMENT ON TABLE oneroof.governance_object IS 'the few objects of which something is known that their row and their class do not say';
CREATE INDEX governance_object_dirty ON oneroof.governance_object (candidate_key) WHERE is_dirty;
CREATE INDEX governance_object_unsettled ON oneroof.governance_object (candidate_key) WHERE NOT is_settled;
CREATE INDEX governance_object_vanished ON oneroof.governance_object (candidate_key) WHERE facts @> '{"state": {"vanished": true}}';

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

-- How many objects of a class have which finding; what is told of it in the host's system_issues is one row each (doc 31 §10).
CREATE TABLE oneroof.governance_class_finding (
  source_name text NOT NULL,
  class       text NOT NULL,
  issue_type  text NOT NULL REFERENCES oneroof.governance_finding_type,
  population  bigint NOT NULL,
  samples     text[] NOT NULL,
  is_told     boolean NOT NULL DEFAULT false,
  PRIMARY KEY (source_name, class, issue_type)
);
COMMENT ON TABLE oneroof.governance_class_finding IS 'the population of every finding that rules make, by class, with a few examples';
CREATE INDEX governance_class_finding_untold ON oneroof.governance_class_finding (source_name) WHERE NOT is_told;

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

-- The chain of certificates (doc 31 §9): each has the hash of the one before. Nothing here depends on rows of the host.
CREATE TABLE oneroof.governance_certificate (
  sequence        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sha256          text NOT NULL UNIQUE CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  previous_sha256 text UNIQUE REFERENCES oneroof.governance_certificate (sha256),
  proved_at       timestamptz NOT NULL,
  is_balanced     boolean NOT NULL,
  is_complete     boolean NOT NULL,
  is_deep         boolean NOT NULL,
  ruleset_version text,
  signer          text,
  snapshot_id     bigint,
  stored_at       timestamptz NOT NULL,
  stored_by       name NOT NULL
);
COMMENT ON TABLE oneroof.governance_certificate IS 'the certificates that were made here, each chained to the one before it';
COMMENT ON COLUMN oneroof.governance_certificate.signer IS 'the fingerprint of the key that it was signed with, if it was';
COMMENT ON COLUMN oneroof.governance_certificate.snapshot_id IS 'the row of evolution_snapshots that holds the certificate';

-- What a source has, and what is accounted of it, by sets of facts, while an audit adds it up (doc 31 §5 and §9).
CREATE TABLE oneroof.governance_audit_facts (
  source_name     text NOT NULL,
  facts_hash      bigint NOT NULL,
  row_count       bigint NOT NULL DEFAULT 0,
  row_sum         numeric NOT NULL DEFAULT 0,
  newest          timestamptz,
  candidate_count bigint NOT NULL DEFAULT 0,
  candidate_sum   numeric NOT NULL DEFAULT 0,
  PRIMARY KEY (source_name, facts_hash)
) WITH (fillfactor = 50);
-- Rows are added first and candidates to them, where they lie.
COMMENT ON TABLE oneroof.governance_audit_facts IS 'rows and candidates with the same facts as the audit under way has counted them, and the sum of the hashes of their keys: equal where they agree';

-- Of the sets that have drifted: by how much both sides differ, by buckets of hashes. Each piece of a walk updates all of them.
CREATE TABLE oneroof.governance_audit_bucket (
  source_name text NOT NULL,
  bucket      bigint NOT NULL,
  members     bigint NOT NULL,
  hashes      bigint NOT NULL,
  PRIMARY KEY (source_name, bucket)
) WITH (fillfactor = 40);
COMMENT ON TABLE oneroof.governance_audit_bucket IS 'rows less candidates of the sets of facts that have drifted, and the hashes of both put together by XOR, by a part of the hash of their keys: nought where they agree';

-- Snapshots of sources (doc 31 §5), each a row of the host's evolution_snapshots; a candidate says which one was the latest when it was
-- written or judged.
CREATE TABLE oneroof.governance_snapshot (
  snapshot_ref bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  source_name  text NOT NULL,
  scope        text NOT NULL,
  taken_at     timestamptz NOT NULL,
  digest       text NOT NULL,
  snapshot_id  bigint NOT NULL
);
COMMENT ON TABLE oneroof.governance_snapshot IS 'counts, bounds and fingerprints of the groups of a source at one time';
COMMENT ON COLUMN oneroof.governance_snapshot.snapshot_id IS 'the row of evolution_snapshots that holds it';
CREATE INDEX governance_snapshot_latest ON oneroof.governance_snapshot (source_name, snapshot_ref);

CREATE TABLE oneroof.governance_audit_count (
  source_name      text NOT NULL,
  group_key        text NOT NULL,
  grain            text NOT NULL,
  verdict          text NOT NULL,
  undecided_reason text NOT NULL,
  members          bigint NOT NULL,
  PRIMARY KEY (source_name, group_key, grain, verdict, undecided_reason)
);
COMMENT ON TABLE oneroof.governance_audit_count IS 'candidates as the audit under way has counted them, piece by piece; what differs from the ledger is counted again at once';

-- Groups of which too much vanished at once: held until two people have said that it may (doc 31 §7).
CREATE TABLE oneroof.governance_vanishing (
  source_name text NOT NULL,
  group_key   text NOT NULL,
  held        bigint NOT NULL,
  members     bigint NOT NULL,
  held_at     timestamptz NOT NULL,
  request_id  bigint,
  allowed     bigint,
  allowed_at  timestamptz,
  PRIMARY KEY (source_name, group_key)
);
COMMENT ON TABLE oneroof.governance_vanishing IS 'groups whose vanished members are held, and how many of them two people let go';
COMMENT ON COLUMN oneroof.governance_vanishing.members IS 'members of the group that were not tombstones before';

INSERT INTO oneroof.governance_worker_policy (worker_name) VALUES ('gov_input_gate'), ('gov_candidate_scan');
INSERT INTO oneroof.governance_worker_policy (worker_name, sweep_interval) VALUES ('gov_periodic_full_audit', '1 hour');
