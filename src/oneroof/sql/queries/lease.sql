-- claim --
SELECT public.gov_lease_claim(%(executor)s, %(owner)s, make_interval(secs => %(ttl)s))

-- holder --
SELECT lease_owner, extract(epoch FROM public.gov_now() - last_tick_at)::float8
FROM public.queue_heartbeat WHERE executor_name = %(executor)s

-- hold --
SELECT public.gov_lease_hold(%(executor)s, %(owner)s, %(status)s)

-- release --
SELECT public.gov_lease_release(%(executor)s, %(owner)s)
