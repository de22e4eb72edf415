-- The id of an event follows from what it says of whom: its source, the object's key there, which change of that object it is, and
-- the type. Neither a replay nor a restored database makes another of it. A UUID of version 8, from a sha256.
CREATE OR REPLACE FUNCTION public.gov_event_id(p_source text, p_key text, p_number bigint, p_type text) RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN overlay(overlay(
  encode(substr(sha256(convert_to(jsonb_build_array(p_source, p_key, p_number, p_type)::text, 'UTF8')), 1, 16), 'hex')
  PLACING '8' FROM 13) PLACING '8' FROM 17)::uuid;
