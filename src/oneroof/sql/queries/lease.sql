-- claim --
SELECT oneroof.gov_lease_claim(%(executor)s::text, %(owner)s::text, make_interval(secs => %(ttl)s::float8))

-- holder --
SELECT lease_owner, extract(epoch FROM oneroof.gov_now() - last_tick_at)::float8
FROM host.queue_heartbeat WHERE executor_name = %(executor)s::text

-- hold --
SELECT oneroof.gov_lease_hold({executor}, {owner}, {status}, {fresh}::interval)

-- release --
SELECT oneroof.gov_lease_release(%(executor)s::text, %(owner)s::text)
