-- Who answers for what, and what is excused from it (doc 31 §6 and §7; docs/explanation/ownership.md).

CREATE TABLE oneroof.governance_office (
  office_code  text PRIMARY KEY CHECK (length(office_code) BETWEEN 1 AND 200 AND office_code !~ '[[:cntrl:]]'),
  display_name text NOT NULL,
  description  text NOT NULL
);
COMMENT ON TABLE oneroof.governance_office IS 'owners that are not people: bodies that answer whoever sits in them';
-- The owners that docs 31 and 32 name for each responsibility, and the Mothers, which never execute.
INSERT INTO oneroof.governance_office (office_code, display_name, description) VALUES
  ('GOV-COUNCIL', 'Governance council', 'policy, and every dispute of authority'),
  ('GOV-SIV',     'System integrity', 'health and audit; detects, never executes'),
  ('GOV-DOT',     'Governed tools', 'execution of what was approved'),
  ('GOV-MOUT',    'Mother of output', 'rendering; never an executor'),
  ('GOV-MOT',     'Mother', 'rendering; never an executor'),
  ('DIEU-32',     'Dieu 32, the approval spine', 'approval');

CREATE TABLE oneroof.governance_object_ownership (
  ownership_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  level          text NOT NULL CHECK (level IN ('object', 'collection', 'class', 'scope')),
  -- As short as a candidate key, for the index.
  subject        text NOT NULL CHECK (subject <> '' AND octet_length(subject) <= 2000),
  responsibility text NOT NULL CHECK (responsibility IN ('policy', 'health', 'execution', 'render', 'approval', 'audit')),
  owner_ref      text NOT NULL CHECK (length(owner_ref) BETWEEN 1 AND 200),
  valid_from     timestamptz NOT NULL,
  valid_to       timestamptz,
  recorded_by    text NOT NULL REFERENCES oneroof.governance_person,
  recorded_at    timestamptz NOT NULL,
  -- Its index serves every lookup by (level, subject).
  UNIQUE (level, subject, responsibility, owner_ref),
  CHECK (valid_to > valid_from),
  CONSTRAINT valid_dates CHECK (valid_from >= '0001-01-02 00:00:00+00' AND valid_from < '9999-01-01 00:00:00+00'
                                AND (valid_to IS NULL OR valid_to < '9999-01-01 00:00:00+00')),
  CONSTRAINT everywhere_is_a_scope CHECK (subject <> '*' OR level = 'scope')
);
COMMENT ON TABLE oneroof.governance_object_ownership IS 'which person or office answers for which responsibility, of an object, a collection, a class or a scope';
COMMENT ON COLUMN oneroof.governance_object_ownership.subject IS 'a candidate key, a collection name, an entity type, or a source name; * of a scope is everywhere';

CREATE TABLE oneroof.governance_exception (
  exception_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  level        text NOT NULL CHECK (level IN ('object', 'collection', 'class', 'scope')),
  subject      text NOT NULL CHECK (subject <> '' AND octet_length(subject) <= 2000),
  reason       text NOT NULL,
  valid_from   timestamptz NOT NULL,
  valid_to     timestamptz,
  requested_by text NOT NULL REFERENCES oneroof.governance_person,
  requested_at timestamptz NOT NULL,
  request_id   bigint UNIQUE REFERENCES oneroof.governance_request,
  ratified_at  timestamptz,
  ratified_by  text REFERENCES oneroof.governance_person,
  revoked_at   timestamptz,
  revoked_by   text REFERENCES oneroof.governance_person,
  CHECK (valid_to > valid_from),
  CONSTRAINT valid_dates CHECK (valid_from >= '0001-01-02 00:00:00+00' AND valid_from < '9999-01-01 00:00:00+00'
                                AND (valid_to IS NULL OR valid_to < '9999-01-01 00:00:00+00')),
  CONSTRAINT everywhere_is_a_scope CHECK (subject <> '*' OR level = 'scope'),
  CONSTRAINT four_eyes CHECK (ratified_at IS NULL OR (request_id IS NOT NULL AND ratified_by IS NOT NULL AND ratified_by <> requested_by))
);
COMMENT ON TABLE oneroof.governance_exception IS 'what need not be covered, for how long and why; counts only when another person has ratified it';
CREATE INDEX governance_exception_subject ON oneroof.governance_exception (level, subject);
