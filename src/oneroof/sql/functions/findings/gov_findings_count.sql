-- Count how many objects of a class have which finding, of the classes in which anything moved since they were last counted. Their
-- members alone are read, by the index of their class; where that would be most of all, everything is, once. Of a source with more than
-- p_most objects some classes at a time, which have about as many together or are a single one. Answers how many populations changed, and
-- how many classes are left.
CREATE OR REPLACE FUNCTION oneroof.gov_findings_count(p_source text, p_most bigint) RETURNS TABLE (changed bigint, remaining bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  v_horizon CONSTANT xid8 := pg_snapshot_xmin(pg_current_snapshot());
  v_classes text[];
  v_all bigint;
  v_some bigint;
  v_hashes bigint[];
  v_members bigint[];
  v_firsts tid[];
  v_marks integer[];
BEGIN
  -- Whatever was written by a transaction that was not over when it was last counted: facts, books, or what is known of one object and
  -- makes findings that its facts do not. An xid that is yet to come is of another cluster.
  SELECT array_agg(c.class) INTO v_classes
  FROM oneroof.governance_class AS c
  CROSS JOIN LATERAL (SELECT age(c.counted_xid::xid) AS past) AS d
  LEFT JOIN (
    SELECT f.class, min(age(o.xmin)) AS age
    FROM oneroof.governance_object AS o
    JOIN oneroof.governance_candidate_state AS k ON k.candidate_key = o.candidate_key AND k.source_name = p_source
    JOIN oneroof.governance_fact_set AS f ON f.source_name = p_source AND f.facts_hash = k.facts_hash
    GROUP BY f.class
  ) AS own ON own.class = c.class
  WHERE c.source_name = p_source AND (c.counted_xid IS NULL OR d.past < 0 OR own.age <= d.past OR EXISTS (
    SELECT FROM oneroof.governance_fact_set AS f
    WHERE f.source_name = p_source AND f.class = c.class
      AND (age(f.xmin) <= d.past OR EXISTS (
        SELECT FROM oneroof.governance_ledger AS l
        WHERE l.source_name = p_source AND l.group_key = f.group_key AND age(l.xmin) <= d.past))));
  changed := 0;
  remaining := 0;
  IF v_classes IS NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  v_all := (SELECT sum(l.members) FROM oneroof.governance_ledger AS l WHERE l.source_name = p_source);
  IF v_all > p_most THEN
    remaining := cardinality(v_classes);
    SELECT array_agg(n.class) INTO v_classes
    FROM (SELECT m.class, row_number() OVER w AS turn, sum(m.members) OVER w AS members
          FROM (SELECT g.class, coalesce(sum(l.members), 0) AS members
                FROM (SELECT DISTINCT u.class, f.group_key FROM unnest(v_classes) AS u (class)
                      LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = p_source AND f.class = u.class) AS g
                LEFT JOIN (SELECT b.group_key, sum(b.members) AS members FROM oneroof.governance_ledger AS b
                           WHERE b.source_name = p_source GROUP BY 1) AS l ON l.group_key = g.group_key
                GROUP BY 1) AS m
          WINDOW w AS (ORDER BY m.class)) AS n
    WHERE n.turn = 1 OR n.members <= p_most;
    remaining := remaining - cardinality(v_classes);
  END IF;
  v_some := (SELECT sum(l.members) FROM oneroof.governance_ledger AS l WHERE l.source_name = p_source AND l.group_key = ANY (
               ARRAY(SELECT f.group_key FROM oneroof.governance_fact_set AS f WHERE f.source_name = p_source AND f.class = ANY (v_classes))));
  v_marks := CASE WHEN v_all <= p_most AND v_some > 10000 AND v_some > v_all / 10 THEN NULL ELSE ARRAY(
    SELECT DISTINCT f.class_mark FROM oneroof.governance_fact_set AS f WHERE f.source_name = p_source AND f.class = ANY (v_classes)) END;
  -- Where one lies says as well as anything that it is an example.
  IF v_marks IS NULL THEN
    SELECT array_agg(m.facts_hash), array_agg(m.members), array_agg(m.first) INTO v_hashes, v_members, v_firsts
    FROM (SELECT c.facts_hash, count(*) AS members, min(c.ctid) AS first FROM oneroof.governance_candidate_state AS c
          WHERE c.source_name = p_source GROUP BY 1) AS m;
  ELSE
    SELECT array_agg(m.facts_hash), array_agg(m.members), array_agg(m.first) INTO v_hashes, v_members, v_firsts
    FROM (SELECT c.facts_hash, count(*) AS members, min(c.ctid) AS first FROM oneroof.governance_candidate_state AS c
          WHERE c.class_mark = ANY (v_marks) AND c.source_name = p_source GROUP BY 1) AS m;
  END IF;
  WITH known AS MATERIALIZED (
    SELECT c.facts_hash, o.finding_types, o.candidate_key FROM oneroof.governance_object AS o
    JOIN oneroof.governance_candidate_state AS c ON c.candidate_key = o.candidate_key AND c.source_name = p_source
  ), plain AS MATERIALIZED (
    SELECT f.class, f.finding_types, m.members, coalesce(
             (SELECT c.candidate_key FROM oneroof.governance_candidate_state AS c WHERE c.ctid = m.first AND c.facts_hash = m.facts_hash
                AND NOT EXISTS (SELECT FROM oneroof.governance_object AS o WHERE o.candidate_key = c.candidate_key)),
             (SELECT c.candidate_key FROM oneroof.governance_candidate_state AS c
              WHERE c.class_mark = f.class_mark AND c.facts_hash = m.facts_hash AND c.source_name = p_source
                AND NOT EXISTS (SELECT FROM oneroof.governance_object AS o WHERE o.candidate_key = c.candidate_key) LIMIT 1)) AS sample
    FROM (SELECT u.facts_hash, u.first, u.members - coalesce(k.members, 0) AS members
          FROM unnest(v_hashes, v_members, v_firsts) AS u (facts_hash, members, first)
          LEFT JOIN (SELECT n.facts_hash, count(*) AS members FROM known AS n GROUP BY 1) AS k ON k.facts_hash = u.facts_hash) AS m
    JOIN oneroof.governance_fact_set AS f ON f.source_name = p_source AND f.facts_hash = m.facts_hash
    WHERE m.members > 0 AND f.class = ANY (v_classes) AND f.finding_types <> '{}'
    UNION ALL
    SELECT coalesce(f.class, ''), k.finding_types, 1, k.candidate_key
    FROM known AS k
    LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = p_source AND f.facts_hash = k.facts_hash
    WHERE k.finding_types <> '{}' AND coalesce(f.class, '') = ANY (v_classes)
  ), wanted AS MATERIALIZED (
    SELECT p.class, t.issue_type, sum(p.members)::bigint AS population,
           coalesce((array_agg(p.sample ORDER BY p.sample) FILTER (WHERE p.sample IS NOT NULL))[1:5], '{}') AS samples
    FROM plain AS p CROSS JOIN LATERAL unnest(p.finding_types) AS t (issue_type)
    GROUP BY p.class, t.issue_type
  ), over AS (
    UPDATE oneroof.governance_class_finding AS g SET population = 0, samples = '{}', is_told = false
    WHERE g.source_name = p_source AND g.class = ANY (v_classes) AND g.population > 0
      AND NOT EXISTS (SELECT FROM wanted AS w WHERE w.class = g.class AND w.issue_type = g.issue_type)
    RETURNING 1
  ), counted AS (
    INSERT INTO oneroof.governance_class_finding AS g (source_name, class, issue_type, population, samples)
    SELECT p_source, w.class, w.issue_type, w.population, w.samples FROM wanted AS w
    WHERE NOT EXISTS (SELECT FROM oneroof.governance_class_finding AS k
                      WHERE k.source_name = p_source AND k.class = w.class AND k.issue_type = w.issue_type AND k.population = w.population)
    ORDER BY w.class, w.issue_type
    ON CONFLICT (source_name, class, issue_type) DO UPDATE
    SET population = excluded.population, samples = excluded.samples, is_told = false
    RETURNING 1
  )
  SELECT (SELECT count(*) FROM over) + (SELECT count(*) FROM counted) INTO changed;
  UPDATE oneroof.governance_class AS c SET counted_xid = v_horizon WHERE c.source_name = p_source AND c.class = ANY (v_classes);
  RETURN NEXT;
END
$$;
