-- Credits that checks of the widget have taken of their keys' days, and neither spent nor returned.

-- The row is removed by whatever ends it: the charge, the return, or its end, which returns the credit of a process that died. So
-- a credit comes back once, whoever tries how often.
CREATE TABLE widget_pass (
    org_no BIGINT NOT NULL,
    -- The nonce of the check.
    nonce TEXT NOT NULL,
    key_id TEXT NOT NULL,
    -- Days since 1970-01-01.
    day BIGINT NOT NULL,
    held_until BIGINT NOT NULL,
    PRIMARY KEY (org_no, nonce)
) {clustered};
CREATE INDEX widget_pass_age ON widget_pass (held_until);
