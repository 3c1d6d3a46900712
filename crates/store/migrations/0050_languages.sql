-- Language in which a member is written to. NULL: unknown, so English.
ALTER TABLE users ADD COLUMN language TEXT;
