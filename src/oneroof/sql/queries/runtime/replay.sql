-- signals --
SELECT pg_stat_get_xact_tuples_inserted('host.event_outbox'::regclass) + pg_stat_get_xact_tuples_inserted('host.event_pending'::regclass)
