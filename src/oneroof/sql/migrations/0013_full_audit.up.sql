-- What an audit under way has added up (doc 31 §5 and §9).

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

-- Of the sets that have drifted: by how much both sides differ, by buckets of hashes. Each page range updates all of them.
CREATE TABLE oneroof.governance_audit_bucket (
  source_name text NOT NULL,
  bucket      bigint NOT NULL,
  members     bigint NOT NULL,
  hashes      bigint NOT NULL,
  PRIMARY KEY (source_name, bucket)
) WITH (fillfactor = 40);
COMMENT ON TABLE oneroof.governance_audit_bucket IS 'rows less candidates of the sets of facts that have drifted, and the hashes of both put together by XOR, by a part of the hash of their keys: nought where they agree';

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
