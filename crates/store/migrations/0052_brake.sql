-- What the brake counts: runs that nobody watches are held by what earlier ones have done, too.

-- 1: the brake let the run act without a person. NULL: it was held, a person started it, or it has no verdicts yet.
ALTER TABLE connection_run ADD COLUMN unasked BIGINT;
UPDATE connection_run SET unasked = 1 WHERE cause <> 'manual' AND brake IS NULL AND confirmed_at IS NULL AND state IN ('acting', 'finished');
-- If it was held by what it counts together with such runs: their contacts and their actions that cannot be undone, all of them.
ALTER TABLE connection_run ADD COLUMN together_contacts BIGINT;
ALTER TABLE connection_run ADD COLUMN together_actions BIGINT;
