-- since --
-- Where the newest rows begin, if nothing better is known: a little behind the latest row.
SELECT (coalesce(c.last_watermark_ts, c.frontier_at) - %(overlap)s::interval)::timestamp::text
FROM oneroof.gov_worker_cursor AS c WHERE c.worker_name = %(worker)s AND c.source_name = %(source)s
