-- What lies at or beyond the frontier and was applied.

CREATE TABLE oneroof.governance_open_row (
  cursor_id bigint NOT NULL,
  row_xid   bigint NOT NULL,
  key_mark  text NOT NULL,
  PRIMARY KEY (cursor_id, row_xid, key_mark)
);
COMMENT ON TABLE oneroof.governance_open_row IS 'row versions at or beyond the frontier that were already applied, so that none is applied twice';

CREATE TABLE oneroof.governance_open_span (
  cursor_id bigint NOT NULL,
  row_xid   bigint NOT NULL,
  pass      bigint NOT NULL,
  with_own  boolean NOT NULL,
  ordered_by text NOT NULL,
  first_ts  text NOT NULL,
  first_key text NOT NULL,
  last_ts   text NOT NULL,
  last_key  text NOT NULL,
  PRIMARY KEY (cursor_id, row_xid, pass)
);
COMMENT ON TABLE oneroof.governance_open_span IS 'the same for many at once: all rows that a transaction wrote from the first to the last, in the order of timestamp and key';
COMMENT ON COLUMN oneroof.governance_open_span.pass IS 'the pass over the newest rows that met them; one pass may meet a transaction in several batches';
COMMENT ON COLUMN oneroof.governance_open_span.ordered_by IS 'a digest of the columns whose order it is, and of their types: a source may be given others';
COMMENT ON COLUMN oneroof.governance_open_span.with_own IS 'whether what oneroof wrote itself is among them';
