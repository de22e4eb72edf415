-- What an approval of an exception is bound to: all that it says.
CREATE OR REPLACE FUNCTION oneroof.gov_exception_content(p_exception bigint) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT jsonb_build_object('level', e.level, 'subject', e.subject,
                            'from', to_char(e.valid_from AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
                            'until', to_char(e.valid_to AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
  FROM oneroof.governance_exception AS e WHERE e.exception_id = p_exception
$$;
