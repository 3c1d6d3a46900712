-- The timeline shows a job at the time at which its processing began, or before that at the time at which it was accepted.
CREATE INDEX job_timeline ON job (org_no, test, (COALESCE(started_at, created_at)), job_no);
