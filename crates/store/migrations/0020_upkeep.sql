-- What is asked every few seconds about all jobs reads those that it is about, however many others are kept.

-- Submissions that are under way.
CREATE INDEX job_unborn ON job (created_at) WHERE state = 'unborn' AND purged_at IS NULL;
-- Jobs whose rows are kept. Each organization has its own time for them.
CREATE INDEX job_kept ON job (org_no, finished_at) WHERE packed = 2 AND purged_at IS NULL;
-- Jobs whose rows are being removed: packed ones that are old, and submissions that came to nothing.
CREATE INDEX job_marked ON job (purged_at) WHERE packed < 3 AND purged_at IS NOT NULL;
-- Jobs of which only the counts are left.
CREATE INDEX job_emptied ON job (finished_at) WHERE packed = 3;
DROP INDEX job_to_purge;

-- Open jobs of each organization, the oldest first, for whoever looks for work.
CREATE INDEX job_open_of ON job (org_no, created_at, job_no) WHERE is_open = 1;

-- Credits that end at a time and are not spent.
CREATE INDEX account_expiry ON account (expires_at) WHERE available > 0 AND expires_at IS NOT NULL;
