-- registered --
SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
               WHERE n.nspname = 'oneroof' AND c.relname = 'governance_source'
                 AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'))

-- sources --
SELECT source_name, relation::text, timestamp_column::text, key_columns::text[], source_kind FROM oneroof.governance_source
ORDER BY added_at, source_name

-- source --
-- Judged for the role that will read it, once there is one: what a superuser sees is no measure.
SELECT c.relkind::text, am.amname::text, c.relrowsecurity,
       CASE WHEN w.oid IS NULL
            THEN me.rolsuper OR me.rolbypassrls OR (pg_has_role(c.relowner, 'USAGE') AND NOT c.relforcerowsecurity)
            ELSE w.rolbypassrls END,
       c.relpersistence::text,
       (SELECT count(*) FROM pg_catalog.pg_inherits AS h JOIN pg_catalog.pg_class AS part ON part.oid = h.inhrelid
        WHERE h.inhparent = c.oid AND (part.relkind NOT IN ('r', 'p') OR part.relpersistence = 'u' OR c.relkind = 'r')),
       (SELECT min(i.indexrelid::regclass::text) FROM pg_catalog.pg_index AS i
        JOIN pg_catalog.pg_class AS x ON x.oid = i.indexrelid
        JOIN pg_catalog.pg_am AS method ON method.oid = x.relam
        WHERE i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL AND method.amname = 'btree'
          AND i.indnkeyatts >= cardinality(%(columns)s::text[])
          AND (SELECT count(DISTINCT o.option) FROM unnest(i.indoption::int[]) WITH ORDINALITY AS o (option, place)
               WHERE o.place <= cardinality(%(columns)s::text[])) = 1
          AND (SELECT array_agg(a.attname::text ORDER BY k.ordinality)
               FROM unnest(i.indkey::int[]) WITH ORDINALITY AS k (attnum, ordinality)
               JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.attnum
               WHERE k.ordinality <= cardinality(%(columns)s::text[])) = %(columns)s::text[]),
       EXISTS (SELECT FROM pg_catalog.pg_index AS i
               WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
                 AND (SELECT array_agg(a.attname::text) FROM unnest(i.indkey::int[]) WITH ORDINALITY AS e (attnum, place)
                      JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = e.attnum
                      WHERE e.place <= i.indnkeyatts) <@ %(key)s::text[])
       AND (c.relkind = 'p' OR NOT EXISTS (SELECT FROM pg_catalog.pg_inherits AS h WHERE h.inhparent = c.oid))
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_roles AS me ON me.rolname = current_user
LEFT JOIN pg_catalog.pg_roles AS w ON w.rolname = 'oneroof_worker'
LEFT JOIN pg_catalog.pg_am AS am ON am.oid = c.relam
WHERE c.oid = to_regclass(%(table)s::text)
