-- What runs skip, and what they have done already.

-- Records without an address or an ID, which cannot be verified.
ALTER TABLE connection_run ADD COLUMN skipped BIGINT NOT NULL DEFAULT 0 CHECK (skipped >= 0);

-- Last change of the contact, by the platform's clock. NULL: the platform does not say.
ALTER TABLE contact_mark ADD COLUMN changed_at BIGINT;
-- What the last action did, and to which address, as a keyed hash: none repeats it while the contact stays as it is.
ALTER TABLE contact_mark ADD COLUMN effect {bytes};
CREATE INDEX contact_mark_acted ON contact_mark (org_no, job_no, idx) WHERE acted IS NOT NULL;
