-- Webhooks of connections: platforms report new contacts, which makes the next poll due.

CREATE TABLE connection_hook (
    org_no BIGINT NOT NULL,
    connection_id TEXT NOT NULL,
    -- 0: to be removed at the platform.
    wanted BIGINT NOT NULL CHECK (wanted IN (0, 1)),
    -- Secrets and IDs of the registrations (JSON), encrypted. NULL before the first.
    keys {bytes},
    -- Why the last attempt to register failed, for the customer. No address, no credential.
    fault TEXT,
    -- Attempts in a row that failed.
    failures BIGINT NOT NULL CHECK (failures >= 0),
    -- +1 each time somebody takes it up: what an earlier holder writes is refused.
    version BIGINT NOT NULL,
    -- Next look at the registration. NULL while the connection is disconnected.
    next_at BIGINT,
    -- When the platform accepted the current registration.
    registered_at BIGINT,
    last_event_at BIGINT,
    PRIMARY KEY (org_no, connection_id)
);
-- The URL has no organization.
CREATE UNIQUE INDEX connection_hook_id ON connection_hook (connection_id);
CREATE INDEX connection_hook_next ON connection_hook (next_at) WHERE next_at IS NOT NULL;

INSERT INTO connection_hook (org_no, connection_id, wanted, failures, version, next_at)
    SELECT s.org_no, s.connection_id, 1, 0, 0, s.next_at FROM connection_schedule s
    JOIN connection c ON c.org_no = s.org_no AND c.id = s.connection_id AND c.test = 0 WHERE s.cause = 'instafloss';

-- Mail to owners, about connections that the platform has cut off, too.
CREATE TABLE notice_of_kinds (
    org_no BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('low_balance', 'connection_lost')),
    created_at BIGINT NOT NULL,
    -- Attempts that came to an end.
    attempts BIGINT NOT NULL CHECK (attempts >= 0),
    next_at BIGINT NOT NULL,
    -- While somebody is sending it: until when, and the text by which that one is known.
    lease_until BIGINT,
    run TEXT,
    PRIMARY KEY (org_no, kind)
);
INSERT INTO notice_of_kinds (org_no, kind, created_at, attempts, next_at, lease_until, run)
    SELECT org_no, kind, created_at, attempts, next_at, lease_until, run FROM notice;
DROP TABLE notice;
ALTER TABLE notice_of_kinds RENAME TO notice;
CREATE INDEX notice_due ON notice (next_at);
