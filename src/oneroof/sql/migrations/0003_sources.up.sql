-- What is tailed, how its changes are told, and snapshots of it (doc 39 §39.4, doc 31 §5, doc 32 §3).

CREATE TABLE oneroof.governance_source (
  source_name      text PRIMARY KEY CHECK (source_name !~ '[#:[:cntrl:]]' AND length(source_name) BETWEEN 1 AND 200),
  relation         regclass NOT NULL UNIQUE,
  source_kind      text NOT NULL CHECK (source_kind IN ('inventory', 'changelog', 'register')),
  timestamp_column name,
  key_columns      name[] NOT NULL CHECK (cardinality(key_columns) BETWEEN 1 AND 8),
  address_column   name,
  class_column     name,
  ref_column       name,
  grain_column     name,
  group_columns    name[] NOT NULL DEFAULT '{}',
  fact_columns     name[] NOT NULL DEFAULT '{}',
  own_column       name,
  own_prefix       text,
  system_column    name,
  actor_column     name,
  births           boolean NOT NULL DEFAULT false CHECK (NOT births OR source_kind = 'inventory'),
  trusted_at       timestamptz,
  added_at         timestamptz NOT NULL DEFAULT now(),
  added_by         name NOT NULL DEFAULT session_user,
  added_horizon    xid8 NOT NULL DEFAULT pg_snapshot_xmin(pg_current_snapshot())
);
COMMENT ON COLUMN oneroof.governance_source.added_horizon IS 'transactions that were not finished when it was added write at or beyond it: a change log is followed from there';
COMMENT ON COLUMN oneroof.governance_source.own_column IS 'a row whose value begins with own_prefix was written by oneroof: counted, not acted on';
COMMENT ON COLUMN oneroof.governance_source.source_kind IS 'inventory: rows are objects; changelog: rows are changes; register: rows are changed in place, and every change counts';
COMMENT ON COLUMN oneroof.governance_source.actor_column IS 'who made a change, and in system_column by what system: the provenance of a handoff (doc 32 §7)';
COMMENT ON COLUMN oneroof.governance_source.births IS 'its rows are births: an object that no such source has is not born yet (doc 31 §7)';
COMMENT ON COLUMN oneroof.governance_source.trusted_at IS 'since when its rows count: of others nothing is said until two people have vouched';
COMMENT ON TABLE oneroof.governance_source IS 'the tables that are tailed; adding a source is adding a row, never code';

CREATE TABLE oneroof.governance_source_removed (
  source_name text PRIMARY KEY,
  removed_at  timestamptz NOT NULL,
  removed_by  name NOT NULL,
  is_kept     boolean NOT NULL,
  at_page     bigint DEFAULT 0,
  found       bigint NOT NULL DEFAULT 0,
  retired     bigint NOT NULL DEFAULT 0,
  retired_at  timestamptz
);
COMMENT ON TABLE oneroof.governance_source_removed IS 'sources that were removed, and how far their objects are retired';
COMMENT ON COLUMN oneroof.governance_source_removed.is_kept IS 'its objects stay as they are';
COMMENT ON COLUMN oneroof.governance_source_removed.at_page IS 'the page of the candidates where the pass stands; none when a whole pass has met no more of them';
COMMENT ON COLUMN oneroof.governance_source_removed.found IS 'how many this pass has met';

-- The three of doc 39 §39.2; a fourth needs no code.
INSERT INTO oneroof.governance_source
  (source_name, relation, source_kind, timestamp_column, key_columns, address_column, class_column, ref_column, grain_column,
   group_columns, fact_columns, own_column, own_prefix, system_column, actor_column, births, trusted_at)
VALUES
  ('birth_registry', 'host.birth_registry', 'inventory', 'born_at', '{id}', 'canonical_address', 'collection_name',
   'entity_code', 'governance_role', '{collection_name,status}',
   '{species_code,governance_role,status,certified,actor_ref,source_system}', NULL, NULL, 'source_system', 'actor_ref', true, now()),
  ('registry_changelog', 'host.registry_changelog', 'changelog', 'timestamp', '{id}', NULL, 'entity_type',
   'entity_code', NULL, '{entity_type}', '{action,source_kind,migration_state}', 'entity_type', 'oneroof.', 'source_system', 'actor_ref', false, now()),
  ('event_outbox', 'host.event_outbox', 'changelog', 'occurred_at', '{id}', NULL, 'event_subject_table',
   'event_subject_ref', NULL, '{event_domain}', '{event_type}', 'source_system', 'oneroof', 'source_system', 'actor_ref', false, now());

-- Snapshots of sources (doc 31 §5), each a row of the host's evolution_snapshots; a candidate says which one was the latest when it was
-- written or judged.
CREATE TABLE oneroof.governance_snapshot (
  snapshot_ref bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  source_name  text NOT NULL,
  scope        text NOT NULL,
  taken_at     timestamptz NOT NULL,
  digest       text NOT NULL,
  snapshot_id  bigint NOT NULL
);
COMMENT ON TABLE oneroof.governance_snapshot IS 'counts, bounds and fingerprints of the groups of a source at one time';
COMMENT ON COLUMN oneroof.governance_snapshot.snapshot_id IS 'the row of evolution_snapshots that holds it';
CREATE INDEX governance_snapshot_latest ON oneroof.governance_snapshot (source_name, snapshot_ref);

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
  ('governance_exception', 'oneroof.governance_exception', 'register', 'requested_at', '{exception_id}', 'subject', 'subject', 'ratified_by', now());
