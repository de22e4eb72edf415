-- Make these rules the working copy, whole or not at all; what is wrong with a rule is one sentence that names it. The table's
-- own types and CHECKs decide what is a rule. Answers whether that changed anything.
CREATE OR REPLACE FUNCTION oneroof.gov_rules_import(p_rules jsonb) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET IntervalStyle = 'postgres'
AS $$
DECLARE
  before jsonb;
  after jsonb;
  rule jsonb;
  code text;
  wrong text;
  made oneroof.governance_rule;
BEGIN
  IF jsonb_typeof(p_rules) IS DISTINCT FROM 'array' THEN
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'rules are an array of objects';
  END IF;
  LOCK TABLE oneroof.governance_rule IN SHARE ROW EXCLUSIVE MODE;
  before := (SELECT jsonb_object_agg(r.rule_code, to_jsonb(r)) FROM oneroof.governance_rule AS r);
  DELETE FROM oneroof.governance_rule;
  FOR rule IN SELECT e.value FROM jsonb_array_elements(p_rules) AS e LOOP
    code := coalesce(rule ->> 'rule_code', '(without a rule_code)');
    wrong := NULL;
    BEGIN
      made := NULL;
      wrong := (SELECT min(k) FROM jsonb_object_keys(rule) AS k 
                WHERE NOT to_jsonb(jsonb_populate_record(NULL::oneroof.governance_rule, '{}')) ? k);
      IF wrong IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = format('a rule has no %s', wrong);
      END IF;
      IF rule ->> 'predicate' IS NOT NULL THEN
        rule := jsonb_set(rule, '{predicate}', to_jsonb(oneroof.gov_predicate_check((rule ->> 'predicate')::text)));
      END IF;
      made := jsonb_populate_record(NULL::oneroof.governance_rule, '{"scope": {}, "enabled": true}'::jsonb || rule);
      INSERT INTO oneroof.governance_rule SELECT (made).*;
    EXCEPTION
      WHEN data_exception OR syntax_error THEN
        wrong := SQLERRM;
      WHEN not_null_violation THEN
        GET STACKED DIAGNOSTICS wrong = COLUMN_NAME;
        wrong := wrong || ' is missing';
      WHEN foreign_key_violation THEN
        wrong := format('there is no finding type %L', made.finding_type);
      WHEN unique_violation THEN
        wrong := (SELECT CASE WHEN other.rule_code = made.rule_code THEN 'there are two rules of this code'
                              ELSE format('priority %s is also that of %s, and two enabled rules of kind %s cannot share one', made.priority,
                                          other.rule_code, made.rule_kind) END
                  FROM oneroof.governance_rule AS other
                  WHERE other.rule_code = made.rule_code OR (other.enabled AND other.rule_kind = made.rule_kind AND other.priority = made.priority)
                  ORDER BY other.rule_code <> made.rule_code LIMIT 1);
      WHEN check_violation THEN
        GET STACKED DIAGNOSTICS wrong = CONSTRAINT_NAME;
        wrong := (SELECT format('this must hold: %s', pg_get_expr(c.conbin, c.conrelid)) FROM pg_catalog.pg_constraint AS c
                  WHERE c.conrelid = 'oneroof.governance_rule'::regclass AND c.conname = wrong);
    END;
    IF wrong IS NOT NULL THEN
      RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = format('rule %s: %s', code, wrong);
    END IF;
  END LOOP;
  after := (SELECT jsonb_object_agg(r.rule_code, to_jsonb(r)) FROM oneroof.governance_rule AS r);
  IF after IS NOT DISTINCT FROM before THEN
    RETURN false;
  END IF;
  -- The installation itself writes nothing into the host's channels.
  IF EXISTS (SELECT FROM oneroof.governance_ruleset) THEN
    PERFORM oneroof.gov_audit_note('rules'::text, oneroof.gov_ruleset_version(),
                             format('import %s rules by %I', jsonb_array_length(p_rules), session_user)::text);
  END IF;
  RETURN true;
END
$$;
