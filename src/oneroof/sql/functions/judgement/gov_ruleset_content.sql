-- What the working copy would be as a ruleset: the enabled rules, and of the host the enabled detectors and the axes (doc 31 §5), in an
-- order of their own, whatever the order of the rows and the settings of the session.
CREATE OR REPLACE FUNCTION oneroof.gov_ruleset_content() RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET TimeZone = 'UTC'
SET IntervalStyle = 'postgres'
SET extra_float_digits = 1
SET bytea_output = 'hex'
AS $$
DECLARE
  rules CONSTANT jsonb := coalesce(
    (SELECT jsonb_agg(to_jsonb(r) - 'enabled' ORDER BY r.rule_code COLLATE "C") FROM oneroof.governance_rule AS r WHERE r.enabled), '[]');
  detectors jsonb := '[]';
  axes jsonb := '[]';
BEGIN
  IF to_regclass('host.measurement_registry') IS NOT NULL THEN
    -- When a row was written says nothing about what it detects.
    SELECT coalesce(jsonb_agg(d.detector ORDER BY d.detector::text COLLATE "C"), '[]') INTO detectors
    FROM (SELECT to_jsonb(m) - 'created_at' - 'updated_at' AS detector FROM host.measurement_registry AS m WHERE m.enabled) AS d;
  END IF;
  IF to_regclass('host.pivot_definitions') IS NOT NULL THEN
    SELECT coalesce(jsonb_agg(a.axis ORDER BY a.axis::text COLLATE "C"), '[]') INTO axes
    FROM (SELECT to_jsonb(p) - 'created_at' - 'updated_at' AS axis FROM host.pivot_definitions AS p) AS a;
  END IF;
  RETURN jsonb_build_object('rules', rules, 'detectors', detectors, 'axes', axes);
END
$$;
