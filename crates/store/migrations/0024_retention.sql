-- What is kept for as long as an organization wishes, and until when credits were wished for.

-- For how many days its log of deliveries is kept. NULL: the instance's value counts, which is the most.
ALTER TABLE org_settings ADD COLUMN delivery_retention_days BIGINT CHECK (delivery_retention_days > 0);
CREATE INDEX org_settings_delivery ON org_settings (org_no) WHERE delivery_retention_days IS NOT NULL;

-- Of a grant: until when it was asked for, which a month's end may have gone before; 0: without an end. NULL: not known.
ALTER TABLE ledger ADD COLUMN asked_until BIGINT;
