-- Chunks in the order in which they are taken up: each claim reads the first of them, however many wait behind. With the end of the
-- lease before the number, all chunks of a kind were read and sorted each time.
CREATE INDEX chunk_line ON chunk (org_no, job_no, ready_at, chunk_no, leased_until, destination, source);
CREATE INDEX chunk_kind ON chunk (org_no, job_no, destination, source, ready_at, chunk_no, leased_until);
DROP INDEX chunk_ready;
DROP INDEX chunk_destination;
