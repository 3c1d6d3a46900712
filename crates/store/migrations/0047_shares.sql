-- Links that show a list's summary to people without an account. A list has at most one; the token itself is not stored.

CREATE TABLE list_share (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    token_hash {bytes} NOT NULL UNIQUE,
    -- Whether the list's name is shown.
    named BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, job_no)
);
