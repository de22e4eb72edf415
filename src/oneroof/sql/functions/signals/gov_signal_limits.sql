-- How much a signal may carry (doc 41 §41.5): a value and the name of a table in characters, the rest in bytes.
CREATE OR REPLACE FUNCTION oneroof.gov_signal_limits(OUT of_value integer, OUT of_table integer, OUT of_ref integer, OUT of_address integer, OUT of_payload integer)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT 256, 63, 2000, 4000, 2048 $$;
