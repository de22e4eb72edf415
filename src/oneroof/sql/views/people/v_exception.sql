-- Every exception with its state: ratified counts, everything else does not. One whose request was rejected or is void
-- will never be ratified, and is as good as revoked; one that has not begun is not ratified yet.
CREATE VIEW oneroof.v_exception AS
SELECT
  e.exception_id, e.level, e.subject, e.reason, e.valid_from, e.valid_to, e.requested_by, e.requested_at, e.request_id,
  e.ratified_by, e.ratified_at, e.revoked_by, e.revoked_at,
  CASE
    WHEN e.revoked_at IS NOT NULL OR r.state IN ('rejected', 'void') THEN 'revoked'
    WHEN e.valid_to <= (SELECT oneroof.gov_now()) THEN 'expired'
    WHEN e.ratified_at IS NULL OR e.valid_from > (SELECT oneroof.gov_now()) THEN 'unratified'
    ELSE 'ratified'
  END AS state
FROM oneroof.governance_exception AS e
LEFT JOIN oneroof.governance_request AS r ON r.request_id = e.request_id;
