-- What of a row of event_outbox must stay as gov_emit wrote it.
CREATE OR REPLACE FUNCTION public.gov_event_digest(p_domain text, p_type text, p_table text, p_ref text, p_address text, p_system text,
                                                   p_classification text, p_payload jsonb, p_occurred timestamptz) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN sha256(convert_to(jsonb_build_array(p_domain, p_type, p_table, p_ref, p_address, p_system, p_classification, p_payload,
                                           extract(epoch FROM p_occurred)::text)::text, 'UTF8'));
