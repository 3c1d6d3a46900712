-- Requests for a link with which a forgotten password is replaced.

-- Whoever asks is stored alike, whether the address is a member's or nobody's: who it is, is found out when the mail is made.
CREATE TABLE forgotten_password (
    -- Keyed hash of the address, as in `password`.
    who {bytes} NOT NULL PRIMARY KEY,
    -- Language of the page that asked. NULL: unknown.
    language TEXT,
    asked_at BIGINT NOT NULL
);
CREATE INDEX forgotten_password_asked ON forgotten_password (asked_at);

-- Language of the mail with the link. NULL: English.
ALTER TABLE invitation ADD COLUMN mail_language TEXT;
