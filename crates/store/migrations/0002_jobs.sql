-- Batch jobs: what was submitted, the work that is left, and what came out.

CREATE TABLE job (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    -- 1: made with a test key; it spends nothing and only test keys see it.
    test BIGINT NOT NULL CHECK (test IN (0, 1)),
    source TEXT NOT NULL CHECK (source IN ('api', 'csv', 'input', 'widget', 'zapier', 'integration')),
    started_by TEXT,
    source_action TEXT,
    actor TEXT,
    -- `unborn`: its addresses are still arriving; nobody sees it.
    state TEXT NOT NULL
        CHECK (state IN ('unborn', 'queued', 'importing', 'ready', 'processing', 'completed', 'cancelled', 'force_stopped')),
    -- 1 while there is something to do.
    is_open BIGINT NOT NULL CHECK (is_open IN (0, 1)),
    webhook_url {bytes},
    -- Rows that were submitted; the counters below count rows, repeated ones too.
    rows_total BIGINT NOT NULL CHECK (rows_total >= 0),
    processed BIGINT NOT NULL CHECK (processed >= 0),
    passed BIGINT NOT NULL CHECK (passed >= 0),
    undeliverable BIGINT NOT NULL CHECK (undeliverable >= 0),
    risky BIGINT NOT NULL CHECK (risky >= 0),
    unknown BIGINT NOT NULL CHECK (unknown >= 0),
    charged BIGINT NOT NULL CHECK (charged >= 0),
    -- +1 each time that somebody takes the import up.
    epoch BIGINT NOT NULL,
    leased_until BIGINT,
    -- Chunks get their numbers from here.
    next_chunk BIGINT NOT NULL,
    -- The number of the last part of its results.
    parts BIGINT NOT NULL DEFAULT 0 CHECK (parts >= 0),
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    finished_at BIGINT,
    -- When it last came on; a job that stands still for too long is stopped.
    progress_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, job_no),
    CHECK (processed = passed + undeliverable + risky + unknown),
    CHECK (processed <= rows_total)
);
CREATE INDEX job_open ON job (created_at, org_no, job_no) WHERE is_open = 1;
CREATE INDEX job_list ON job (org_no, test, created_at, job_no);

-- Addresses as they were submitted, a thousand to a block.
CREATE TABLE job_block (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    first_idx BIGINT NOT NULL,
    body {bytes} NOT NULL,
    PRIMARY KEY (org_no, job_no, first_idx)
);

-- Rows whose address stands in an earlier row; they share its result.
CREATE TABLE job_duplicate (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    idx BIGINT NOT NULL,
    first_idx BIGINT NOT NULL,
    PRIMARY KEY (org_no, job_no, idx)
) {clustered};

-- Work that is left: up to a thousand addresses, sorted by domain. A chunk is gone when all of its rows have results or
-- were put into later chunks.
CREATE TABLE chunk (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    chunk_no BIGINT NOT NULL,
    ready_at BIGINT NOT NULL,
    size BIGINT NOT NULL,
    -- Where all of its addresses go: `@` and a domain, or the name of a place whose limits have held them back; '' where they
    -- go to many places.
    destination TEXT NOT NULL,
    -- The name of the source that alone should ask, because servers know these addresses from there; '' for any.
    source TEXT NOT NULL,
    -- Which of the body's rows are left, a bit each; NULL: all.
    left_rows {bytes},
    -- Since when rows that say nothing else have been waiting because limits of ours hold them back.
    held_since BIGINT,
    -- +1 each time that somebody takes it up: results of an earlier holder are refused.
    epoch BIGINT NOT NULL,
    leased_until BIGINT,
    -- Behind the others, which are read without it.
    body {bytes} NOT NULL,
    PRIMARY KEY (org_no, job_no, chunk_no)
);
-- Whether and where there is something to be taken up is seen in these alone, however many chunks are waiting.
CREATE INDEX chunk_ready ON chunk (org_no, job_no, ready_at, leased_until);
CREATE INDEX chunk_destination ON chunk (org_no, job_no, destination, source, ready_at, leased_until, chunk_no);

-- A part of a chunk's results, as it was settled: up to a thousand rows, in no order among parts (`jobs/part.rs`). Parts are added
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

-- What is counted by reason, for reports of a job.
CREATE TABLE job_reason (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    reason TEXT NOT NULL,
    n BIGINT NOT NULL,
    PRIMARY KEY (org_no, job_no, reason)
) {clustered};
