-- What is to be told to customers' servers, and with which secrets it is signed.

-- A message to one URL. It is written in the transaction whose event it tells of, and stays as the log of its delivery.
CREATE TABLE outbox (
    org_no BIGINT NOT NULL,
    id TEXT NOT NULL,
    -- The event; the same event always has the same id, which receivers see as `webhook-id`.
    event_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- Parsed and written again by us: ASCII, at most 2,048 bytes.
    url TEXT NOT NULL,
    body {bytes} NOT NULL,
    -- With whose secret it is signed: '' for the organization's own, else the id of a webhook.
    signer TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'exhausted', 'cancelled')),
    -- Attempts that came to an end.
    attempts BIGINT NOT NULL CHECK (attempts >= 0),
    next_at BIGINT NOT NULL,
    -- When the first attempt began.
    first_at BIGINT,
    -- While somebody is sending it: until when, and the text by which that one is known.
    lease_until BIGINT,
    run TEXT,
    -- What the last attempt came to: the HTTP status or, where there was no answer, why.
    last_at BIGINT,
    last_status BIGINT,
    last_error TEXT,
    last_took_ms BIGINT,
    -- The beginning of the last answer's body.
    last_answer {bytes},
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, id)
);
-- An event is put once for each URL. The URL itself is compared: it fits into an index row of both databases.
CREATE UNIQUE INDEX outbox_once ON outbox (org_no, event_id, url);
CREATE INDEX outbox_due ON outbox (next_at) WHERE state = 'waiting';
CREATE INDEX outbox_log ON outbox (org_no, created_at, id);
CREATE INDEX outbox_age ON outbox (created_at) WHERE state <> 'waiting';

-- The secret with which an organization's batch callbacks are signed, encrypted.
CREATE TABLE callback_secret (
    org_no BIGINT NOT NULL,
    secret {bytes} NOT NULL,
    -- The one before, which signs too until then.
    previous {bytes},
    previous_until BIGINT,
    PRIMARY KEY (org_no)
) {clustered};
