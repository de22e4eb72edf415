-- look --
SELECT oneroof.gov_gate_is_open(%(gate)s::text),
       (SELECT count(DISTINCT l.pid) FROM pg_catalog.pg_locks AS l JOIN pg_catalog.pg_stat_activity AS a USING (pid)
        WHERE NOT l.granted AND l.waitstart < clock_timestamp() - interval '200 milliseconds'
          AND a.datname = current_database()),
       (SELECT max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)) FROM pg_catalog.pg_stat_replication)

-- gate --
SELECT oneroof.gov_gate_is_open(%(gate)s::text)
