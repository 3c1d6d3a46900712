-- What became of the mail that customers sent: bounces, complaints, deliveries. An address is stored only as its keyed tag.

CREATE TABLE outcome (
    org_no BIGINT NOT NULL,
    test BIGINT NOT NULL CHECK (test IN (0, 1)),
    -- HMAC-SHA-256 under the pepper of organization and normalized address, its first 16 bytes, as in suppression.
    tag {bytes} NOT NULL,
    class TEXT NOT NULL
        CHECK (class IN ('delivered', 'hard_bounce', 'soft_bounce', 'complaint', 'opened', 'unsubscribed')),
    -- Days since 1970-01-01 of the event: one event of a class counts once a day, whoever reports it how often.
    day BIGINT NOT NULL,
    at BIGINT NOT NULL,
    reported_at BIGINT NOT NULL,
    -- The same for a domain in all organizations.
    domain {bytes} NOT NULL,
    -- Form of the local part, without its letters.
    form TEXT NOT NULL,
    source TEXT NOT NULL,
    PRIMARY KEY (org_no, test, tag, class, day)
) {clustered};
CREATE INDEX outcome_domain ON outcome (org_no, test, domain);
CREATE INDEX outcome_age ON outcome (at);
