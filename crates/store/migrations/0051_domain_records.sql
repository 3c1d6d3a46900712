-- The record that proves a domain is looked up again, because a domain may pass to somebody else.

-- Time of the next lookup. NULL: there is no proof, or the operator gave it without a record.
ALTER TABLE sso_domain ADD COLUMN look_at BIGINT;
-- Time at which the record was first found missing. NULL: it was there at the last lookup that told.
ALTER TABLE sso_domain ADD COLUMN missed_at BIGINT;
CREATE INDEX sso_domain_look ON sso_domain (look_at) WHERE look_at IS NOT NULL;
