-- Whether a rule is asked of these facts and says yes; of a field that is missing it says null, which counts as no. It has no
-- settings of its own, so that it becomes a part of the statement that asks it.
CREATE OR REPLACE FUNCTION oneroof.gov_rule_matches(p_facts jsonb, p_scope jsonb, p_predicate jsonpath) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN oneroof.gov_rule_asks(p_facts, p_scope) AND jsonb_path_match(p_facts, p_predicate, '{}'::jsonb, true);
