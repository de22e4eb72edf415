-- The people of the estate. Roles are cluster-wide: a build in another database may create the same ones now,
-- and CREATE ROLE then waits for that build's end and finds them there.
DO $$
DECLARE
    login text;
BEGIN
    FOREACH login IN ARRAY ARRAY['requester', 'approver', 'requester_alt', 'viewer'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = login) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE', login);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;
            END;
        END IF;
    END LOOP;
END
$$;
