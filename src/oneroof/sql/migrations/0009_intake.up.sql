-- What changes dirty, and what is still to be told of them (doc 32 §3 and §5).

-- Registries in which rows change their content (doc 32 §3): a version is a change if what plays a part in it differs.
CREATE TABLE oneroof.governance_register_row (
  source_name   text NOT NULL,
  key_mark      text NOT NULL,
  facts_hash    bigint NOT NULL,
  change_number bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (source_name, key_mark)
);
COMMENT ON TABLE oneroof.governance_register_row IS 'the rows of registers as they were last seen, by a hash of what plays a part';

-- One mark for each class, however many changes there are; * is what all classes inherit (promise 16: marks <= groups).
CREATE TABLE oneroof.governance_group_mark (
  class        text PRIMARY KEY CHECK (octet_length(class) <= 2000),
  dirty        boolean NOT NULL DEFAULT true,
  dirty_reason text NOT NULL,
  dirtied_at   timestamptz NOT NULL,
  occurred_at  timestamptz NOT NULL,
  changes      bigint NOT NULL,
  burst        bigint NOT NULL,
  burst_at     timestamptz NOT NULL
);
COMMENT ON TABLE oneroof.governance_group_mark IS 'groups in which something changed and that are to be looked at again';
COMMENT ON COLUMN oneroof.governance_group_mark.changes IS 'how many changes were coalesced into the mark';
COMMENT ON COLUMN oneroof.governance_group_mark.burst IS 'changes in the minute that began at burst_at, whether or not the mark was taken meanwhile';
CREATE INDEX governance_group_mark_dirty ON oneroof.governance_group_mark (dirtied_at) WHERE dirty;

-- What change logs and registers handed off, by kind, group and window of time: told together, when the window is over.
CREATE TABLE oneroof.governance_handoff (
  source_name   text NOT NULL,
  change_kind   text NOT NULL,
  group_key     text NOT NULL CONSTRAINT group_key_is_short CHECK (octet_length(group_key) <= 2000),
  window_start  timestamptz NOT NULL,
  window_end    timestamptz NOT NULL,
  class         text,
  changes       bigint NOT NULL,
  told          bigint NOT NULL DEFAULT 0,
  parts         bigint NOT NULL DEFAULT 0,
  told_at       timestamptz,
  is_again      boolean NOT NULL,
  occurred_at   timestamptz NOT NULL,
  ref           text NOT NULL CONSTRAINT ref_is_short CHECK (octet_length(ref) <= 2000),
  source_system text,
  actor_ref     text,
  untold_since  timestamptz NOT NULL,
  PRIMARY KEY (source_name, change_kind, group_key, window_start)
);
COMMENT ON TABLE oneroof.governance_handoff IS 'changes that were coalesced in a window of time, and how many of them were told';
COMMENT ON COLUMN oneroof.governance_handoff.is_again IS 'read again: what was told before is not told anew';
COMMENT ON COLUMN oneroof.governance_handoff.untold_since IS 'when the first of the changes came that are yet to be told';
CREATE INDEX governance_handoff_untold ON oneroof.governance_handoff (source_name, window_end) WHERE changes > told;
CREATE INDEX governance_handoff_told ON oneroof.governance_handoff (source_name, told_at) WHERE told_at IS NOT NULL;

-- What is still to be told of objects: a batch of the intake is one row, written with what it marked and gone when it was told. Objects
-- with the same facts share kind, class, group and provenance.
CREATE TABLE oneroof.governance_untold (
  untold_id   bigint GENERATED ALWAYS AS IDENTITY,
  source_name text NOT NULL,
  many        bigint NOT NULL,
  kinds       text[] NOT NULL,
  classes     text[] NOT NULL,
  groups      text[] NOT NULL,
  systems     text[] NOT NULL,
  actors      text[] NOT NULL,
  places      bigint[] NOT NULL,
  keys        text[] NOT NULL,
  numbers     bigint[] NOT NULL,
  refs        text[] NOT NULL,
  times       timestamptz[] NOT NULL,
  noted_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (source_name, untold_id)
);
COMMENT ON TABLE oneroof.governance_untold IS 'objects that were handed off and not yet told of, batch by batch';
COMMENT ON COLUMN oneroof.governance_untold.places IS 'of each object, where in the arrays before this one stands what it shares with others';

-- Compressing what is read once and soon would cost more than it saves.
ALTER TABLE oneroof.governance_untold ALTER COLUMN places SET STORAGE EXTERNAL, ALTER COLUMN keys SET STORAGE EXTERNAL,
  ALTER COLUMN numbers SET STORAGE EXTERNAL, ALTER COLUMN refs SET STORAGE EXTERNAL, ALTER COLUMN times SET STORAGE EXTERNAL;
