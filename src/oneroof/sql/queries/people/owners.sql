-- take --
SELECT oneroof.gov_ownership_import(%(rows)s::jsonb, %(replace)s::boolean, %(dry_run)s::boolean)

-- recorded --
SELECT level, subject, responsibility, owner_ref, valid_from, valid_to FROM oneroof.governance_object_ownership
ORDER BY level COLLATE "C", subject COLLATE "C", responsibility COLLATE "C", owner_ref COLLATE "C"

-- offices --
SELECT office_code FROM oneroof.governance_office ORDER BY office_code COLLATE "C"

-- collections --
SELECT source_name, class, responsibility, owners, level, is_conflict FROM oneroof.v_collection_owner
WHERE %(subject)s::text IS NULL OR class = %(subject)s::text
ORDER BY source_name COLLATE "C", class COLLATE "C"

-- object --
SELECT source_name, candidate_key, responsibility, array_agg(owner_ref ORDER BY owner_ref COLLATE "C"), level, is_conflict
FROM oneroof.v_object_effective_owner WHERE candidate_key = %(subject)s::text
GROUP BY source_name, candidate_key, responsibility, level, is_conflict
