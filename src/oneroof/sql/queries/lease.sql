-- claim --
SELECT public.gov_lease_claim(%(executor)s::text, %(owner)s::text, make_interval(secs => %(ttl)s::float8))

-- holder --
SELECT lease_owner, extract(epoch FROM public.gov_now() - last_tick_at)::float8
FROM public.queue_heartbeat WHERE executor_name = %(executor)s::text

-- hold --
SELECT public.gov_lease_hold({executor}, {owner}, {status}, {fresh}::interval)

-- release --
SELECT public.gov_lease_release(%(executor)s::text, %(owner)s::text)
