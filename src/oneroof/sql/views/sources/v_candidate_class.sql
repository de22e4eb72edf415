-- The class of every candidate, in the estate its collection: what its source's class column said, as the group key has it;
-- the source itself where it has no such column, as in the candidate key. A class that the group key cannot tell for
-- sure, since some value has a slash of its own, is NULL: such an object inherits from its source and from everywhere.
CREATE VIEW oneroof.v_candidate_class AS
SELECT
  c.candidate_key, c.source_name,
  CASE
    WHEN s.class_column IS NULL THEN s.source_name
    WHEN cardinality(g.parts) = cardinality(s.group_columns) THEN g.parts[array_position(s.group_columns, s.class_column)]
  END AS class
FROM oneroof.governance_candidate_state AS c
LEFT JOIN oneroof.governance_source AS s ON s.source_name = c.source_name
CROSS JOIN LATERAL (SELECT string_to_array(substr(c.group_key, length(c.source_name) + 2), '/') AS parts) AS g;
