-- Mail to members until its relay has it: one queue for links, notices, mail about lists, and reports.
CREATE TABLE letter (
    org_no BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('link', 'low_balance', 'connection_lost', 'list', 'run', 'weekly', 'monthly')),
    subject TEXT NOT NULL, -- Number of the list, ID of the run, or first date of the period; '' for other kinds.
    user_id TEXT NOT NULL, -- Recipient; '' for the owner.
    created_at BIGINT NOT NULL, -- Time of the event.
    attempts BIGINT NOT NULL CHECK (attempts >= 0), -- Finished attempts.
    -- Time of the next attempt. NULL while the list is verified, and after the report of a period: it stays until the next one, so
    -- that each period has one report.
    due_at BIGINT,
    lease_until BIGINT, run TEXT, -- While it is being sent: until when, and by whom.
    PRIMARY KEY (org_no, kind, subject, user_id)
) {clustered};
CREATE INDEX letter_due ON letter (kind, due_at) WHERE due_at IS NOT NULL;

INSERT INTO letter SELECT org_no, 'link', '', user_id, created_at, mail_attempts, mail_next_at, mail_lease_until, mail_run
    FROM invitation WHERE mail_state = 'waiting';
INSERT INTO letter SELECT org_no, kind, '', '', created_at, attempts, next_at, lease_until, run FROM notice;
INSERT INTO letter SELECT m.org_no, 'list', CAST(m.job_no AS TEXT), m.user_id, COALESCE(j.finished_at, m.created_at), m.attempts,
    m.next_at, m.lease_until, m.run FROM list_mail m LEFT JOIN job j ON j.org_no = m.org_no AND j.job_no = m.job_no;
INSERT INTO letter SELECT org_no, kind, subject, user_id, created_at, attempts, next_at, lease_until, run FROM report_mail;

DROP TABLE notice;
DROP TABLE list_mail;
DROP TABLE report_mail;
DROP INDEX invitation_mail;
ALTER TABLE invitation DROP COLUMN mail_state;
ALTER TABLE invitation DROP COLUMN mail_attempts;
ALTER TABLE invitation DROP COLUMN mail_next_at;
ALTER TABLE invitation DROP COLUMN mail_lease_until;
ALTER TABLE invitation DROP COLUMN mail_run;
