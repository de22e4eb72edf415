-- tick --
SELECT worker_name, instances FROM oneroof.gov_instance_tick(%(instance)s::text, %(workers)s::text[], make_interval(secs => %(ttl)s::float8))

-- leave --
SELECT oneroof.gov_instance_leave(%(instance)s::text)

-- free --
-- Leases of ours that nobody holds, or whose holder has not ticked for the whole TTL. Nearly none has not ticked for the shortest TTL, so
-- that of nearly none it is asked whose it is.
WITH old AS MATERIALIZED (
  SELECT h.executor_name, h.lease_owner, h.last_tick_at FROM host.queue_heartbeat AS h
  WHERE h.lease_owner IS NULL OR h.lease_owner = ''
     OR h.last_tick_at < (SELECT oneroof.gov_now() - min(p.lease_ttl) FROM oneroof.governance_worker_policy AS p)
)
SELECT o.executor_name
FROM old AS o
JOIN oneroof.governance_worker_policy AS p ON p.worker_name = split_part(o.executor_name, ':', 1) AND p.worker_name = ANY (%(workers)s::text[])
WHERE o.lease_owner IS NULL OR o.lease_owner = '' OR o.last_tick_at < (SELECT oneroof.gov_now()) - p.lease_ttl
