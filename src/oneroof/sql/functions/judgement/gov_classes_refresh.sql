-- Look at every class again: what changed of one makes the fact sets of its members be judged anew, and no others. Answers how
-- many classes did.
CREATE OR REPLACE FUNCTION oneroof.gov_classes_refresh() RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  v_changed bigint;
BEGIN
  WITH moved AS (
    INSERT INTO oneroof.governance_class AS c (source_name, class, facts, changed_at)
    SELECT f.source_name, f.class, f.facts, oneroof.gov_now() FROM oneroof.gov_class_facts() AS f
    WHERE NOT EXISTS (SELECT FROM oneroof.governance_class AS k
                      WHERE k.source_name = f.source_name AND k.class = f.class AND k.facts = f.facts)
    ORDER BY f.source_name, f.class
    ON CONFLICT (source_name, class) DO UPDATE SET facts = excluded.facts, changed_at = excluded.changed_at
    RETURNING c.source_name, c.class
  ), dirtied AS (
    -- Also what is dirty already: another session may be judging it at this moment by older facts, and has to be waited for.
    UPDATE oneroof.governance_fact_set AS s SET is_dirty = true
    FROM moved AS m WHERE s.source_name = m.source_name AND s.class = m.class
    RETURNING s.source_name, s.facts_hash, s.class_mark
  ), own AS (
    UPDATE oneroof.governance_object AS o SET is_dirty = true
    FROM dirtied AS d
    JOIN oneroof.governance_candidate_state AS c
      ON c.class_mark = d.class_mark AND c.facts_hash = d.facts_hash AND c.source_name = d.source_name
    WHERE o.candidate_key = c.candidate_key
      -- Where nothing is known of any single object there is no need to look for members.
      AND (SELECT EXISTS (SELECT FROM oneroof.governance_object))
  )
  SELECT count(*) INTO v_changed FROM moved;
  RETURN v_changed;
END
$$;
