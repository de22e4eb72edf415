-- The vocabulary of signals, which of them two people have activated, and what was emitted or is held (doc 41 §41.4, §41.9).

CREATE TABLE oneroof.governance_event_type (
  event_type       text PRIMARY KEY CHECK (event_type ~ '^governance([.][a-z][a-z0-9_]*){2,}$' AND length(event_type) <= 200),
  family           text NOT NULL,
  event_stream     text NOT NULL,
  delivery_lane    text NOT NULL CHECK (delivery_lane IN ('immediate', 'digest')),
  default_severity text NOT NULL CHECK (default_severity IN ('info', 'low', 'medium', 'high', 'critical')),
  owner_hint       text NOT NULL,
  subject_table    text,
  payload_keys     text[] NOT NULL CHECK (array_position(payload_keys, NULL) IS NULL),
  description      text NOT NULL
);
COMMENT ON TABLE oneroof.governance_event_type IS 'the types of signals that there are, and what each may carry; the host''s event_type_registry says which are active';
COMMENT ON COLUMN oneroof.governance_event_type.subject_table IS 'what a signal of this type is about, where that is always the same table (doc 41 §41.5)';
COMMENT ON COLUMN oneroof.governance_event_type.payload_keys IS 'all that a payload may have: addresses, refs and counts';

CREATE TABLE oneroof.governance_event_activation (
  request_id     bigint NOT NULL REFERENCES oneroof.governance_request,
  event_type     text NOT NULL REFERENCES oneroof.governance_event_type,
  activated_at   timestamptz NOT NULL,
  deactivated_at timestamptz,
  deactivated_by text REFERENCES oneroof.governance_person,
  reason         text,
  PRIMARY KEY (request_id, event_type)
);
COMMENT ON TABLE oneroof.governance_event_activation IS 'the approval on which a type was made active, and who took it back';
CREATE UNIQUE INDEX governance_event_activation_standing ON oneroof.governance_event_activation (event_type) WHERE deactivated_at IS NULL;

-- The key that neither event_outbox nor event_pending may have: an event is emitted, or held, once.
CREATE SEQUENCE oneroof.governance_event_batch AS bigint;

CREATE TABLE oneroof.governance_event (
  event_id       uuid PRIMARY KEY,
  event_type     text NOT NULL,
  state          text NOT NULL CHECK (state IN ('held', 'stuck', 'untrusted', 'emitted', 'merged', 'refused', 'adopted')),
  source         text,
  content_sha256 bytea,
  held_batch     bigint,
  held_place     bigint,
  subject        text,
  subject_table  text,
  subject_ref    text,
  canonical_address text,
  payload        jsonb,
  severity       text,
  correlation_id text,
  occurred_at    timestamptz,
  noted_at       timestamptz NOT NULL,
  emitted_at     timestamptz,
  tried_at       timestamptz,
  CHECK ((state IN ('held', 'stuck', 'untrusted')) = (payload IS NOT NULL)),
  CHECK ((state = 'untrusted') = (source IS NOT NULL))
);
COMMENT ON TABLE oneroof.governance_event IS 'every event that gov_emit has taken, once; what is held is here as it was given';
COMMENT ON COLUMN oneroof.governance_event.source IS 'of what waits for trust, whose it is';
COMMENT ON COLUMN oneroof.governance_event.content_sha256 IS 'of the row in event_outbox, as it was written';
COMMENT ON COLUMN oneroof.governance_event.state IS 'stuck: event_outbox refused it when it was last tried; untrusted: held until its source is trusted; merged: told by a later one of the same group; adopted: emitted by an earlier installation';
CREATE INDEX governance_event_held ON oneroof.governance_event (event_type, held_batch, held_place) WHERE state = 'held';
CREATE INDEX governance_event_held_subject ON oneroof.governance_event (subject) WHERE state = 'held';
CREATE INDEX governance_event_stuck ON oneroof.governance_event (tried_at) WHERE state = 'stuck';
CREATE INDEX governance_event_untrusted ON oneroof.governance_event (source) WHERE state = 'untrusted';

CREATE TABLE oneroof.governance_event_examined (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  cluster  text NOT NULL,
  horizon  xid8,
  target   xid8,
  page     bigint NOT NULL
);
COMMENT ON TABLE oneroof.governance_event_examined IS 'how far event_outbox was examined for rows that did not come through gov_emit: what is older than the horizon is; a look under way is at a page';

-- Subscriptions of ours among the host's; the rows themselves have no mark.
CREATE TABLE oneroof.governance_subscription (
  subscription_id uuid PRIMARY KEY,
  subscribed_by   text NOT NULL,
  subscribed_at   timestamptz NOT NULL
);
COMMENT ON TABLE oneroof.governance_subscription IS 'the rows of event_subscription that oneroof inbox subscribe has added';
