-- Rules as data, the rulesets made of them, what they can find, and the facts that they judge (doc 31 §3, §5, §7 and §10; doc 41 §41.4).

-- What can be found, and to whom it goes (doc 31 §10, doc 39 §39.0; doc 24's names where the seeds give them).
CREATE TABLE oneroof.governance_finding_type (
  issue_type  text PRIMARY KEY,
  bucket      text NOT NULL,
  severity    text NOT NULL CHECK (severity IN ('low', 'medium', 'high', 'critical')),
  owner_hint  text NOT NULL,
  description text NOT NULL
);
COMMENT ON TABLE oneroof.governance_finding_type IS 'the kinds of finding, with bucket, base severity and default owner';
INSERT INTO oneroof.governance_finding_type (issue_type, bucket, severity, owner_hint, description) VALUES
  ('cursor_lag', 'silent_fail', 'medium', 'GOV-SIV', 'a cursor is further behind its source than allowed'),
  ('cursor_dlq', 'silent_fail', 'high', 'GOV-SIV', 'items failed every attempt and are dead letters'),
  ('cursor_silent_gap', 'silent_fail', 'high', 'GOV-SIV', 'a worker holds a lease and no longer ticks'),
  ('cursor_lease_conflict', 'silent_fail', 'low', 'GOV-SIV', 'two instances want the same lease, or one lost it at work'),
  ('cursor_watermark_regression', 'silent_fail', 'high', 'GOV-SIV', 'something tried to move a cursor backwards'),
  ('cursor_source_error', 'silent_fail', 'high', 'GOV-SIV', 'a source cannot be read or applied at all'),
  ('backfill_batch_failed', 'silent_fail', 'high', 'GOV-SIV', 'items of a backfill batch failed every attempt'),
  ('backfill_dlq_overflow', 'silent_fail', 'critical', 'GOV-SIV', 'more dead letters of the backfill than allowed'),
  ('handoff_dlq_overflow', 'silent_fail', 'critical', 'GOV-SIV', 'more dead letters of the handoff than allowed'),
  ('governance_orphan', 'thiếu_quan_hệ', 'high', 'GOV-COUNCIL', 'born objects without an accountable owner'),
  ('owner_gap', 'thiếu_quan_hệ', 'medium', 'GOV-COUNCIL', 'objects with an owner for some responsibilities and none for others'),
  ('owner_conflict', 'sai_lệch_dữ_liệu', 'high', 'GOV-COUNCIL', 'two owners for one responsibility of one object'),
  ('owner_unknown', 'sai_lệch_dữ_liệu', 'medium', 'GOV-COUNCIL', 'a named owner is not known'),
  ('island', 'thiếu_quan_hệ', 'medium', 'GOV-COUNCIL', 'objects of a class that is in no catalog'),
  ('approval_path_gap', 'thiếu_quan_hệ', 'high', 'GOV-COUNCIL', 'owned objects without an approver'),
  ('unratified_exception', 'sai_lệch_dữ_liệu', 'high', 'GOV-COUNCIL', 'an exception that was claimed and never ratified'),
  ('exception_expired', 'sai_lệch_dữ_liệu', 'medium', 'GOV-COUNCIL', 'an exception whose time is over'),
  ('phantom', 'sai_lệch_dữ_liệu', 'high', 'GOV-SIV', 'accounted objects that the source no longer shows, held until the audit'),
  ('governance_schema_drift', 'sai_lệch_dữ_liệu', 'high', 'GOV-SIV', 'the terms of the coverage invariant do not add up'),
  ('backfill_incomplete', 'sai_lệch_dữ_liệu', 'high', 'GOV-SIV', 'keys of the source that are not accounted'),
  ('backfill_inventory_gap', 'thiếu_quan_hệ', 'medium', 'GOV-COUNCIL', 'a class whose registry does not exist; it fails closed'),
  ('uncovered_collection', 'thiếu_quan_hệ', 'medium', 'GOV-COUNCIL', 'a collection in scope without a coverage decision'),
  ('unregistered_collection', 'thiếu_quan_hệ', 'high', 'GOV-COUNCIL', 'births into a collection that collection_registry does not have'),
  ('exemption_unexplained', 'sai_lệch_dữ_liệu', 'medium', 'GOV-COUNCIL', 'a collection that is exempt without a reason'),
  ('review_owner_gap', 'thiếu_quan_hệ', 'low', 'GOV-COUNCIL', 'a collection deferred for review without a reviewer'),
  ('stale_verdict', 'silent_fail', 'medium', 'GOV-SIV', 'verdicts that were not renewed in time'),
  ('resurrected_object', 'sai_lệch_dữ_liệu', 'medium', 'GOV-SIV', 'objects that were gone and are back'),
  ('mass_vanishing', 'sai_lệch_dữ_liệu', 'critical', 'GOV-COUNCIL', 'too many objects of a group vanished at once; they are held'),
  ('retired_but_owned', 'sai_lệch_dữ_liệu', 'low', 'GOV-COUNCIL', 'retired objects that still have owners'),
  ('uncertified_root', 'thiếu_quan_hệ', 'low', 'GOV-SIV', 'roots that were never certified'),
  ('unattributed_birth', 'sai_lệch_dữ_liệu', 'medium', 'GOV-SIV', 'births of unknown origin'),
  ('legacy_bypass', 'sai_lệch_dữ_liệu', 'low', 'GOV-COUNCIL', 'births that did not come through the birth gate'),
  ('input_incomplete', 'sai_lệch_dữ_liệu', 'medium', 'GOV-SIV', 'facts that a judgement needs are missing'),
  ('input_invalid_schema', 'sai_lệch_dữ_liệu', 'high', 'GOV-SIV', 'rows that do not have the shape of their registry'),
  ('input_duplicate', 'sai_lệch_dữ_liệu', 'low', 'GOV-SIV', 'several rows of one object'),
  ('input_conflict', 'sai_lệch_dữ_liệu', 'high', 'GOV-COUNCIL', 'registries that contradict each other'),
  ('input_untrusted_source', 'sai_lệch_dữ_liệu', 'high', 'GOV-COUNCIL', 'a source that was not declared trusted'),
  ('input_quarantined', 'sai_lệch_dữ_liệu', 'medium', 'GOV-SIV', 'objects set aside until they are released'),
  ('candidate_unknown', 'silent_fail', 'high', 'GOV-COUNCIL', 'objects that no rule decides'),
  ('scan_lag', 'silent_fail', 'medium', 'GOV-SIV', 'candidates wait longer for their verdict than allowed'),
  ('group_invalidation_storm', 'silent_fail', 'medium', 'GOV-SIV', 'more groups were dirtied at once than allowed'),
  ('handoff_unregistered_type', 'thiếu_quan_hệ', 'low', 'GOV-SIV', 'handoff signals are held, since their type is not registered and active'),
  ('direct_write', 'sai_lệch_dữ_liệu', 'critical', 'GOV-COUNCIL', 'a channel was written past the functions that write it'),
  ('signal_refused', 'silent_fail', 'high', 'GOV-SIV', 'event_outbox refuses signals that are well-formed; they are tried again'),
  ('issue_event_gap', 'thiếu_quan_hệ', 'low', 'GOV-SIV', 'signals are held, since their type is not registered and active'),
  ('handoff_lag', 'sai_lệch_dữ_liệu', 'medium', 'GOV-SIV', 'the intake is further behind its source than allowed'),
  ('handoff_dlq', 'silent_fail', 'high', 'GOV-SIV', 'handoffs failed every attempt and are dead letters'),
  ('handoff_silent_gap', 'silent_fail', 'high', 'GOV-SIV', 'the intake holds a lease and no longer ticks');

CREATE TABLE oneroof.governance_rule (
  rule_code        text PRIMARY KEY CHECK (rule_code ~ '^[a-z][a-z0-9_]{0,62}$'),
  rule_kind        text NOT NULL CHECK (rule_kind IN ('input', 'verdict', 'finding')),
  priority         bigint NOT NULL CHECK (priority BETWEEN 0 AND 1000000),
  scope            jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(scope) = 'object'),
  predicate        jsonpath NOT NULL CONSTRAINT predicate_is_short CHECK (length(predicate::text) <= 4000),
  verdict          text CHECK (verdict IN ('covered', 'orphan', 'approved_exception', 'retired', 'stale', 'deferred_birth', 'class_0',
                                           'undecided')),
  undecided_reason text CHECK (undecided_reason IN ('awaiting_ownership', 'untrusted', 'quarantined', 'retry', 'dead_letter', 'vanished',
                                                    'inventory_gap')),
  input_state      text CHECK (input_state IN ('ready', 'incomplete', 'invalid_schema', 'duplicate', 'conflict', 'stale',
                                               'untrusted_source', 'quarantined', 'birth_or_registry_missing', 'needs_backfill')),
  finding_type     text REFERENCES oneroof.governance_finding_type,
  severity         text CHECK (severity IN ('low', 'medium', 'high', 'critical')),
  stale_after      interval CHECK (stale_after > '0'),
  enabled          boolean NOT NULL DEFAULT true,
  description      text NOT NULL CHECK (length(description) BETWEEN 1 AND 1000),
  CONSTRAINT verdict_rule_has_a_verdict CHECK ((rule_kind = 'verdict') = (verdict IS NOT NULL)),
  CONSTRAINT undecided_has_a_reason CHECK ((verdict IS NOT DISTINCT FROM 'undecided') = (undecided_reason IS NOT NULL)),
  CONSTRAINT input_rule_has_a_state CHECK ((rule_kind = 'input') = (input_state IS NOT NULL)),
  CONSTRAINT finding_rule_has_a_type CHECK ((rule_kind = 'finding') = (finding_type IS NOT NULL)),
  CONSTRAINT only_a_finding_has_a_severity CHECK (severity IS NULL OR rule_kind = 'finding'),
  CONSTRAINT only_a_verdict_goes_stale CHECK (stale_after IS NULL OR rule_kind = 'verdict')
);
COMMENT ON TABLE oneroof.governance_rule IS 'the working copy of the rules; nothing is judged by it until a ruleset made of it is activated';
COMMENT ON COLUMN oneroof.governance_rule.scope IS 'the rule is asked only of facts that contain this';
CREATE UNIQUE INDEX governance_rule_priority ON oneroof.governance_rule (rule_kind, priority) WHERE enabled AND rule_kind <> 'finding';

CREATE TABLE oneroof.governance_ruleset (
  ruleset_version text PRIMARY KEY CHECK (ruleset_version ~ '^[0-9a-f]{64}$'),
  content         jsonb NOT NULL,
  content_sha256  text NOT NULL CHECK (content_sha256 = encode(sha256(convert_to(content::text, 'UTF8')), 'hex')),
  created_at      timestamptz NOT NULL,
  activated_at    timestamptz NOT NULL,
  activated_by    name NOT NULL,
  retired_at      timestamptz,
  request_id      bigint REFERENCES oneroof.governance_request,
  CONSTRAINT version_is_the_hash CHECK (ruleset_version = content_sha256)
);
COMMENT ON TABLE oneroof.governance_ruleset IS 'every ruleset that was ever active, whole; its version is the hash of its content';
CREATE UNIQUE INDEX governance_ruleset_active ON oneroof.governance_ruleset ((true)) WHERE retired_at IS NULL;

CREATE TABLE oneroof.governance_ruleset_rule (
  ruleset_version  text NOT NULL REFERENCES oneroof.governance_ruleset,
  rule_code        text NOT NULL,
  rule_kind        text NOT NULL,
  priority         bigint NOT NULL,
  scope            jsonb NOT NULL,
  predicate        jsonpath NOT NULL,
  verdict          text,
  undecided_reason text,
  input_state      text,
  finding_type     text,
  severity         text,
  stale_after      interval,
  description      text NOT NULL,
  PRIMARY KEY (ruleset_version, rule_code)
);
COMMENT ON TABLE oneroof.governance_ruleset_rule IS 'the rules of each ruleset as typed rows, which is what evaluation reads';

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
COMMENT ON COLUMN oneroof.governance_fact_set.is_heard IS 'of one that spreads: every member that could be seen has its verdict';
COMMENT ON COLUMN oneroof.governance_fact_set.spreads_until IS 'a transaction that began before this xid may have written a member by the older judgement';
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
COMMENT ON COLUMN oneroof.governance_object.is_settled IS 'whether every transaction is finished that may have written its candidate without knowing of it';
COMMENT ON COLUMN oneroof.governance_object.judged_hash IS 'the facts of its row that it was judged with';
COMMENT ON TABLE oneroof.governance_object IS 'the few objects of which something is known that their row and their class do not say';
CREATE INDEX governance_object_dirty ON oneroof.governance_object (candidate_key) WHERE is_dirty;
CREATE INDEX governance_object_unsettled ON oneroof.governance_object (candidate_key) WHERE NOT is_settled;
CREATE INDEX governance_object_vanished ON oneroof.governance_object (candidate_key) WHERE facts @> '{"state": {"vanished": true}}';

-- A new ruleset is a change of authority, told as any other (doc 32 §3).
INSERT INTO oneroof.governance_source (source_name, relation, source_kind, timestamp_column, key_columns, ref_column, actor_column, trusted_at) VALUES
  ('governance_ruleset', 'oneroof.governance_ruleset', 'register', 'activated_at', '{ruleset_version}', 'ruleset_version', 'activated_by', now());
