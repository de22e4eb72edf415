-- What of an event was no signal, as a finding for each type: a list of objects with event_type and faults.
CREATE OR REPLACE FUNCTION oneroof.gov_faults_raise(p_faults jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM oneroof.gov_finding_raise(
    'input_invalid_schema'::text, ('gov_emit:' || (b ->> 'event_type'))::text,
    format('an event %s is not a signal: %s', b ->> 'event_type', b -> 'faults' ->> 0)::text, b)
  FROM jsonb_array_elements(p_faults) AS b;
END
$$;
