-- What of a row of event_outbox must stay as gov_emit wrote it, beside its type and our marks. Each part has its length before it,
-- or says that there is none, so that no two rows read the same. The payload is given as jsonb writes it.
CREATE OR REPLACE FUNCTION oneroof.gov_event_digest(p_table text, p_ref text, p_address text, p_payload text, p_occurred timestamptz)
RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN sha256(convert_to(
  coalesce(length(p_table) || ':' || p_table, '-') || coalesce(length(p_ref) || ':' || p_ref, '-')
  || coalesce(length(p_address) || ':' || p_address, '-') || coalesce(encode(timestamptz_send(p_occurred), 'hex'), '-') || ':'
  || coalesce(p_payload, '-'), 'UTF8'));
