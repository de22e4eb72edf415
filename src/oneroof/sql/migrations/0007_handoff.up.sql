-- The handoff (doc 32 §3 and §5): which change of which source is of which kind, what it dirties, and what is still to be told of it.

CREATE TABLE oneroof.governance_handoff_map (
  map_code    text PRIMARY KEY CHECK (map_code ~ '^[a-z][a-z0-9_]{0,62}$'),
  source_name text NOT NULL,
  priority    bigint NOT NULL,
  on_change   text NOT NULL DEFAULT 'any' CHECK (on_change IN ('birth', 'update', 'any')),
  predicate   jsonpath CONSTRAINT predicate_is_short CHECK (length(predicate::text) <= 4000),
  change_kind text NOT NULL CHECK (change_kind IN ('object_born', 'object_registered', 'collection_changed', 'count_changed', 'object_retired',
                                                   'source_changed', 'axis_introduced', 'policy_changed', 'authority_changed', 'ruleset_changed')),
  dirties     text NOT NULL CHECK (dirties IN ('object', 'class', 'collection', 'all')),
  dimensions  jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(dimensions) = 'object'),
  description text NOT NULL,
  UNIQUE (source_name, priority)
);
COMMENT ON TABLE oneroof.governance_handoff_map IS 'how a change of a source is told: the first row, by priority, whose predicate the changed row meets; * is any inventory that has none of its own';
COMMENT ON COLUMN oneroof.governance_handoff_map.predicate IS 'a yes-or-no question about the row''s columns that play a part, as texts; none is every row';
COMMENT ON COLUMN oneroof.governance_handoff_map.dirties IS 'the object itself, the class of the row, the collection that its ref names, or whatever all classes inherit';
COMMENT ON COLUMN oneroof.governance_handoff_map.dimensions IS 'the group that is told: dimension to column, or to @source or @class';

INSERT INTO oneroof.governance_handoff_map (map_code, source_name, priority, on_change, predicate, change_kind, dirties, dimensions, description) VALUES
  ('birth_retired', 'birth_registry', 100, 'update', '$.status == "retired" || $.status == "superseded"', 'object_retired', 'object',
   '{"object_class": "@class", "source_registry": "@source", "lifecycle": "status"}', 'an object came to its end'),
  ('birth_born', 'birth_registry', 200, 'birth', NULL, 'object_born', 'object', '{"object_class": "@class", "source_registry": "@source"}',
   'a row of the birth registry is a birth'),
  ('birth_changed', 'birth_registry', 300, 'update', NULL, 'object_registered', 'object', '{"object_class": "@class", "source_registry": "@source"}',
   'what is registered of an object changed'),
  ('class_registry', '*', 100, 'any', NULL, 'object_registered', 'object', '{"object_class": "@class", "source_registry": "@source"}',
   'a row of a class registry is an object registered'),
  -- What it says of a collection, named by its code, is about that collection and not about a class of that name.
  ('changelog_collection_retired', 'registry_changelog', 90, 'any', '$.entity_type == "collection" && ($.action == "retire" || $.action == "supersede")',
   'object_retired', 'collection', '{"object_class": "@class", "lifecycle": "action"}', 'the registry says that a collection came to its end'),
  ('changelog_retired', 'registry_changelog', 100, 'any', '$.action == "retire" || $.action == "supersede"', 'object_retired', 'class',
   '{"object_class": "@class", "lifecycle": "action"}', 'the registry says that objects came to their end'),
  ('changelog_collection_source', 'registry_changelog', 190, 'any', '$.entity_type == "collection" && ($.source_kind != null || $.migration_state != null)',
   'source_changed', 'collection', '{"source_registry": "@class"}', 'where the objects of a collection come from'),
  ('changelog_source', 'registry_changelog', 200, 'any', '$.source_kind != null || $.migration_state != null', 'source_changed', 'class',
   '{"source_registry": "@class"}', 'where the objects of a registry come from'),
  ('changelog_collection_count', 'registry_changelog', 290, 'any', '$.entity_type == "collection" && ($.action == "count_change" || $.action == "count_changed")',
   'count_changed', 'collection', '{"source_registry": "@class"}', 'how many objects a collection has'),
  ('changelog_count', 'registry_changelog', 300, 'any', '$.action == "count_change" || $.action == "count_changed"', 'count_changed', 'class',
   '{"source_registry": "@class"}', 'how many rows a registry has'),
  ('changelog_collection', 'registry_changelog', 400, 'any', '$.entity_type == "collection"', 'collection_changed', 'collection',
   '{"source_registry": "@class", "scope": "@source"}', 'a collection, named by its code'),
  ('changelog_policy', 'registry_changelog', 500, 'any', '$.action == "policy_change" || $.action == "policy_changed"', 'policy_changed', 'class',
   '{"scope": "@class"}', 'a policy of a class'),
  ('changelog_authority', 'registry_changelog', 600, 'any',
   '$.action == "owner_change" || $.action == "owner_changed" || $.action == "approval_change" || $.action == "exception_change"',
   'authority_changed', 'class', '{"owner_scope": "@class"}', 'who answers for a class'),
  ('changelog_rest', 'registry_changelog', 700, 'any', NULL, 'object_registered', 'class', '{"object_class": "@class"}',
   'whatever else a registry says of its objects'),
  ('collection_registry', 'collection_registry', 100, 'any', NULL, 'collection_changed', 'class', '{"source_registry": "@class", "scope": "coverage_scope_status"}',
   'a collection or its coverage decision'),
  ('pivot_axis', 'pivot_definitions', 100, 'any', NULL, 'axis_introduced', 'all', '{"axis": "code"}', 'a pivot is an axis'),
  ('jurisdiction_axis', 'law_jurisdiction', 100, 'any', '$.classification == "pivot"', 'axis_introduced', 'all', '{"axis": "code"}',
   'a jurisdiction that classifies as a pivot'),
  ('jurisdiction_policy', 'law_jurisdiction', 200, 'any', NULL, 'policy_changed', 'all', '{"scope": "code"}', 'a jurisdiction'),
  ('norm_policy', 'normative_registry', 100, 'any', NULL, 'policy_changed', 'all', '{"scope": "code"}', 'a norm'),
  ('measurement_policy', 'measurement_registry', 100, 'any', NULL, 'policy_changed', 'all', '{"scope": "measurement_id"}', 'a measurement'),
  -- Requests of our own kinds are our own rows: what follows from one is told by the table that it changes.
  ('approval_authority', 'approval_requests', 100, 'any',
   '$.status == "approved" && !($.request_kind like_regex "^(gate|person|exception|ruleset|source|vanishing|event)[.]")',
   'authority_changed', 'all', '{"owner_scope": "request_kind"}', 'a request of the host was approved'),
  ('ownership_class', 'governance_object_ownership', 100, 'any', '$.level == "collection" || $.level == "class"', 'authority_changed', 'class',
   '{"owner_scope": "@class", "scope": "level"}', 'who answers for a collection or a class'),
  ('ownership_other', 'governance_object_ownership', 200, 'any', NULL, 'authority_changed', 'all', '{"owner_scope": "level"}',
   'who answers for single objects or a whole scope'),
  ('exception_class', 'governance_exception', 100, 'any', '$.level == "collection" || $.level == "class"', 'authority_changed', 'class',
   '{"owner_scope": "@class", "scope": "level"}', 'what excuses a collection or a class'),
  ('exception_other', 'governance_exception', 200, 'any', NULL, 'authority_changed', 'all', '{"owner_scope": "level"}',
   'what excuses single objects or a whole scope'),
  ('ruleset', 'governance_ruleset', 100, 'any', NULL, 'ruleset_changed', 'all', '{"scope": "@source"}', 'another ruleset is active');

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

-- The tail sources of doc 32 §3 beside the three of doc 39: registers, whose rows are changed in place. Where no facts are named every
-- column but the timestamp is one.
INSERT INTO oneroof.governance_source
  (source_name, relation, source_kind, timestamp_column, key_columns, class_column, ref_column, actor_column, trusted_at)
VALUES
  ('collection_registry', 'host.collection_registry', 'register', NULL, '{code}', 'collection_name', 'code', 'coverage_decided_by', now()),
  ('pivot_definitions', 'host.pivot_definitions', 'register', NULL, '{code}', NULL, 'code', NULL, now()),
  ('law_jurisdiction', 'host.law_jurisdiction', 'register', NULL, '{code}', NULL, 'code', NULL, now()),
  ('normative_registry', 'host.normative_registry', 'register', NULL, '{code}', NULL, 'code', NULL, now()),
  ('measurement_registry', 'host.measurement_registry', 'register', NULL, '{measurement_id}', NULL, 'measurement_id', NULL, now()),
  ('approval_requests', 'host.approval_requests', 'register', 'updated_at', '{id}', NULL, NULL, 'decided_by', now()),
  ('governance_object_ownership', 'oneroof.governance_object_ownership', 'register', 'recorded_at', '{ownership_id}', 'subject', 'subject', 'recorded_by', now()),
  ('governance_exception', 'oneroof.governance_exception', 'register', 'requested_at', '{exception_id}', 'subject', 'subject', 'ratified_by', now()),
  ('governance_ruleset', 'oneroof.governance_ruleset', 'register', 'activated_at', '{ruleset_version}', NULL, 'ruleset_version', 'activated_by', now());

INSERT INTO oneroof.governance_finding_type (issue_type, bucket, severity, owner_hint, description) VALUES
  ('handoff_lag', 'sai_lệch_dữ_liệu', 'medium', 'GOV-SIV', 'the intake is further behind its source than allowed'),
  ('handoff_dlq', 'silent_fail', 'high', 'GOV-SIV', 'handoffs failed every attempt and are dead letters'),
  ('handoff_silent_gap', 'silent_fail', 'high', 'GOV-SIV', 'the intake holds a lease and no longer ticks');
