-- One at a time writes about a recipient, because the host's tables may lack a unique key. A session that waited must see what the other
-- did, which a snapshot from before does not.
CREATE OR REPLACE FUNCTION oneroof.gov_inbox_lock(p_recipient text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    PERFORM oneroof.gov_refuse('an inbox is written in a transaction that is READ COMMITTED'::text, NULL::text);
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('oneroof.inbox:' || p_recipient, 0));
END
$$;
