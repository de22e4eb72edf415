-- remembered --
SELECT greatest((SELECT max(o.row_xid) FROM oneroof.governance_open_row AS o WHERE o.cursor_id = %(cursor)s),
                (SELECT max(o.row_xid) FROM oneroof.governance_open_span AS o WHERE o.cursor_id = %(cursor)s), 0)
