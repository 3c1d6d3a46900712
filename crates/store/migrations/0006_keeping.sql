-- How results of closed jobs are kept.

-- 0: results lie in parts. 1: blocks of them stand and count; the parts are being removed. 2: blocks only.
-- 3: neither results nor addresses, because they were old.
ALTER TABLE job ADD COLUMN packed BIGINT NOT NULL DEFAULT 0 CHECK (packed IN (0, 1, 2, 3));
-- While somebody packs it: until when.
ALTER TABLE job ADD COLUMN keeper_until BIGINT;
CREATE INDEX job_to_pack ON job (finished_at) WHERE packed < 2;
-- From when on nobody reads its rows any more.
ALTER TABLE job ADD COLUMN purged_at BIGINT;
CREATE INDEX job_to_purge ON job (finished_at) WHERE packed >= 2;

-- Results of closed jobs, a thousand rows to a block; the rows are those of the block of addresses with the same number.
CREATE TABLE result_block (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    first_idx BIGINT NOT NULL,
    body {bytes} NOT NULL,
    PRIMARY KEY (org_no, job_no, first_idx)
);
