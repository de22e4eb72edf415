-- The watermark and the frontier of a cursor never go down (doc 39 §39.8); only the replay command says otherwise, aloud.
CREATE OR REPLACE FUNCTION oneroof.gov_cursor_guard() RETURNS trigger
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT (current_setting('oneroof.replay', true) IS NOT DISTINCT FROM 'on'
          AND pg_has_role(current_user, 'oneroof_owner', 'MEMBER'))
     AND (NEW.last_watermark_ts < OLD.last_watermark_ts
          OR (NEW.last_watermark_ts IS NULL AND OLD.last_watermark_ts IS NOT NULL)
          OR (NEW.cluster_identity IS NOT DISTINCT FROM OLD.cluster_identity
              AND (NEW.frontier < OLD.frontier OR (NEW.frontier IS NULL AND OLD.frontier IS NOT NULL)))
          OR NEW.events_seen < OLD.events_seen OR NEW.dead_lettered < OLD.dead_lettered OR NEW.coalesced < OLD.coalesced)
  THEN
    RAISE EXCEPTION 'the cursor of % in % would go backwards', OLD.worker_name, OLD.source_name
      USING ERRCODE = 'GV410', HINT = 'only a replay goes back';
  END IF;
  NEW.updated_at := oneroof.gov_now();
  RETURN NEW;
END
$$;
