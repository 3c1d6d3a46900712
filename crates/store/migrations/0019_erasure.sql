-- Addresses that customers have had erased.

-- A wish, and what came of it.
CREATE TABLE erasure (
    org_no BIGINT NOT NULL,
    id TEXT NOT NULL,
    -- 1: wished with a test key; it acts on test jobs only.
    test BIGINT NOT NULL CHECK (test IN (0, 1)),
    addresses BIGINT NOT NULL CHECK (addresses > 0),
    webhook_url {bytes},
    requested_at BIGINT NOT NULL,
    -- When this database heard of it: later than it was wished where a backup was restored meanwhile.
    known_at BIGINT NOT NULL,
    completed_at BIGINT,
    -- JSON: entries that were erased, by table.
    removed TEXT NOT NULL,
    -- The last job that was gone through.
    job_at BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    -- While somebody works on it: until when, and the text by which that one is known.
    leased_until BIGINT,
    run TEXT,
    PRIMARY KEY (org_no, id)
);
CREATE INDEX erasure_list ON erasure (org_no, test, requested_at, id);
CREATE INDEX erasure_open ON erasure (requested_at) WHERE completed_at IS NULL;
CREATE INDEX erasure_known ON erasure (known_at, id);

-- The addresses of an erasure, by keyed hashes.
CREATE TABLE tombstone (
    org_no BIGINT NOT NULL,
    erasure_id TEXT NOT NULL,
    tag {bytes} NOT NULL,
    PRIMARY KEY (org_no, erasure_id, tag)
) {clustered};

-- +1 each time that results of a job were written anew: whoever remembers them reads them again.
ALTER TABLE job ADD COLUMN rewritten BIGINT NOT NULL DEFAULT 0;
-- Whether the kept answer may name an address.
ALTER TABLE idempotency ADD COLUMN names_address BIGINT NOT NULL DEFAULT 1 CHECK (names_address IN (0, 1));
