-- When a verdict that is given now is over: when the one before would have been, as long as that holds.
CREATE OR REPLACE FUNCTION oneroof.gov_expiry_keep(p_stale_after timestamptz, p_scan_time timestamptz, p_length interval) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN oneroof.gov_expiry_holds(p_stale_after, p_scan_time, p_length) THEN p_stale_after ELSE p_scan_time + p_length END;
