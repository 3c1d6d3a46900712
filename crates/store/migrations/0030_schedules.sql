-- Automatic runs of connections.

-- IANA name of the time zone whose nights they use. NULL: UTC.
ALTER TABLE org_settings ADD COLUMN time_zone TEXT;

CREATE TABLE connection_schedule (
    org_no BIGINT NOT NULL,
    connection_id TEXT NOT NULL,
    cause TEXT NOT NULL CHECK (cause IN ('autofloss', 'instafloss', 'decay_protection')),
    -- Slot of the next run. Slots that were missed are one.
    due_at BIGINT NOT NULL,
    -- When to try, later than the slot after a failure. NULL while the connection is disconnected.
    next_at BIGINT,
    -- Runs in a row that failed.
    failures BIGINT NOT NULL CHECK (failures >= 0),
    -- Why the slot waits: `credits`, `failed`, `first_run`.
    waits_for TEXT CHECK (waits_for IN ('credits', 'failed', 'first_run')),
    -- When the schedule was switched on, and the start of the last complete run.
    begun_at BIGINT NOT NULL,
    done_at BIGINT,
    -- Creation date up to which polls have seen every contact. Other runs use the connection's.
    watermark BIGINT,
    PRIMARY KEY (org_no, connection_id, cause)
) {clustered};
CREATE INDEX connection_schedule_next ON connection_schedule (next_at) WHERE next_at IS NOT NULL;

-- Slot that the run stands for; NULL if a person started it. Each has one run that did not fail.
ALTER TABLE connection_run ADD COLUMN due_at BIGINT;
CREATE UNIQUE INDEX connection_run_slot ON connection_run (org_no, connection_id, cause, due_at)
    WHERE due_at IS NOT NULL AND state <> 'failed';
-- Of decay protection: the last contact of its share, by time of the verdict and hash; and the share of those without one.
ALTER TABLE connection_run ADD COLUMN cut_at BIGINT;
ALTER TABLE connection_run ADD COLUMN cut_contact {bytes};
ALTER TABLE connection_run ADD COLUMN fresh_ppm BIGINT;
-- Of polling: creation date of the oldest contact that became a row, and the time from there to the verdicts.
ALTER TABLE connection_run ADD COLUMN oldest_at BIGINT;
ALTER TABLE connection_run ADD COLUMN delay_ms BIGINT;

-- When the contact's address was last read to be verified; and the same before the last run that read it, which counts if that
-- run fails.
ALTER TABLE contact_mark ADD COLUMN verified_at BIGINT;
ALTER TABLE contact_mark ADD COLUMN before_at BIGINT;
UPDATE contact_mark SET verified_at = seen_at;
CREATE INDEX contact_mark_age ON contact_mark (org_no, connection_id, verified_at, contact);
