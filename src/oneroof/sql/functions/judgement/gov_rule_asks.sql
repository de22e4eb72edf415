-- Whether a rule of this scope is asked of these facts: one without a scope is asked of all, whatever they are.
CREATE OR REPLACE FUNCTION oneroof.gov_rule_asks(p_facts jsonb, p_scope jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_scope = '{}'::jsonb OR p_facts @> p_scope;
