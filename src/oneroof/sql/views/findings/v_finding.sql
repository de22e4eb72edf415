-- Our findings as they stand in the host's system_issues. Open is what we opened and neither we nor the host have closed.
CREATE VIEW oneroof.v_finding AS
SELECT
  f.coalesce_key, f.issue_type, substr(f.coalesce_key, length(f.issue_type) + 2) AS subject, i.id AS issue_id,
  f.is_open AND i.id IS NOT NULL AND i.resolved_at IS NULL AND i.status NOT IN ('resolved', 'closed') AS is_open,
  i.status, i.severity, i.owner_ref, i.title, i.details, i.occurrence_count, i.reopen_count,
  i.first_seen_at, f.last_seen_at, i.resolved_at
FROM oneroof.governance_finding AS f
-- Each is looked up: the host has far more issues than we have findings, and reading all of them takes long.
LEFT JOIN LATERAL (
  SELECT s.id, s.status, s.severity, s.owner_ref, s.title, s.details, s.occurrence_count, s.reopen_count, s.first_seen_at, s.resolved_at
  FROM host.system_issues AS s WHERE s.id = f.issue_id AND s.coalesce_key = f.coalesce_key LIMIT 1
) AS i ON true;
