-- What came out by mail provider, and what nodes know of their way to mail servers.

-- Verifications by day (UTC) and the provider that the domain's exchangers belong to; '' where they belong to none that we know.
CREATE TABLE usage_provider_day (
    org_no BIGINT NOT NULL,
    -- Days since 1970-01-01.
    day BIGINT NOT NULL,
    provider TEXT NOT NULL,
    verified BIGINT NOT NULL CHECK (verified >= 0),
    unknown BIGINT NOT NULL CHECK (unknown >= 0),
    PRIMARY KEY (org_no, day, provider)
) {clustered};

-- Rows of a job by provider and status.
CREATE TABLE job_provider (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    provider TEXT NOT NULL,
    passed BIGINT NOT NULL CHECK (passed >= 0),
    undeliverable BIGINT NOT NULL CHECK (undeliverable >= 0),
    risky BIGINT NOT NULL CHECK (risky >= 0),
    unknown BIGINT NOT NULL CHECK (unknown >= 0),
    PRIMARY KEY (org_no, job_no, provider)
) {clustered};

-- What a node has seen of its way to mail servers, as JSON of the server's; '' where it asks none.
ALTER TABLE node ADD COLUMN egress TEXT NOT NULL DEFAULT '';
