-- The whole number of an xid that was given in this transaction, or in a part of it.
CREATE OR REPLACE FUNCTION oneroof.gov_xid_later(p_xid xid) RETURNS xid8
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT (t.now + mod(p_xid::text::bigint - mod(t.now, 4294967296) + 4294967296, 4294967296))::text::xid8
  FROM (SELECT pg_current_xact_id()::text::bigint AS now) AS t
$$;
