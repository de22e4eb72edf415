-- A key that fits an index: itself, or, where it is long, its beginning and a digest. A long one never equals a short one.
CREATE OR REPLACE FUNCTION oneroof.gov_key_mark(p_key text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_key) <= 500 THEN p_key
            ELSE left(p_key, 500) || ':' || encode(sha256(convert_to(left(p_key, 20000000), 'UTF8')), 'hex') END;
