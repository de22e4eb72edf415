-- The id of an event follows from what it says of whom: its source, the object's key there, which change of that object it is, and
-- the type. Neither a replay nor a restored database makes another of it. A UUID of version 8, from a sha256; what is hashed has
-- its lengths before it, so that no two events read the same.
CREATE OR REPLACE FUNCTION oneroof.gov_event_id(p_source text, p_key text, p_number bigint, p_type text) RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN encode(set_byte(set_byte(substr(sha256(convert_to(
  length(p_source) || ':' || p_source || length(p_key) || ':' || p_key || p_number || ':' || p_type, 'UTF8')), 1, 16), 6, 128), 8, 128), 'hex')::uuid;
