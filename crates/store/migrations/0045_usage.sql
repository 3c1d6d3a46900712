-- Verifications by day (UTC) and API key, and by day and domain. Written like `usage_day`, by the transaction that charges.

CREATE TABLE usage_part_day (
    org_no BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('key', 'domain')),
    -- Days since 1970-01-01.
    day BIGINT NOT NULL,
    -- A key's id, '' for what no key caused; or a domain, of which a day has few: the others are only in the sums of `usage_day`.
    part TEXT NOT NULL,
    verified BIGINT NOT NULL CHECK (verified >= 0),
    charged BIGINT NOT NULL CHECK (charged >= 0),
    PRIMARY KEY (org_no, kind, day, part)
) {clustered};
