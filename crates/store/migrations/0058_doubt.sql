-- Why an action waits for a decision about its contact alone: nothing else makes it due. NULL: it need not.
ALTER TABLE contact_action ADD COLUMN doubt TEXT;
CREATE INDEX contact_action_doubt ON contact_action (org_no, job_no) WHERE doubt IS NOT NULL;
