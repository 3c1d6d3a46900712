-- How many bought credits had been spent when its plan began: what has been spent since then on the plan without a limit
-- was given by that plan.
ALTER TABLE org ADD COLUMN spent_before BIGINT NOT NULL DEFAULT 0 CHECK (spent_before >= 0);
