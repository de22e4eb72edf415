-- A predicate from its text, or one sentence why not. It must be a yes-or-no question that no facts can make fail: a variable
-- or a conversion to a time would be an error that silence does not suppress, and facts have no clock anyway.
CREATE OR REPLACE FUNCTION oneroof.gov_predicate_check(p_text text) RETURNS jsonpath
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  -- Nothing in it is null, so that a null answer can only be a comparison of unlike things, which is false.
  example CONSTANT jsonb := jsonb_set(oneroof.gov_facts_example(), '{collection,coverage_exemption_reason}', '"x"')
    || '{"decided": {"verdict": "undecided", "input_state": "ready", "undecided_reason": "x"}}';
  path jsonpath;
  bare text;
  answer jsonb;
BEGIN
  IF length(p_text) > 4000 THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'the predicate is longer than 4000 characters';
  END IF;
  BEGIN
    path := p_text::jsonpath;
  EXCEPTION WHEN syntax_error OR data_exception THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = format('the predicate does not parse: %s', SQLERRM);
  END;
  bare := regexp_replace(path::text, '"(\\.|[^"\\])*"', '""', 'g');
  IF bare ~ '\$""' THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'the predicate names a variable, and there are none';
  ELSIF bare ~ '\.(datetime|date|time|time_tz|timestamp|timestamp_tz)\(' THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'the predicate reads a time; ages are facts, since jsonpath has no clock';
  END IF;
  answer := jsonb_path_query_array(example, path, '{}'::jsonb, true);
  IF jsonb_array_length(answer) <> 1 OR jsonb_typeof(answer -> 0) NOT IN ('boolean', 'null') THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = format('the predicate is not a yes-or-no question: of ordinary facts it answers %s',
      CASE jsonb_array_length(answer) WHEN 0 THEN 'nothing' WHEN 1 THEN (answer -> 0)::text ELSE answer::text END);
  END IF;
  RETURN path;
END
$$;
