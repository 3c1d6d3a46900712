-- Servers that customers have subscribed to what happens.

CREATE TABLE webhook (
    org_no BIGINT NOT NULL,
    id TEXT NOT NULL,
    -- 1: made with a test key; only test keys see it, and it is told of test jobs only.
    test BIGINT NOT NULL CHECK (test IN (0, 1)),
    name TEXT NOT NULL,
    -- Parsed and written again by us: ASCII, at most 2,048 bytes.
    url TEXT NOT NULL,
    -- A JSON list of names of topics.
    events TEXT NOT NULL,
    active BIGINT NOT NULL CHECK (active IN (0, 1)),
    -- What its messages are signed with, encrypted; and the secret before, which signs too until then.
    secret {bytes} NOT NULL,
    previous {bytes},
    previous_until BIGINT,
    created_at BIGINT NOT NULL,
    last_delivery_at BIGINT,
    -- Since it last took a message: when it first did not, and messages that were given up.
    failing_since BIGINT,
    given_up BIGINT NOT NULL DEFAULT 0 CHECK (given_up >= 0),
    PRIMARY KEY (org_no, id)
);
CREATE INDEX webhook_list ON webhook (org_no, test, created_at, id);
CREATE INDEX webhook_active ON webhook (org_no, test, id) WHERE active = 1;

-- The job that a message is about.
ALTER TABLE outbox ADD COLUMN job_id TEXT;
-- A JSON list of indexes of rows of that job: what is sent is made of what stands in them then, and `body` is empty.
ALTER TABLE outbox ADD COLUMN row_list TEXT;

-- Two webhooks may have one URL, and the URL of a webhook may change: of a webhook its id counts.
DROP INDEX outbox_once;
CREATE UNIQUE INDEX outbox_once ON outbox (org_no, event_id, url) WHERE signer = '';
CREATE UNIQUE INDEX outbox_once_signed ON outbox (org_no, event_id, signer) WHERE signer <> '';
CREATE INDEX outbox_of_signer ON outbox (org_no, signer, created_at, id) WHERE signer <> '';
CREATE INDEX outbox_rows_age ON outbox (created_at) WHERE state <> 'waiting' AND row_list IS NOT NULL;
