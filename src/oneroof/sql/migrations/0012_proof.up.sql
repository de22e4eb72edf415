-- The chain of certificates (doc 31 §9): each has the hash of the one before. Nothing here depends on rows of the host.
CREATE TABLE oneroof.governance_certificate (
  sequence        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sha256          text NOT NULL UNIQUE CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  previous_sha256 text UNIQUE REFERENCES oneroof.governance_certificate (sha256),
  proved_at       timestamptz NOT NULL,
  is_balanced     boolean NOT NULL,
  is_complete     boolean NOT NULL,
  is_deep         boolean NOT NULL,
  ruleset_version text,
  signer          text,
  snapshot_id     bigint,
  stored_at       timestamptz NOT NULL,
  stored_by       name NOT NULL
);
COMMENT ON TABLE oneroof.governance_certificate IS 'the certificates that were made here, each chained to the one before it';
COMMENT ON COLUMN oneroof.governance_certificate.signer IS 'the fingerprint of the key that it was signed with, if it was';
COMMENT ON COLUMN oneroof.governance_certificate.snapshot_id IS 'the row of evolution_snapshots that holds the certificate';
