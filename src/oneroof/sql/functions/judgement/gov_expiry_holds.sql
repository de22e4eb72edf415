-- Whether a verdict that was given at some time is over when it should be: never later than its rule says, and earlier by a quarter
-- of that time at the most. So a candidate whose verdict is given anew may keep its time, which is indexed, and its row stays where
-- it is. No settings of its own, so that it becomes a part of the statement that asks it.
CREATE OR REPLACE FUNCTION oneroof.gov_expiry_holds(p_stale_after timestamptz, p_scan_time timestamptz, p_length interval) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN p_length IS NULL THEN p_stale_after IS NULL
            ELSE coalesce(p_stale_after <= p_scan_time + p_length AND p_stale_after > p_scan_time + p_length * 0.75, false) END;
