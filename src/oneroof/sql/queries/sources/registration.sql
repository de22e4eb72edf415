-- resolve --
SELECT pg_catalog.to_regclass(%(table)s::pg_catalog.text)::pg_catalog.oid

-- regclass --
-- A table as the database writes it.
SELECT %(table)s::pg_catalog.text::pg_catalog.regclass::pg_catalog.text

-- listing --
SELECT s.source_name, n.nspname::text, c.relname::text, s.source_kind, s.timestamp_column::text, s.key_columns::text[],
       s.address_column::text, s.class_column::text, s.ref_column::text, s.grain_column::text,
       s.group_columns::text[], s.fact_columns::text[],
       (SELECT jsonb_object_agg(a.attname, format_type(a.atttypid, NULL)) FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
       s.own_column::text, s.own_prefix, s.system_column::text, s.actor_column::text, s.births, s.trusted_at IS NOT NULL,
       -- Whether a btree index gives the rows in the order of (timestamp, key).
       EXISTS (SELECT FROM pg_catalog.pg_index AS i
               JOIN pg_catalog.pg_class AS x ON x.oid = i.indexrelid
               JOIN pg_catalog.pg_am AS method ON method.oid = x.relam
               WHERE i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL AND method.amname = 'btree'
                 AND (SELECT count(DISTINCT o.option) FROM unnest(i.indoption::int[]) WITH ORDINALITY AS o (option, place)
                      WHERE o.place <= cardinality(k.wanted)) = 1
                 AND (SELECT array_agg(a.attname::text ORDER BY e.place)
                      FROM unnest(i.indkey::int[]) WITH ORDINALITY AS e (attnum, place)
                      JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = e.attnum
                      WHERE e.place <= least(i.indnkeyatts, cardinality(k.wanted))) = k.wanted),
       -- Whether the host itself says that the key makes a row unique; an index of a parent says nothing of its children.
       EXISTS (SELECT FROM pg_catalog.pg_index AS i
               WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
                 AND (SELECT array_agg(a.attname::text) FROM unnest(i.indkey::int[]) WITH ORDINALITY AS e (attnum, place)
                      JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = e.attnum
                      WHERE e.place <= i.indnkeyatts) <@ s.key_columns::text[])
       AND (c.relkind = 'p' OR NOT EXISTS (SELECT FROM pg_catalog.pg_inherits AS h WHERE h.inhparent = c.oid))
FROM oneroof.governance_source AS s
CROSS JOIN LATERAL (SELECT array_remove(s.timestamp_column::text || s.key_columns::text[], NULL) AS wanted) AS k
JOIN pg_catalog.pg_class AS c ON c.oid = s.relation
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
ORDER BY s.added_at, s.source_name

-- lost --
-- Sources whose table is not there any more.
SELECT s.source_name FROM oneroof.governance_source AS s
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.oid = s.relation) ORDER BY s.source_name

-- look_up --
SELECT c.oid::int8, n.nspname::text, c.relname::text, c.relkind::text, c.relpersistence::text,
       c.relowner = 'oneroof_owner'::regrole,
       (SELECT jsonb_object_agg(a.attname, format_type(a.atttypid, NULL) ORDER BY a.attnum) FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
       (SELECT coalesce(array_agg(a.attname::text), '{}') FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND NOT a.attnotnull)
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.oid = %(relation)s::oid

-- add --
INSERT INTO oneroof.governance_source
  (source_name, relation, source_kind, timestamp_column, key_columns, ref_column, group_columns, fact_columns, class_column, system_column,
   actor_column, births, trusted_at)
VALUES (%(name)s, %(relation)s::oid::regclass, %(kind)s, %(timestamp)s, %(key)s, %(ref)s, %(group)s, %(facts)s, %(class)s, %(system)s,
        %(actor)s, %(births)s, CASE WHEN %(is_own)s THEN oneroof.gov_now() END)
ON CONFLICT (source_name) DO UPDATE
SET relation = excluded.relation, source_kind = excluded.source_kind, timestamp_column = excluded.timestamp_column,
    key_columns = excluded.key_columns, ref_column = excluded.ref_column, group_columns = excluded.group_columns,
    fact_columns = excluded.fact_columns, class_column = excluded.class_column, system_column = excluded.system_column,
    actor_column = excluded.actor_column, births = excluded.births,
    -- Who vouched for a table has not vouched for another one of its name.
    trusted_at = CASE WHEN governance_source.relation = excluded.relation THEN coalesce(governance_source.trusted_at, excluded.trusted_at) END

-- forget_cursors --
DELETE FROM oneroof.gov_worker_cursor WHERE source_name = %(name)s OR source_name LIKE %(name)s || '#%%'

-- forget_open_rows --
DELETE FROM oneroof.governance_open_row AS o USING oneroof.gov_worker_cursor AS c
WHERE o.cursor_id = c.cursor_id AND (c.source_name = %(name)s OR c.source_name LIKE %(name)s || '#%%')

-- forget_open_spans --
DELETE FROM oneroof.governance_open_span AS o USING oneroof.gov_worker_cursor AS c
WHERE o.cursor_id = c.cursor_id AND (c.source_name = %(name)s OR c.source_name LIKE %(name)s || '#%%')

-- forget_untold --
DELETE FROM oneroof.governance_untold WHERE source_name = %(name)s

-- forget_windows --
DELETE FROM oneroof.governance_handoff WHERE source_name = %(name)s

-- forget_seen --
DELETE FROM oneroof.governance_register_row WHERE source_name = %(name)s

-- remove --
DELETE FROM oneroof.governance_source WHERE source_name = %(name)s

-- let_go --
-- It was removed: from now on its objects are to be retired, unless they are kept or it had none.
INSERT INTO oneroof.governance_source_removed (source_name, removed_at, removed_by, is_kept, retired_at)
VALUES (%(name)s, oneroof.gov_now(), session_user, %(keep)s, CASE WHEN NOT %(with_objects)s THEN oneroof.gov_now() END)
ON CONFLICT (source_name) DO UPDATE
SET removed_at = excluded.removed_at, removed_by = excluded.removed_by, is_kept = excluded.is_kept, at_page = 0, found = 0, retired = 0,
    retired_at = excluded.retired_at

-- take_back --
DELETE FROM oneroof.governance_source_removed WHERE source_name = %(name)s
