-- What organizations wish, and what happened in their accounts.

-- An organization without a row has wished nothing.
CREATE TABLE org_settings (
    org_no BIGINT NOT NULL,
    -- JSON lists: names of gates, names of statuses, and words, which may be anything that people write.
    ignored_reasons TEXT NOT NULL,
    ignored_statuses TEXT NOT NULL,
    banned_words {bytes} NOT NULL,
    role_words {bytes} NOT NULL,
    -- For how long its closed jobs are kept. NULL: the instance's value counts.
    retention_days BIGINT CHECK (retention_days > 0),
    -- The organization's own limit; the operator's stands in its row and counts where it is lower.
    rate_limit_per_minute BIGINT CHECK (rate_limit_per_minute > 0),
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (org_no)
) {clustered};

-- What happened in an account, but for its jobs.
CREATE TABLE event (
    org_no BIGINT NOT NULL,
    event_no BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('settings_change', 'account_event')),
    -- The id of the connection that it is about, if it is about one.
    connection_id TEXT,
    -- JSON: the fields of its kind, as the timeline shows them.
    body {bytes} NOT NULL,
    PRIMARY KEY (org_no, event_no)
);
CREATE INDEX event_list ON event (org_no, at, event_no);
CREATE INDEX event_age ON event (at);
