-- The ledger of migrations, people, requests with their decisions, and gates (promise 21).

CREATE TABLE oneroof.governance_migration (
  number     bigint PRIMARY KEY,
  name       text NOT NULL,
  sha256     text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  applied_by name NOT NULL DEFAULT session_user
);
COMMENT ON TABLE oneroof.governance_migration IS 'which migrations were applied, with the hash of each file as it was then';

CREATE TABLE oneroof.governance_schema (
  only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  version        text NOT NULL,
  content_sha256 text NOT NULL,
  host_schema    text NOT NULL,
  applied_at     timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE oneroof.governance_schema IS 'the hash of the functions, views and grants that were last applied whole, and the schema of the host''s tables that they name';

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
