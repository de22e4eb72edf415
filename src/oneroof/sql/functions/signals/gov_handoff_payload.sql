-- What a signal of the handoff says (doc 41 §41.5), as jsonb writes it: the keys in its order, and none for what is not known. Nothing
-- is escaped: the parts that are text are given as they stand in JSON, without their quotes.
CREATE OR REPLACE FUNCTION oneroof.gov_handoff_payload(
  p_source text, p_changes bigint, p_actor text, p_group text, p_kind text, p_class text, p_occurred timestamptz, p_number bigint, p_system text
) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN '{"source": "' || p_source || '"' || coalesce(', "changes": ' || p_changes, '') || coalesce(', "actor_ref": "' || p_actor || '"', '')
  || coalesce(', "group_key": "' || p_group || '"', '') || ', "change_kind": "' || p_kind || '"'
  || coalesce(', "object_type": "' || p_class || '"', '') || coalesce(', "occurred_at": ' || to_json(p_occurred)::text, '')
  || ', "change_number": ' || p_number || coalesce(', "source_system": "' || p_system || '"', '')
  || coalesce(', "collection_name": "' || p_class || '"', '') || '}';
