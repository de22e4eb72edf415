-- candidate --
-- One object with whatever leads to its verdict; the rule that decided is the object's, where something of its own is known.
SELECT c.candidate_key, c.source_name, c.source_key, c.group_key, c.grain, c.verdict, c.undecided_reason,
       c.input_quality_state AS input_state, CASE WHEN o.candidate_key IS NULL THEN f.rule_code ELSE o.rule_code END AS rule_code,
       CASE WHEN o.candidate_key IS NULL THEN f.input_rule ELSE o.input_rule END AS input_rule,
       c.ruleset_version, c.source_snapshot_ref AS snapshot_ref, c.change_number, c.scan_time, c.stale_after, c.dirty, c.dirty_reason, c.dirtied_at, c.created_at,
       CASE WHEN f.facts_hash IS NOT NULL
            THEN oneroof.gov_facts_of(c.source_name, f.class, f.grain, f.row_facts, k.facts, o.facts) END AS facts,
       CASE WHEN o.candidate_key IS NULL THEN f.finding_types ELSE o.finding_types END AS finding_types, f.class AS cls
FROM oneroof.governance_candidate_state AS c
LEFT JOIN oneroof.governance_fact_set AS f ON f.source_name = c.source_name AND f.facts_hash = c.facts_hash
LEFT JOIN oneroof.governance_class AS k ON k.source_name = f.source_name AND k.class = f.class
LEFT JOIN oneroof.governance_object AS o ON o.candidate_key = c.candidate_key
WHERE c.candidate_key = %(key)s

-- rules --
SELECT r.rule_code, r.description FROM oneroof.governance_ruleset_rule AS r
WHERE r.ruleset_version = oneroof.gov_ruleset_active() AND r.rule_code = ANY (%(codes)s)

-- history --
SELECT h.verdict, h.undecided_reason, h.ruleset_version, h.change_number, h.scan_time, h.ended_at, h.ended_because
FROM oneroof.governance_verdict_history AS h WHERE h.candidate_key = %(key)s ORDER BY h.history_id DESC LIMIT 50

-- findings --
SELECT f.issue_type, f.severity, f.owner_ref, f.title, f.first_seen_at
FROM oneroof.v_finding AS f
WHERE f.is_open AND f.issue_type = ANY (%(types)s) AND f.subject = %(subject)s ORDER BY f.issue_type

-- represented --
SELECT d.source_key FROM oneroof.governance_duplicate AS d
WHERE d.source_name = %(source)s AND d.candidate_key = %(key)s ORDER BY d.source_key LIMIT 50

-- alike --
-- What may have been meant: keys that begin alike.
SELECT c.candidate_key FROM oneroof.governance_candidate_state AS c
WHERE c.candidate_key >= %(key)s ORDER BY c.candidate_key LIMIT 1
