-- By how much the node's clock is ahead of the database's at least, in milliseconds; below zero: behind.
ALTER TABLE node ADD COLUMN ahead_ms BIGINT NOT NULL DEFAULT 0;
