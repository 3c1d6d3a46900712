-- Access tokens of accounts whose credentials are exchanged for one. Connections of an organization with the same credentials share a
-- token, because the platform may replace a credential with each exchange.

CREATE TABLE account_token (
    org_no BIGINT NOT NULL,
    -- Tag of the credentials that were entered, as in `connection`.
    account_tag {bytes} NOT NULL,
    -- Access token, and the credential that the platform has replaced (JSON), encrypted. NULL before the first exchange.
    tokens {bytes},
    -- End of the access token. NULL: none is valid.
    expires_at BIGINT,
    -- +1 with each exchange that begins: what an earlier one stores is refused.
    version BIGINT NOT NULL,
    -- Somebody exchanges the credentials, at most until then. NULL: nobody.
    claimed_until BIGINT,
    exchanged_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, account_tag)
);
CREATE INDEX account_token_exchanged ON account_token (exchanged_at);
