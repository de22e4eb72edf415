-- The ledger of what was applied here.

CREATE TABLE oneroof.governance_migration (
  number     bigint PRIMARY KEY,
  name       text NOT NULL,
  sha256     text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  applied_by name NOT NULL DEFAULT session_user
);
COMMENT ON TABLE oneroof.governance_migration IS 'which migrations were applied, with the hash of each file as it was then';

CREATE TABLE oneroof.governance_schema (
  only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  version        text NOT NULL,
  content_sha256 text NOT NULL,
  host_schema    text NOT NULL,
  applied_at     timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE oneroof.governance_schema IS 'the hash of the functions, views and grants that were last applied whole, and the schema of the host''s tables that they name';
