-- The widget that websites put beside their fields.

-- Credits that a `pub` key may spend a day (UTC). NULL: the instance's value counts.
ALTER TABLE api_key ADD COLUMN daily_cap BIGINT CHECK (daily_cap > 0);

-- Credits that a key of the widget has taken of its day. A row stands for a day that has no job yet: the job that sums the day
-- up takes the rows of all keys away.
CREATE TABLE widget_day (
    org_no BIGINT NOT NULL,
    key_id TEXT NOT NULL,
    -- Days since 1970-01-01.
    day BIGINT NOT NULL,
    taken BIGINT NOT NULL CHECK (taken >= 0),
    PRIMARY KEY (org_no, key_id, day)
) {clustered};
CREATE INDEX widget_day_over ON widget_day (day, org_no);

-- Nonces that were used, for as long as they would be good.
CREATE TABLE widget_nonce (
    org_no BIGINT NOT NULL,
    nonce TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, nonce)
) {clustered};
CREATE INDEX widget_nonce_age ON widget_nonce (expires_at);
