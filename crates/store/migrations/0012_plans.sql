-- What becomes of organizations' plans as time goes by. The plans themselves are in the configuration.

-- The first day of the plan, from which its months are counted; NULL: they are those of the calendar.
ALTER TABLE org ADD COLUMN plan_since BIGINT;
-- How many plans it has had before: credits of a plan's month are booked under it, once.
ALTER TABLE org ADD COLUMN plan_no BIGINT NOT NULL DEFAULT 0;
-- When its next month begins and credits are due; NULL: the plan gives none.
ALTER TABLE org ADD COLUMN renews_at BIGINT;
CREATE INDEX org_renewal ON org (renews_at) WHERE renews_at IS NOT NULL;
-- The month in which credits were put in because there were none, and how often that was.
ALTER TABLE org ADD COLUMN refilled_in BIGINT;
ALTER TABLE org ADD COLUMN refills BIGINT NOT NULL DEFAULT 0 CHECK (refills >= 0);
-- What this organization may use, or may not, whatever its plan says: bits.
ALTER TABLE org ADD COLUMN entitled BIGINT NOT NULL DEFAULT 0;
ALTER TABLE org ADD COLUMN unentitled BIGINT NOT NULL DEFAULT 0;
-- Below how many credits its balance is low; NULL: the plan says.
ALTER TABLE org ADD COLUMN low_balance BIGINT CHECK (low_balance >= 0);
-- 1: it is low, and that was told.
ALTER TABLE org ADD COLUMN is_low BIGINT NOT NULL DEFAULT 0 CHECK (is_low IN (0, 1));
-- Why the operator stopped it or looks at it, for operators only.
ALTER TABLE org ADD COLUMN hold_reason TEXT;

-- Grants, corrections and what expired, by time: what the balance was made of.
CREATE INDEX ledger_booked ON ledger (org_no, at) WHERE kind IN ('grant', 'expire', 'adjust');

-- Mail to the one whom an organization belongs to, until the relay has it.
CREATE TABLE notice (
    org_no BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('low_balance')),
    created_at BIGINT NOT NULL,
    -- Attempts that came to an end.
    attempts BIGINT NOT NULL CHECK (attempts >= 0),
    next_at BIGINT NOT NULL,
    -- While somebody is sending it: until when, and the text by which that one is known.
    lease_until BIGINT,
    run TEXT,
    PRIMARY KEY (org_no, kind)
);
CREATE INDEX notice_due ON notice (next_at);
