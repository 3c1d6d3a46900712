-- Messages that somebody sends to try a webhook: few of them may wait, and they are counted before one more is put.
CREATE INDEX outbox_tests_waiting ON outbox (org_no, signer) WHERE kind = 'test' AND state = 'waiting';
