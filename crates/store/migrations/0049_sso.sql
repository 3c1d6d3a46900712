-- Single sign-on of an organization by OpenID Connect.

CREATE TABLE org_sso (
    org_no BIGINT NOT NULL PRIMARY KEY,
    -- Exactly as the provider names itself.
    issuer TEXT NOT NULL,
    client_id TEXT NOT NULL,
    -- Encrypted.
    client_secret {bytes} NOT NULL,
    -- 1: members at the proven domains cannot sign in by password, apart from the owner.
    required BIGINT NOT NULL CHECK (required IN (0, 1)),
    -- Role of newcomers; NULL: nobody becomes a member by signing in.
    newcomer_role TEXT,
    -- 1: the provider does not send email_verified, and its addresses are believed.
    believed BIGINT NOT NULL CHECK (believed IN (0, 1)),
    -- Number of the settings: a sign-in that began with others fails.
    version BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
);

CREATE TABLE sso_domain (
    org_no BIGINT NOT NULL,
    domain TEXT NOT NULL,
    -- NULL until the organization has proven that the domain is its own.
    proven_at BIGINT,
    PRIMARY KEY (org_no, domain)
) {clustered};
-- Anybody may claim a domain; one organization has proven it.
CREATE UNIQUE INDEX sso_domain_proven ON sso_domain (domain) WHERE proven_at IS NOT NULL;

-- The provider's accounts that members have signed in with.
CREATE TABLE sso_identity (
    org_no BIGINT NOT NULL,
    user_id TEXT NOT NULL,
    -- Keyed hash of issuer and subject.
    subject {bytes} NOT NULL,
    PRIMARY KEY (org_no, user_id)
) {clustered};
CREATE UNIQUE INDEX sso_identity_subject ON sso_identity (org_no, subject);

-- Sign-ins that have come back from the provider: each may come once.
CREATE TABLE sso_used (
    org_no BIGINT NOT NULL,
    -- Keyed hash of its state.
    flow {bytes} NOT NULL,
    ended_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, flow)
) {clustered};
CREATE INDEX sso_used_age ON sso_used (ended_at);
