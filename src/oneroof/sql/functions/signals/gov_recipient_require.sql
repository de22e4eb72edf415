-- Refuse a name that can have no inbox: a recipient is an office, a person, or a name that the host has subscribed to something.
CREATE OR REPLACE FUNCTION oneroof.gov_recipient_require(p_recipient text) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT (EXISTS (SELECT FROM oneroof.governance_office AS f WHERE f.office_code = p_recipient)
          OR EXISTS (SELECT FROM oneroof.governance_person AS p WHERE p.person_code = p_recipient)
          OR EXISTS (SELECT FROM host.event_subscription AS s WHERE s.recipient_ref = p_recipient))
     OR p_recipient IS NULL THEN
    PERFORM oneroof.gov_refuse(format('there is no recipient %L', p_recipient)::text,
                              'an office, as GOV-SIV, or a person of oneroof person list'::text);
  END IF;
END
$$;
