-- tick --
SELECT worker_name, instances FROM oneroof.gov_instance_tick(%(instance)s::text, %(workers)s::text[], make_interval(secs => %(ttl)s::float8))

-- leave --
SELECT oneroof.gov_instance_leave(%(instance)s::text)

-- free --
-- Leases of ours that nobody holds, or whose holder has not ticked for the whole TTL.
SELECT h.executor_name
FROM host.queue_heartbeat AS h
JOIN oneroof.governance_worker_policy AS p ON p.worker_name = split_part(h.executor_name, ':', 1) AND p.worker_name = ANY (%(workers)s::text[])
WHERE h.lease_owner IS NULL OR h.lease_owner = '' OR h.last_tick_at < (SELECT oneroof.gov_now()) - p.lease_ttl
