-- Requests with API keys, for the developers of an organization. No paths, queries or bodies.

CREATE TABLE request_log (
    org_no BIGINT NOT NULL,
    -- Time of the response.
    at BIGINT NOT NULL,
    -- Request ID.
    id TEXT NOT NULL,
    -- 1: sent with a test key.
    test BIGINT NOT NULL CHECK (test IN (0, 1)),
    key_id TEXT NOT NULL,
    method TEXT NOT NULL,
    -- Template of the route.
    route TEXT NOT NULL,
    status BIGINT NOT NULL,
    took_ms BIGINT NOT NULL,
    PRIMARY KEY (org_no, at, id)
) {clustered};
CREATE INDEX request_log_age ON request_log (at);
