-- The key that replaced one by rotation. A key has at most one successor: a second one would get the end of the overlap as its own.
-- Null for keys that were not rotated, and for those rotated before this was recorded.

ALTER TABLE api_key ADD COLUMN replaced_by TEXT;
