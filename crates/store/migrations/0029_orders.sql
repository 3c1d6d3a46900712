-- What is read in an order is read by an index of that order.

-- The lists of an organization's keys and uploads, the newest first.
CREATE INDEX api_key_list ON api_key (org_no, created_at, id);
CREATE INDEX upload_list ON upload (org_no, created_at, upload_no);
-- Uploads that are kept. Each organization has its own time for them.
CREATE INDEX upload_kept ON upload (org_no, touched_at) WHERE state IN ('ready', 'started');
