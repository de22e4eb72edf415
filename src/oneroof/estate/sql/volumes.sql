-- One row with every volume. `bounds` are the lower bounds of the 68 generated collections in the range
-- 0 … 1000002, each with a share like 1 / (rank + 1): width_bucket() turns a number of the range into a rank.
INSERT INTO pg_temp.estate_plan (rows, seed, shift, certified, changes, events, issues, gaps, bounds)
SELECT %(rows)s, %(seed)s, mod(mod(%(seed)s::bigint, 2147483629) + 2147483629, 2147483629),
       %(certified)s, %(changes)s, %(events)s, %(issues)s, %(gaps)s, array_agg(bound ORDER BY birth_rank)
FROM (SELECT birth_rank,
             floor((sum(weight) OVER (ORDER BY birth_rank) - weight) * 1000003 / sum(weight) OVER ())::bigint AS bound
      FROM (SELECT birth_rank, (1000000000 / (birth_rank + 1))::bigint AS weight
            FROM pg_temp.estate_collection WHERE birth_rank <= 68) AS weighed
     ) AS bounded
