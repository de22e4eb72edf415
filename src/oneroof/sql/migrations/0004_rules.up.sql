-- Rules as data, the rulesets that were made of them, and what they can find (doc 31 §3, §5, §7 and §10; doc 41 §41.4).

-- Governance findings (doc 24's names where the seeds give them) and those that the workers of the coverage raise.
INSERT INTO oneroof.governance_finding_type (issue_type, bucket, severity, owner_hint, description) VALUES
  ('governance_orphan', 'thiếu_quan_hệ', 'high', 'GOV-COUNCIL', 'born objects for which nobody is accountable'),
  ('owner_gap', 'thiếu_quan_hệ', 'medium', 'GOV-COUNCIL', 'objects with an owner for some responsibilities and none for others'),
  ('owner_conflict', 'sai_lệch_dữ_liệu', 'high', 'GOV-COUNCIL', 'two owners for one responsibility of one object'),
  ('owner_unknown', 'sai_lệch_dữ_liệu', 'medium', 'GOV-COUNCIL', 'an owner is named that nobody knows'),
  ('island', 'thiếu_quan_hệ', 'medium', 'GOV-COUNCIL', 'objects of a class that is in no catalog'),
  ('approval_path_gap', 'thiếu_quan_hệ', 'high', 'GOV-COUNCIL', 'owned objects for which nobody can approve'),
  ('unratified_exception', 'sai_lệch_dữ_liệu', 'high', 'GOV-COUNCIL', 'an exception that was claimed and never ratified'),
  ('exception_expired', 'sai_lệch_dữ_liệu', 'medium', 'GOV-COUNCIL', 'an exception whose time is over'),
  ('phantom', 'sai_lệch_dữ_liệu', 'high', 'GOV-SIV', 'accounted objects that the source no longer shows, held until the audit'),
  ('governance_schema_drift', 'sai_lệch_dữ_liệu', 'high', 'GOV-SIV', 'the terms of the coverage invariant do not add up'),
  ('backfill_incomplete', 'sai_lệch_dữ_liệu', 'high', 'GOV-SIV', 'keys of the source that are not accounted'),
  ('backfill_inventory_gap', 'thiếu_quan_hệ', 'medium', 'GOV-COUNCIL', 'a class whose registry does not exist; it fails closed'),
  ('uncovered_collection', 'thiếu_quan_hệ', 'medium', 'GOV-COUNCIL', 'a collection in scope without a coverage decision'),
  ('unregistered_collection', 'thiếu_quan_hệ', 'high', 'GOV-COUNCIL', 'births into a collection that collection_registry does not have'),
  ('exemption_unexplained', 'sai_lệch_dữ_liệu', 'medium', 'GOV-COUNCIL', 'a collection that is exempt without a reason'),
  ('review_owner_gap', 'thiếu_quan_hệ', 'low', 'GOV-COUNCIL', 'a collection deferred for review that nobody reviews'),
  ('stale_verdict', 'silent_fail', 'medium', 'GOV-SIV', 'verdicts that were not renewed in time'),
  ('resurrected_object', 'sai_lệch_dữ_liệu', 'medium', 'GOV-SIV', 'objects that were gone and are back'),
  ('mass_vanishing', 'sai_lệch_dữ_liệu', 'critical', 'GOV-COUNCIL', 'too many objects of a group vanished at once; they are held'),
  ('retired_but_owned', 'sai_lệch_dữ_liệu', 'low', 'GOV-COUNCIL', 'retired objects that still have owners'),
  ('uncertified_root', 'thiếu_quan_hệ', 'low', 'GOV-SIV', 'roots that were never certified'),
  ('unattributed_birth', 'sai_lệch_dữ_liệu', 'medium', 'GOV-SIV', 'births of which nobody knows where they come from'),
  ('legacy_bypass', 'sai_lệch_dữ_liệu', 'low', 'GOV-COUNCIL', 'births that did not come through the birth gate'),
  ('input_incomplete', 'sai_lệch_dữ_liệu', 'medium', 'GOV-SIV', 'facts that a judgement needs are missing'),
  ('input_invalid_schema', 'sai_lệch_dữ_liệu', 'high', 'GOV-SIV', 'rows that do not have the shape of their registry'),
  ('input_duplicate', 'sai_lệch_dữ_liệu', 'low', 'GOV-SIV', 'several rows of one object'),
  ('input_conflict', 'sai_lệch_dữ_liệu', 'high', 'GOV-COUNCIL', 'registries that contradict each other'),
  ('input_untrusted_source', 'sai_lệch_dữ_liệu', 'high', 'GOV-COUNCIL', 'a source that nobody has declared trusted'),
  ('input_quarantined', 'sai_lệch_dữ_liệu', 'medium', 'GOV-SIV', 'objects set aside until somebody releases them'),
  ('candidate_unknown', 'silent_fail', 'high', 'GOV-COUNCIL', 'objects that no rule decides'),
  ('scan_lag', 'silent_fail', 'medium', 'GOV-SIV', 'candidates wait longer for their verdict than allowed'),
  ('group_invalidation_storm', 'silent_fail', 'medium', 'GOV-SIV', 'more groups were dirtied at once than allowed');

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
