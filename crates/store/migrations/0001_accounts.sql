-- Organizations, the people and keys in them, their credits, and what is kept for answering.
--
-- Times are milliseconds since 1970-01-01 UTC, flags are 0 or 1, ids are the API's texts. Tables of a customer begin their
-- primary key with the organization's number, so that they can be distributed by it.

-- What belongs to this installation: its id, the fingerprint of the pepper with which keys are hashed.
CREATE TABLE instance (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) {clustered};

CREATE TABLE org (
    org_no BIGINT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT,
    plan TEXT NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('active', 'suspended', 'paused', 'banned', 'under_review', 'needs_identity_verification')),
    trial_started_at BIGINT,
    trial_ends_at BIGINT,
    -- NULL: the instance's value counts.
    rate_limit_per_minute BIGINT CHECK (rate_limit_per_minute > 0),
    seats_max BIGINT CHECK (seats_max > 0),
    created_at BIGINT NOT NULL
);

CREATE TABLE users (
    org_no BIGINT NOT NULL,
    id TEXT NOT NULL,
    email {bytes},
    name TEXT,
    role TEXT NOT NULL CHECK (role IN ('administrator', 'contributor')),
    is_primary BIGINT NOT NULL CHECK (is_primary IN (0, 1)),
    status TEXT NOT NULL CHECK (status IN ('active', 'invited', 'paused')),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, id)
);

CREATE TABLE api_key (
    org_no BIGINT NOT NULL,
    id TEXT NOT NULL,
    user_id TEXT,
    name TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('live', 'rk', 'test', 'pub')),
    -- The bits of the scopes.
    scopes BIGINT NOT NULL,
    -- A JSON list of origins; only a `pub` key has any.
    origins TEXT NOT NULL,
    -- HMAC-SHA-256 of the whole key under the pepper.
    hash {bytes} NOT NULL UNIQUE,
    prefix TEXT NOT NULL,
    last4 TEXT NOT NULL,
    rate_limit_per_minute BIGINT CHECK (rate_limit_per_minute > 0),
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    last_used_at BIGINT,
    PRIMARY KEY (org_no, id)
);

-- A cache of the ledger's sums, and the guard against spending what is not there.
CREATE TABLE account (
    org_no BIGINT NOT NULL,
    bucket TEXT NOT NULL CHECK (bucket IN ('subscription', 'prepaid')),
    available BIGINT NOT NULL CHECK (available >= 0),
    held BIGINT NOT NULL CHECK (held >= 0),
    spent BIGINT NOT NULL CHECK (spent >= 0),
    -- When what is available goes (subscriptions).
    expires_at BIGINT,
    PRIMARY KEY (org_no, bucket)
);

-- Append-only. An amount is split over the two buckets; all amounts are positive but those of `adjust`.
CREATE TABLE ledger (
    org_no BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('grant', 'hold', 'capture', 'release', 'expire', 'adjust')),
    -- What caused it; the same cause books once.
    ref TEXT NOT NULL,
    subscription BIGINT NOT NULL,
    prepaid BIGINT NOT NULL,
    at BIGINT NOT NULL,
    -- From when on the row may be folded into a sum: nobody will use its reference again. NULL: never.
    fold_after BIGINT,
    PRIMARY KEY (org_no, kind, ref),
    CHECK (kind = 'adjust' OR (subscription >= 0 AND prepaid >= 0))
);
CREATE INDEX ledger_fold ON ledger (fold_after) WHERE fold_after IS NOT NULL;

-- Credits that are set aside and neither captured nor released yet.
CREATE TABLE hold (
    org_no BIGINT NOT NULL,
    id TEXT NOT NULL,
    subscription BIGINT NOT NULL CHECK (subscription >= 0),
    prepaid BIGINT NOT NULL CHECK (prepaid >= 0),
    created_at BIGINT NOT NULL,
    -- NULL: as long as its job lives.
    expires_at BIGINT,
    PRIMARY KEY (org_no, id)
);
CREATE INDEX hold_expiry ON hold (expires_at) WHERE expires_at IS NOT NULL;

-- Requests with an Idempotency-Key: locked while they run, answered while they are kept.
CREATE TABLE idempotency (
    org_no BIGINT NOT NULL,
    -- Keyed hash of method, path and key.
    key_hash {bytes} NOT NULL,
    -- Hash of the raw body.
    body_hash {bytes} NOT NULL,
    -- Which run holds the lock: a run that lost it cannot store its answer.
    run TEXT NOT NULL,
    locked_until BIGINT,
    status BIGINT,
    -- Encrypted under a key that only the one who knows the Idempotency-Key can derive.
    answer {bytes},
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, key_hash)
);
CREATE INDEX idempotency_age ON idempotency (created_at);

-- Verifications by day (UTC), where they came from, and reason.
CREATE TABLE usage_day (
    org_no BIGINT NOT NULL,
    -- Days since 1970-01-01.
    day BIGINT NOT NULL,
    source TEXT NOT NULL,
    -- The connection whose data it was; '' for none.
    connection_id TEXT NOT NULL,
    reason TEXT NOT NULL,
    verified BIGINT NOT NULL,
    charged BIGINT NOT NULL,
    PRIMARY KEY (org_no, day, source, connection_id, reason)
) {clustered};

-- What exchangers have shown of domains, for all customers and nodes.
CREATE TABLE domain_fact (
    domain TEXT NOT NULL,
    host TEXT NOT NULL,
    catch_all BIGINT CHECK (catch_all IN (0, 1)),
    catch_all_until BIGINT,
    accepted_until BIGINT,
    -- The later of the two: when the row can go.
    known_until BIGINT NOT NULL,
    PRIMARY KEY (domain, host)
) {clustered};
CREATE INDEX domain_fact_age ON domain_fact (known_until);

-- Token buckets that nodes share: when each would be full again, in microseconds.
CREATE TABLE rate_bucket (
    org_no BIGINT NOT NULL,
    -- A key's id, or '' for the organization.
    bucket TEXT NOT NULL,
    full_at_us BIGINT NOT NULL,
    -- How many tokens the last call got.
    granted BIGINT NOT NULL,
    PRIMARY KEY (org_no, bucket)
) {clustered};
