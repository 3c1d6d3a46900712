-- How often keyword rules have let runs act on more contacts: a rule was added to the blacklist, or removed from the whitelist. A run
-- keeps the number at its start, so that its confirmation trusts the connection only if nothing was added since.

ALTER TABLE connection ADD COLUMN rules_widened BIGINT NOT NULL DEFAULT 0;
ALTER TABLE connection_run ADD COLUMN rules_widened BIGINT NOT NULL DEFAULT 0;
