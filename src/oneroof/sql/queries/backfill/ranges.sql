-- make --
INSERT INTO oneroof.gov_worker_cursor
  (worker_name, source_name, phase, window_horizon, window_at, cluster_identity, metadata)
SELECT worker_name, %(source)s, phase, window_horizon, %(at)s, cluster_identity, jsonb_build_object('range_of', source_name)
FROM oneroof.gov_worker_cursor WHERE worker_name = %(worker)s AND source_name = %(parent)s

-- made --
UPDATE oneroof.gov_worker_cursor SET metadata = metadata || %(ranges)s WHERE worker_name = %(worker)s AND source_name = %(source)s

-- names --
-- While the sweep is under way, and afterwards as long as something of a range waits to be tried again.
SELECT r.source_name FROM oneroof.gov_worker_cursor AS c
JOIN oneroof.gov_worker_cursor AS r ON r.worker_name = c.worker_name AND r.metadata ->> 'range_of' = c.source_name
WHERE c.worker_name = %(worker)s AND c.source_name = %(source)s
  AND (c.window_horizon IS NOT NULL
       OR EXISTS (SELECT FROM oneroof.governance_retry AS i
                  WHERE i.worker_name = r.worker_name AND i.source_name = r.source_name AND i.state = 'waiting'))
ORDER BY r.source_name

-- all_names --
-- The same of every sweep of a worker.
SELECT c.source_name, r.source_name FROM oneroof.gov_worker_cursor AS r
JOIN oneroof.gov_worker_cursor AS c ON c.worker_name = r.worker_name AND c.source_name = r.metadata ->> 'range_of'
WHERE r.worker_name = %(worker)s AND r.metadata ? 'range_of'
  AND (c.window_horizon IS NOT NULL
       OR EXISTS (SELECT FROM oneroof.governance_retry AS i
                  WHERE i.worker_name = r.worker_name AND i.source_name = r.source_name AND i.state = 'waiting'))
ORDER BY r.source_name

-- are_swept --
SELECT bool_and(frontier IS NOT NULL) FROM oneroof.gov_worker_cursor
WHERE worker_name = %(worker)s AND metadata ->> 'range_of' = %(source)s
