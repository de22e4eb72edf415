-- What was found (doc 31 §10, doc 39 §39.7).

CREATE TABLE oneroof.governance_finding (
  coalesce_key text PRIMARY KEY,
  issue_type   text NOT NULL REFERENCES oneroof.governance_finding_type,
  issue_id     bigint,
  is_open      boolean NOT NULL,
  last_seen_at timestamptz NOT NULL
);
COMMENT ON TABLE oneroof.governance_finding IS 'the key that system_issues may not have: one row there per coalesce_key, opened and closed through here';
CREATE INDEX governance_finding_open ON oneroof.governance_finding (issue_type) WHERE is_open;

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
