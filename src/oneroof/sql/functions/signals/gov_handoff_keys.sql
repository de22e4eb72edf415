-- The keys that gov_handoff_payload can make, all of which a type of the handoff must have.
CREATE OR REPLACE FUNCTION oneroof.gov_handoff_keys() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{object_type,collection_name,group_key,change_kind,occurred_at,source,source_system,actor_ref,change_number,changes}'::text[];
