-- Sending services that post what became of mail to a URL of their own.

CREATE TABLE outcome_source (
    org_no BIGINT NOT NULL,
    id TEXT NOT NULL,
    test BIGINT NOT NULL CHECK (test IN (0, 1)),
    service TEXT NOT NULL,
    name TEXT NOT NULL,
    -- Keyed hash of the secret in the URL.
    hash {bytes} NOT NULL,
    -- Key with which the service signs, encrypted; NULL where it signs nothing.
    signing_key {bytes},
    created_at BIGINT NOT NULL,
    last_event_at BIGINT,
    PRIMARY KEY (org_no, id)
) {clustered};
-- The URL has no organization.
CREATE UNIQUE INDEX outcome_source_id ON outcome_source (id);
