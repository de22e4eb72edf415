-- People, what one asks and another decides (promise 21), gates, who answers for what and what is excused (doc 31 §6 and §7).

CREATE TABLE oneroof.governance_person (
  person_code  text PRIMARY KEY CHECK (person_code ~ '^[[:alnum:]][[:alnum:]_.@-]{0,62}$'),
  display_name text NOT NULL CHECK (length(display_name) BETWEEN 1 AND 200),
  roles        text[] NOT NULL CHECK (roles <@ ARRAY['reader', 'operator', 'approver', 'executor']),
  added_at     timestamptz NOT NULL,
  changed_at   timestamptz NOT NULL,
  removed_at   timestamptz,
  CHECK (removed_at IS NULL OR roles = '{}')
);
COMMENT ON TABLE oneroof.governance_person IS 'the people who request and approve; a removed one is kept, since decisions name it';

CREATE TABLE oneroof.governance_person_login (
  login       name PRIMARY KEY,
  login_oid   oid NOT NULL,
  cluster     bigint NOT NULL,
  person_code text NOT NULL REFERENCES oneroof.governance_person,
  linked_at   timestamptz NOT NULL
);
COMMENT ON TABLE oneroof.governance_person_login IS 'which database logins are which person; several may be one';
CREATE INDEX governance_person_login_person ON oneroof.governance_person_login (person_code);

CREATE TABLE oneroof.governance_request (
  request_id      bigint PRIMARY KEY,
  request_kind    text NOT NULL,
  subject         text NOT NULL,
  content         jsonb NOT NULL,
  reason          text NOT NULL,
  content_sha256  text NOT NULL,
  requester       text NOT NULL REFERENCES oneroof.governance_person,
  requester_login name NOT NULL,
  requested_at    timestamptz NOT NULL,
  state           text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'approved', 'rejected', 'void')),
  decider         text REFERENCES oneroof.governance_person,
  decider_login   name,
  decided_at      timestamptz,
  decision_reason text,
  CONSTRAINT four_eyes CHECK (state <> 'approved' OR (decider IS NOT NULL AND decider <> requester AND decider_login <> requester_login))
);
COMMENT ON TABLE oneroof.governance_request IS 'what was asked in approval_requests, as it was asked, and what another person decided';
CREATE UNIQUE INDEX governance_request_pending ON oneroof.governance_request (request_kind, subject, content_sha256) WHERE state = 'pending';

CREATE TABLE oneroof.governance_gate (
  gate_key    text PRIMARY KEY,
  description text NOT NULL
);
COMMENT ON TABLE oneroof.governance_gate IS 'the switches that are closed unless two different people opened them';
INSERT INTO oneroof.governance_gate (gate_key, description) VALUES
  ('governance.workers_enabled',   'the workers may run'),
  ('governance.emit_enabled',      'signals may be written to event_outbox'),
  ('governance.apply_enabled',     'approved remedies may be applied'),
  ('iu_core.routes_enabled',       'outbound routes are considered at all (doc 03, master)'),
  ('iu_core.route_worker_enabled', 'the route worker may run (doc 03, kill-switch)'),
  ('iu_core.delivery_enabled',     'routes with dry_run=false may deliver');

CREATE TABLE oneroof.governance_gate_opening (
  request_id     bigint PRIMARY KEY REFERENCES oneroof.governance_request,
  gate_key       text NOT NULL REFERENCES oneroof.governance_gate,
  config_version xid NOT NULL,
  opened_at      timestamptz NOT NULL,
  closed_at      timestamptz,
  closed_by      text REFERENCES oneroof.governance_person,
  close_reason   text
);
COMMENT ON TABLE oneroof.governance_gate_opening IS 'the approval a gate stands open on, bound to the version of its dot_config row';
CREATE UNIQUE INDEX governance_gate_opening_standing ON oneroof.governance_gate_opening (gate_key) WHERE closed_at IS NULL;

CREATE TABLE oneroof.governance_office (
  office_code  text PRIMARY KEY CHECK (length(office_code) BETWEEN 1 AND 200 AND office_code !~ '[[:cntrl:]]'),
  display_name text NOT NULL,
  description  text NOT NULL
);
COMMENT ON TABLE oneroof.governance_office IS 'owners that are not people: bodies that own, whichever people sit in them';

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
