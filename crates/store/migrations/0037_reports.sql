-- Reports by email.

-- When the member's next weekly or monthly report is due; 0: not yet planned.
ALTER TABLE users ADD COLUMN reports_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX users_reports ON users (reports_at);
-- Until now no such mail was sent. Members who never chose have weekly and monthly reports off; new members have them on.
UPDATE users SET notifications = notifications - 6 WHERE notifications = 15;

CREATE TABLE report_mail (
    org_no BIGINT NOT NULL,
    user_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('run', 'weekly', 'monthly')),
    -- ID of the run, or first date of the period.
    subject TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    -- When it is sent next. NULL: it is over. Of a period, such a row stays until the next period, so that each has one report.
    next_at BIGINT,
    lease_until BIGINT,
    -- Who sends it.
    run TEXT,
    PRIMARY KEY (org_no, user_id, kind, subject)
);
CREATE INDEX report_mail_due ON report_mail (next_at) WHERE next_at IS NOT NULL;

-- Done actions of contacts by day (UTC). The actions themselves may be purged before the month is reported.
CREATE TABLE contact_action_day (
    org_no BIGINT NOT NULL,
    -- Days since 1970-01-01.
    day BIGINT NOT NULL,
    kind TEXT NOT NULL,
    actions BIGINT NOT NULL,
    PRIMARY KEY (org_no, day, kind)
) {clustered};

-- Day (UTC) of the last mail about a poll that waits.
ALTER TABLE connection ADD COLUMN poll_mailed_day BIGINT NOT NULL DEFAULT 0;
