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
