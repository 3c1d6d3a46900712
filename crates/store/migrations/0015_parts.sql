-- Results of running jobs, as their holders settle them: in parts, not in rows.

DROP TABLE result;
DROP TABLE job_kind;

-- A part of a chunk's results, as it was settled: up to a thousand rows in no order among parts (`jobs/part.rs`). Parts are added
-- and, when the job is packed, removed; none is changed.
CREATE TABLE result_part (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    -- From 1 on, in the order in which they were settled: whoever has read up to one finds what is new behind it.
    part_no BIGINT NOT NULL CHECK (part_no > 0),
    chunk_no BIGINT NOT NULL,
    body {bytes} NOT NULL,
    PRIMARY KEY (org_no, job_no, part_no)
);
-- What of a chunk has results.
CREATE UNIQUE INDEX result_part_chunk ON result_part (org_no, job_no, chunk_no, part_no);

-- The number of the last part.
ALTER TABLE job ADD COLUMN parts BIGINT NOT NULL DEFAULT 0 CHECK (parts >= 0);
