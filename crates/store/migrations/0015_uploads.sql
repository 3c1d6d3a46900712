-- Lists that people put up as files or paste in the dashboard, with all of their columns.

CREATE TABLE upload (
    org_no BIGINT NOT NULL,
    upload_no BIGINT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    -- What a job of it says of its source.
    source TEXT NOT NULL CHECK (source IN ('csv', 'input')),
    -- `arriving`: nobody sees it. `gone`: nobody sees it any more, and its rows are being removed.
    state TEXT NOT NULL CHECK (state IN ('arriving', 'ready', 'started', 'gone')),
    -- The person who put it up.
    user_id TEXT NOT NULL,
    -- What it was called, what it is, its columns: the server's text, sealed.
    about {bytes},
    -- Rows that are stored, the header included.
    rows_total BIGINT NOT NULL CHECK (rows_total >= 0),
    -- Bytes of the file as it came.
    size BIGINT NOT NULL CHECK (size >= 0),
    -- 1: the first row names the columns.
    header BIGINT NOT NULL CHECK (header IN (0, 1)),
    -- The column with the addresses, from 0; NULL: nobody has said which.
    column_no BIGINT,
    -- What is in that column. `counted` 0: it has to be counted anew.
    counted BIGINT NOT NULL CHECK (counted IN (0, 1)),
    addresses BIGINT NOT NULL CHECK (addresses >= 0),
    blank BIGINT NOT NULL CHECK (blank >= 0),
    repeated BIGINT NOT NULL CHECK (repeated >= 0),
    invalid BIGINT NOT NULL CHECK (invalid >= 0),
    -- How many addresses each domain has: the server's bytes, sealed.
    domains {bytes},
    -- The job that was made of it.
    job_no BIGINT,
    job_id TEXT,
    created_at BIGINT NOT NULL,
    -- When something was last done with it; from then on it is kept.
    touched_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, upload_no)
);
CREATE INDEX upload_touched ON upload (state, touched_at);
CREATE INDEX upload_job ON upload (org_no, job_no) WHERE job_no IS NOT NULL;

-- Its rows with all of their cells, up to a thousand to a block.
CREATE TABLE upload_block (
    org_no BIGINT NOT NULL,
    upload_no BIGINT NOT NULL,
    first_idx BIGINT NOT NULL,
    body {bytes} NOT NULL,
    PRIMARY KEY (org_no, upload_no, first_idx)
);
