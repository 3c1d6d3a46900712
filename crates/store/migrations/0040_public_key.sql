-- The whole key of a `pub` key, which stands in the pages of its websites, so that the widget's code can be shown again. Null for
-- other kinds, whose secret is not stored, and for keys from before.

ALTER TABLE api_key ADD COLUMN public_key TEXT;
