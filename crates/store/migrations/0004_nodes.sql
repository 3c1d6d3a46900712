-- What runs on this database, and what only one of them may do at a time. Nothing here is a customer's.

-- A process that serves. It writes its row again every few seconds.
CREATE TABLE node (
    id TEXT NOT NULL PRIMARY KEY,
    -- Where it runs, for people.
    hostname TEXT NOT NULL,
    -- Which process it is, in words that another process on the same machine understands; '' where that is not known.
    process TEXT NOT NULL,
    -- What it does, parted by commas.
    roles TEXT NOT NULL,
    version TEXT NOT NULL,
    -- The public addresses from which it asks mail servers, parted by commas; 'unknown' for one that it does not know.
    sources TEXT NOT NULL,
    -- What it holds of jobs: chunks that it works on, lists that it sorts.
    chunks BIGINT NOT NULL CHECK (chunks >= 0),
    imports BIGINT NOT NULL CHECK (imports >= 0),
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL
);

-- What belongs to one node until a time.
CREATE TABLE lease (
    -- 'schedule', or 'source:' and a public address.
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    -- +1 each time that another node gets it.
    epoch BIGINT NOT NULL,
    held_until BIGINT NOT NULL
);
