-- claim --
SELECT oneroof.gov_lease_claim(%(executors)s::text[], %(owners)s::text[], make_interval(secs => %(ttl)s::float8))

-- holders --
SELECT executor_name, lease_owner, extract(epoch FROM oneroof.gov_now() - last_tick_at)::float8
FROM host.queue_heartbeat WHERE executor_name = ANY (%(executors)s::text[])

-- hold --
SELECT oneroof.gov_lease_hold({executor}, {owner}, {status}, {fresh}::interval)

-- tick --
SELECT oneroof.gov_lease_tick(%(executors)s::text[], %(owners)s::text[], %(statuses)s::text[])

-- release --
SELECT oneroof.gov_lease_release(%(executors)s::text[], %(owners)s::text[])
