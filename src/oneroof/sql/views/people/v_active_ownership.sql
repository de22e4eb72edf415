-- The ownership that holds now: begun, not ended, and of an owner that is still there.
CREATE VIEW oneroof.v_active_ownership AS
SELECT o.level, o.subject, o.responsibility, o.owner_ref
FROM oneroof.governance_object_ownership AS o
WHERE o.valid_from <= (SELECT oneroof.gov_now())
  AND (o.valid_to IS NULL OR o.valid_to > (SELECT oneroof.gov_now()))
  AND (EXISTS (SELECT FROM oneroof.governance_person AS p WHERE p.person_code = o.owner_ref AND p.removed_at IS NULL)
       OR EXISTS (SELECT FROM oneroof.governance_office AS f WHERE f.office_code = o.owner_ref));
