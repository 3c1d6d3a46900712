-- Uploads of the dashboard's test mode: their lists are answered by the sandbox.

ALTER TABLE upload ADD COLUMN test BIGINT NOT NULL DEFAULT 0 CHECK (test IN (0, 1));
