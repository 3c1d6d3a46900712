-- The people of an organization, and the links with which they come in.

-- The address as people compare it: two members of an organization never have the same.
ALTER TABLE users ADD COLUMN email_key {bytes};
-- Whether a link that was sent to the address came back.
ALTER TABLE users ADD COLUMN email_verified BIGINT NOT NULL DEFAULT 0 CHECK (email_verified IN (0, 1));
-- What the operator knows of who they are.
ALTER TABLE users ADD COLUMN identity TEXT CHECK (identity IN ('verified', 'requires_input'));
-- What they say of themselves.
ALTER TABLE users ADD COLUMN phone TEXT;
ALTER TABLE users ADD COLUMN company TEXT;
ALTER TABLE users ADD COLUMN vat_id TEXT;
ALTER TABLE users ADD COLUMN country TEXT;
-- A JSON object of the lines that are given.
ALTER TABLE users ADD COLUMN address {bytes};
-- The bits of what they wish to be told of; all from the start.
ALTER TABLE users ADD COLUMN notifications BIGINT NOT NULL DEFAULT 15;

CREATE UNIQUE INDEX users_email ON users (org_no, email_key);
CREATE INDEX users_sign_in ON users (email_key);
CREATE INDEX users_list ON users (org_no, created_at, id);

-- The one-time link that a person can use now: an invitation, or leave to set a password. A new one takes the place of the
-- one before.
CREATE TABLE invitation (
    org_no BIGINT NOT NULL,
    user_id TEXT NOT NULL,
    -- HMAC-SHA-256 under the pepper of the link that was shown to whoever made it.
    hash {bytes} NOT NULL UNIQUE,
    -- The same of the link that is sent to the person's address; that link follows from the seed and the pepper.
    mailed_hash {bytes} UNIQUE,
    mail_seed {bytes},
    mail_state TEXT NOT NULL CHECK (mail_state IN ('none', 'waiting', 'sent', 'failed')),
    -- Attempts that came to an end.
    mail_attempts BIGINT NOT NULL CHECK (mail_attempts >= 0),
    mail_next_at BIGINT NOT NULL,
    -- While somebody is sending it: until when, and the text by which that one is known.
    mail_lease_until BIGINT,
    mail_run TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, user_id)
);
CREATE INDEX invitation_mail ON invitation (mail_next_at) WHERE mail_state = 'waiting';
