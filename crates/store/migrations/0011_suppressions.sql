-- Addresses that organizations have had trouble with. An address stands here only as its keyed tag: who has the database
-- without the pepper learns none.

CREATE TABLE suppression (
    org_no BIGINT NOT NULL,
    list TEXT NOT NULL CHECK (list IN ('spam', 'complained', 'bounced')),
    -- HMAC-SHA-256 under the pepper of organization and normalized address, its first 16 bytes.
    tag {bytes} NOT NULL,
    added_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, list, tag)
) {clustered};

-- How many addresses each list has. An organization without rows has no lists, and its batches look nothing up.
CREATE TABLE suppression_count (
    org_no BIGINT NOT NULL,
    list TEXT NOT NULL,
    listed BIGINT NOT NULL CHECK (listed >= 0),
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, list)
) {clustered};
