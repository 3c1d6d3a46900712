-- What people call their lists, and what they asked of them.

-- The name and tags that customers give to a job; a file's name, until somebody gives another. Tags are a JSON array.
ALTER TABLE job ADD COLUMN title TEXT;
ALTER TABLE job ADD COLUMN tags TEXT;
-- Rows whose address stands in an earlier row; NULL until the import, and for jobs that earlier versions imported.
ALTER TABLE job ADD COLUMN repeated BIGINT;
-- When somebody asked to finish it: deferred addresses are asked once more and not deferred again.
ALTER TABLE job ADD COLUMN hurried_at BIGINT;
-- When somebody deleted it. From then on nobody sees it, and its rows are removed as at the end of their retention.
ALTER TABLE job ADD COLUMN deleted_at BIGINT;
CREATE INDEX job_deleted ON job (deleted_at) WHERE deleted_at IS NOT NULL AND purged_at IS NULL;

-- Members who get an email when a list is over.
CREATE TABLE list_mail (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    user_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    -- When it is sent next; NULL while the list is verified.
    next_at BIGINT,
    lease_until BIGINT,
    -- Who sends it.
    run TEXT,
    PRIMARY KEY (org_no, job_no, user_id)
);
CREATE INDEX list_mail_due ON list_mail (next_at) WHERE next_at IS NOT NULL;
