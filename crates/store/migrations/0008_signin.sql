-- How people sign in.

CREATE TABLE password (
    org_no BIGINT NOT NULL,
    user_id TEXT NOT NULL,
    -- Keyed hash of the address: by it a person is found who signs in. The same in every organization that has the address.
    who {bytes} NOT NULL,
    -- What argon2id made of the password, hashed again under a key that lies outside the database.
    hash {bytes} NOT NULL,
    -- What argon2id was told to spend.
    memory_kib BIGINT NOT NULL CHECK (memory_kib > 0),
    passes BIGINT NOT NULL CHECK (passes > 0),
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, user_id)
);
CREATE INDEX password_who ON password (who);

CREATE TABLE session (
    org_no BIGINT NOT NULL,
    -- By it people tell their sessions apart; it opens nothing.
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    -- Keyed hash of the token in the cookie.
    token_hash {bytes} NOT NULL UNIQUE,
    -- Which browser on which system, in a few words of ours.
    client TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- When it was used last, to the minute.
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, id)
);
CREATE INDEX session_of ON session (org_no, user_id, seen_at);
CREATE INDEX session_age ON session (seen_at);

CREATE TABLE second_factor (
    org_no BIGINT NOT NULL,
    user_id TEXT NOT NULL,
    -- The secret that codes are made with, encrypted under a key that lies outside the database.
    secret {bytes} NOT NULL,
    -- NULL: shown, and not asked for until a code has shown that it arrived.
    confirmed_at BIGINT,
    -- The newest step of time whose code was used.
    used_step BIGINT NOT NULL,
    PRIMARY KEY (org_no, user_id)
);

-- Codes that each replace a code of the second factor, once.
CREATE TABLE recovery_code (
    org_no BIGINT NOT NULL,
    user_id TEXT NOT NULL,
    hash {bytes} NOT NULL,
    PRIMARY KEY (org_no, user_id, hash)
) {clustered};

-- Attempts to sign in that came to nothing. Accounts and networks share a fixed number of rows, by keyed hashes.
CREATE TABLE attempt (
    slot BIGINT NOT NULL PRIMARY KEY,
    failures BIGINT NOT NULL CHECK (failures >= 0),
    -- Until then the next attempt is refused.
    next_at BIGINT NOT NULL,
    -- From then on it is as if there had been none.
    forget_at BIGINT NOT NULL
);
CREATE INDEX attempt_age ON attempt (forget_at);
