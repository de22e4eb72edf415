-- The schema of our own. One that stands there and is not ours is not taken over: its owner could plant what we would call.
DO $schema$
DECLARE
  owner CONSTANT regrole := (SELECT nspowner FROM pg_catalog.pg_namespace WHERE nspname = 'oneroof');
BEGIN
  IF owner IS NULL THEN
    CREATE SCHEMA oneroof AUTHORIZATION oneroof_owner;
  ELSIF owner <> 'oneroof_owner'::regrole THEN
    RAISE EXCEPTION 'the schema oneroof exists and was not made by oneroof: it belongs to %', owner
      USING ERRCODE = 'GV403', HINT = 'drop or rename it';
  END IF;
END
$schema$;
