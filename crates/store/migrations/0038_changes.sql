-- Verdicts of contacts that changed.

-- What the address of a contact last was. Unknown is no verdict.
CREATE TABLE address_verdict (
    org_no BIGINT NOT NULL,
    test BIGINT NOT NULL CHECK (test IN (0, 1)),
    -- Keyed hash of the address.
    tag {bytes} NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('passed', 'undeliverable', 'risky')),
    -- When a run last had this verdict, to within two months.
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, test, tag)
) {clustered};
CREATE INDEX address_verdict_old ON address_verdict (seen_at);

-- Rows of runs whose address had another verdict before. The job has the address.
CREATE TABLE verdict_change (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    idx BIGINT NOT NULL,
    before TEXT NOT NULL,
    reason TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (org_no, job_no, idx)
) {clustered};
CREATE INDEX verdict_change_list ON verdict_change (org_no, at, job_no, idx);
