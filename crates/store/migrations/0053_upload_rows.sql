-- Rows of an upload that are not in its job, because they have no address: a bit for each row, the lowest first. NULL: there are none.

ALTER TABLE upload ADD COLUMN without {bytes};
