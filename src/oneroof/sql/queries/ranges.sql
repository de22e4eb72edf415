-- make --
INSERT INTO public.gov_worker_cursor
  (worker_name, source_name, phase, window_horizon, window_at, cluster_identity, metadata)
SELECT worker_name, %(source)s, phase, window_horizon, %(at)s, cluster_identity, jsonb_build_object('range_of', source_name)
FROM public.gov_worker_cursor WHERE worker_name = %(worker)s AND source_name = %(parent)s

-- made --
UPDATE public.gov_worker_cursor SET metadata = metadata || %(ranges)s WHERE worker_name = %(worker)s AND source_name = %(source)s

-- names --
SELECT r.source_name FROM public.gov_worker_cursor AS c
JOIN public.gov_worker_cursor AS r ON r.worker_name = c.worker_name AND r.metadata ->> 'range_of' = c.source_name
WHERE c.worker_name = %(worker)s AND c.source_name = %(source)s AND c.window_horizon IS NOT NULL AND c.metadata ? 'ranges'
ORDER BY r.source_name

-- are_swept --
SELECT bool_and(frontier IS NOT NULL) FROM public.gov_worker_cursor
WHERE worker_name = %(worker)s AND metadata ->> 'range_of' = %(source)s
