-- What attempts to deliver came to.

-- How often a message was tried, over all resends.
ALTER TABLE outbox ADD COLUMN tried BIGINT NOT NULL DEFAULT 0;

-- Attempts before the last one, which stands in the message's own row; so a message that is taken at once has none here.
CREATE TABLE outbox_attempt (
    org_no BIGINT NOT NULL,
    -- The message.
    id TEXT NOT NULL,
    -- Counted from 1, over all resends.
    attempt_no BIGINT NOT NULL,
    at BIGINT NOT NULL,
    url TEXT NOT NULL,
    status BIGINT,
    error TEXT,
    took_ms BIGINT NOT NULL,
    -- The beginning of the answer's body, sealed where there is a master key.
    answer {bytes} NOT NULL,
    PRIMARY KEY (org_no, id, attempt_no)
) {clustered};
