-- Every gate, whether it is open, and why it is not.
CREATE VIEW oneroof.v_gate_state AS
SELECT
  g.gate_key,
  g.description,
  c.says_true AND o.request_id IS NOT NULL AND c.versions = ARRAY[o.config_version::text] AS is_open,
  CASE
    WHEN o.request_id IS NULL AND c.says_true THEN 'dot_config says true, but it is not approved'
    WHEN o.request_id IS NULL THEN 'closed'
    WHEN c.versions = '{}' THEN 'its dot_config row is gone'
    WHEN NOT c.says_true THEN 'dot_config does not say true'
    WHEN c.versions <> ARRAY[o.config_version::text] THEN 'dot_config was rewritten since it was opened'
    ELSE 'open'
  END AS state,
  o.request_id,
  r.requester AS requested_by,
  r.decider AS approved_by,
  o.opened_at
FROM oneroof.governance_gate AS g
CROSS JOIN LATERAL (
  SELECT coalesce(bool_and(d.value IS NOT DISTINCT FROM 'true'), false) AS says_true,
         coalesce(array_agg(d.xmin::text), '{}') AS versions
  FROM host.dot_config AS d WHERE d.key = g.gate_key
) AS c
LEFT JOIN oneroof.governance_gate_opening AS o ON o.gate_key = g.gate_key AND o.closed_at IS NULL
LEFT JOIN oneroof.governance_request AS r ON r.request_id = o.request_id;
