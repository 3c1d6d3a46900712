-- The tables of both databases.
--
-- Times are milliseconds since 1970-01-01 UTC, days are counted from then, flags are 0 or 1, ids are the API's texts. Tables of a
-- customer begin their primary key with the organization's number, so that they can be distributed by it. What is read in an order
-- is read by an index of that order; what is asked every few seconds is answered by an index of what it is about.

-- ## Organizations, their people, and keys

CREATE TABLE org (
    org_no BIGINT NOT NULL PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT, plan TEXT NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('active', 'suspended', 'paused', 'banned', 'under_review', 'needs_identity_verification')),
    trial_started_at BIGINT, trial_ends_at BIGINT,
    rate_limit_per_minute BIGINT CHECK (rate_limit_per_minute > 0), -- NULL: the instance's value counts.
    seats_max BIGINT CHECK (seats_max > 0), created_at BIGINT NOT NULL,
    plan_since BIGINT, -- First day of the plan, from which its months are counted. NULL: they are those of the calendar.
    plan_no BIGINT NOT NULL DEFAULT 0, -- Number of earlier plans: credits of a plan's month are booked under it, once.
    renews_at BIGINT, -- When its next month begins and credits are due. NULL: the plan gives none.
    -- Month in which credits were put in because there were none, and how often.
    refilled_in BIGINT, refills BIGINT NOT NULL DEFAULT 0 CHECK (refills >= 0),
    -- What it may use, or may not, whatever its plan says: bits.
    entitled BIGINT NOT NULL DEFAULT 0, unentitled BIGINT NOT NULL DEFAULT 0,
    low_balance BIGINT CHECK (low_balance >= 0), -- Below how many credits its balance is low. NULL: the plan says.
    is_low BIGINT NOT NULL DEFAULT 0 CHECK (is_low IN (0, 1)), -- 1: it is low, and that was told.
    hold_reason TEXT, -- Why the operator stopped it or looks at it, for operators only.
    -- Bought credits spent before the plan began: what was spent since on a plan without a limit was given by that plan.
    spent_before BIGINT NOT NULL DEFAULT 0 CHECK (spent_before >= 0)
);
CREATE INDEX org_renewal ON org (renews_at) WHERE renews_at IS NOT NULL;

-- An organization without a row has wished nothing.
CREATE TABLE org_settings (
    org_no BIGINT NOT NULL,
    -- JSON lists: names of gates, names of statuses, and words, which may be anything that people write.
    ignored_reasons TEXT NOT NULL, ignored_statuses TEXT NOT NULL, banned_words {bytes} NOT NULL, role_words {bytes} NOT NULL,
    retention_days BIGINT CHECK (retention_days > 0), -- For how long its closed jobs are kept. NULL: the instance's value counts.
    -- Its own limit; the operator's is in `org` and counts where it is lower.
    rate_limit_per_minute BIGINT CHECK (rate_limit_per_minute > 0),
    changed_at BIGINT NOT NULL,
    -- The same for its log of deliveries; at most the instance's value.
    delivery_retention_days BIGINT CHECK (delivery_retention_days > 0),
    time_zone TEXT, -- IANA name of the time zone for nights. NULL: UTC.
    PRIMARY KEY (org_no)
) {clustered};
CREATE INDEX org_settings_delivery ON org_settings (org_no) WHERE delivery_retention_days IS NOT NULL;

CREATE TABLE users (
    org_no BIGINT NOT NULL, id TEXT NOT NULL, email {bytes}, name TEXT,
    role TEXT NOT NULL CHECK (role IN ('administrator', 'contributor')),
    is_primary BIGINT NOT NULL CHECK (is_primary IN (0, 1)),
    status TEXT NOT NULL CHECK (status IN ('active', 'invited', 'paused')), created_at BIGINT NOT NULL,
    email_key {bytes}, -- The address as people compare it: unique in an organization.
    -- Whether a link that was sent to the address came back.
    email_verified BIGINT NOT NULL DEFAULT 0 CHECK (email_verified IN (0, 1)),
    identity TEXT CHECK (identity IN ('verified', 'requires_input')), -- What the operator knows of who they are.
    phone TEXT, company TEXT, vat_id TEXT, country TEXT, -- What they say of themselves.
    address {bytes}, -- JSON object of the lines that are given.
    notifications BIGINT NOT NULL DEFAULT 15, -- Bits of what they wish to be told of.
    reports_at BIGINT NOT NULL DEFAULT 0, -- When the next weekly or monthly report is due; 0: not yet planned.
    language TEXT, -- Language in which they are written to. NULL: unknown, so English.
    PRIMARY KEY (org_no, id)
);
CREATE UNIQUE INDEX users_email ON users (org_no, email_key);
CREATE INDEX users_sign_in ON users (email_key);
CREATE INDEX users_list ON users (org_no, created_at, id);
CREATE INDEX users_reports ON users (reports_at);

-- The one-time link that a person can use now, an invitation or leave to set a password; a new one takes its place.
CREATE TABLE invitation (
    org_no BIGINT NOT NULL, user_id TEXT NOT NULL,
    hash {bytes} NOT NULL UNIQUE, -- HMAC-SHA-256 under the pepper of the link that was shown to whoever made it.
    -- The same of the link that is sent to the person's address; that link follows from the seed and the pepper.
    mailed_hash {bytes} UNIQUE,
    mail_seed {bytes}, mail_state TEXT NOT NULL CHECK (mail_state IN ('none', 'waiting', 'sent', 'failed')),
    mail_attempts BIGINT NOT NULL CHECK (mail_attempts >= 0), -- Attempts that came to an end.
    mail_next_at BIGINT NOT NULL,
    mail_lease_until BIGINT, mail_run TEXT, -- While somebody is sending it: until when, and who.
    created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL,
    mail_language TEXT, -- Language of the mail with the link. NULL: English.
    PRIMARY KEY (org_no, user_id)
);
CREATE INDEX invitation_mail ON invitation (mail_next_at) WHERE mail_state = 'waiting';

CREATE TABLE password (
    org_no BIGINT NOT NULL, user_id TEXT NOT NULL,
    -- Keyed hash of the address, by which who signs in is found: the same in every organization that has the address.
    who {bytes} NOT NULL,
    hash {bytes} NOT NULL, -- What argon2id made of the password, hashed again under a key outside the database.
    memory_kib BIGINT NOT NULL CHECK (memory_kib > 0), passes BIGINT NOT NULL CHECK (passes > 0), -- What argon2id spends.
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, user_id)
);
CREATE INDEX password_who ON password (who);

-- Requests for a link to replace a forgotten password. Whoever asks is stored alike, whether the address is a member's or nobody's:
-- who it is, is found out when the mail is made.
CREATE TABLE forgotten_password (
    who {bytes} NOT NULL PRIMARY KEY, -- Keyed hash of the address, as in `password`.
    language TEXT, -- Language of the page that asked. NULL: unknown.
    asked_at BIGINT NOT NULL
);
CREATE INDEX forgotten_password_asked ON forgotten_password (asked_at);

-- Browsers in which people are signed in.
CREATE TABLE session (
    org_no BIGINT NOT NULL,
    id TEXT NOT NULL, -- By it people tell their sessions apart; it opens nothing.
    user_id TEXT NOT NULL,
    token_hash {bytes} NOT NULL UNIQUE, -- Keyed hash of the token in the cookie.
    client TEXT NOT NULL, -- Which browser on which system, in a few words of ours.
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL, -- When it was used last, to the minute.
    PRIMARY KEY (org_no, id)
);
CREATE INDEX session_of ON session (org_no, user_id, seen_at);
CREATE INDEX session_age ON session (seen_at);

CREATE TABLE second_factor (
    org_no BIGINT NOT NULL, user_id TEXT NOT NULL,
    secret {bytes} NOT NULL, -- Secret that codes are made with, encrypted under a key outside the database.
    confirmed_at BIGINT, -- NULL: shown, and not asked for until a code has shown that it arrived.
    used_step BIGINT NOT NULL, -- Newest step of time whose code was used.
    PRIMARY KEY (org_no, user_id)
);

-- Codes that each replace a code of the second factor, once.
CREATE TABLE recovery_code (
    org_no BIGINT NOT NULL, user_id TEXT NOT NULL, hash {bytes} NOT NULL,
    PRIMARY KEY (org_no, user_id, hash)
) {clustered};

-- Attempts to sign in that came to nothing. Accounts and networks share a fixed number of rows, by keyed hashes.
CREATE TABLE attempt (
    slot BIGINT NOT NULL PRIMARY KEY, failures BIGINT NOT NULL CHECK (failures >= 0),
    next_at BIGINT NOT NULL, -- Until then the next attempt is refused.
    forget_at BIGINT NOT NULL -- From then on it is as if there had been none.
);
CREATE INDEX attempt_age ON attempt (forget_at);

-- Single sign-on of an organization by OpenID Connect.
CREATE TABLE org_sso (
    org_no BIGINT NOT NULL PRIMARY KEY,
    issuer TEXT NOT NULL, -- Exactly as the provider names itself.
    client_id TEXT NOT NULL,
    client_secret {bytes} NOT NULL, -- Encrypted.
    -- 1: members at the proven domains cannot sign in by password, apart from the owner.
    required BIGINT NOT NULL CHECK (required IN (0, 1)),
    newcomer_role TEXT, -- Role of newcomers; NULL: nobody becomes a member by signing in.
    -- 1: the provider does not send email_verified, and its addresses are believed.
    believed BIGINT NOT NULL CHECK (believed IN (0, 1)),
    version BIGINT NOT NULL, -- Number of the settings: a sign-in that began with others fails.
    changed_at BIGINT NOT NULL
);

-- The record that proves a domain is looked up again, because a domain may pass to somebody else.
CREATE TABLE sso_domain (
    org_no BIGINT NOT NULL, domain TEXT NOT NULL,
    proven_at BIGINT, -- NULL until the organization has proven that the domain is its own.
    look_at BIGINT, -- Next lookup of the record. NULL: there is no proof, or the operator gave it without a record.
    missed_at BIGINT, -- When the record was first found missing. NULL: it was there at the last lookup that told.
    PRIMARY KEY (org_no, domain)
) {clustered};
-- Anybody may claim a domain; one organization has proven it.
CREATE UNIQUE INDEX sso_domain_proven ON sso_domain (domain) WHERE proven_at IS NOT NULL;
CREATE INDEX sso_domain_look ON sso_domain (look_at) WHERE look_at IS NOT NULL;

-- The provider's accounts that members have signed in with.
CREATE TABLE sso_identity (
    org_no BIGINT NOT NULL, user_id TEXT NOT NULL,
    subject {bytes} NOT NULL, -- Keyed hash of issuer and subject.
    PRIMARY KEY (org_no, user_id)
) {clustered};
CREATE UNIQUE INDEX sso_identity_subject ON sso_identity (org_no, subject);

-- Sign-ins that have come back from the provider: each may come once.
CREATE TABLE sso_used (
    org_no BIGINT NOT NULL,
    flow {bytes} NOT NULL, -- Keyed hash of its state.
    ended_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, flow)
) {clustered};
CREATE INDEX sso_used_age ON sso_used (ended_at);

CREATE TABLE api_key (
    org_no BIGINT NOT NULL, id TEXT NOT NULL, user_id TEXT, name TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('live', 'rk', 'test', 'pub')),
    scopes BIGINT NOT NULL, -- Bits.
    origins TEXT NOT NULL, -- JSON list; only a `pub` key has any.
    hash {bytes} NOT NULL UNIQUE, -- HMAC-SHA-256 of the whole key under the pepper.
    prefix TEXT NOT NULL, last4 TEXT NOT NULL, rate_limit_per_minute BIGINT CHECK (rate_limit_per_minute > 0),
    created_at BIGINT NOT NULL, expires_at BIGINT, revoked_at BIGINT, last_used_at BIGINT,
    daily_cap BIGINT CHECK (daily_cap > 0), -- Credits that a `pub` key may spend a day (UTC). NULL: the instance's value counts.
    -- The whole `pub` key, which is in the pages of its websites, to show the widget's code again. NULL: it is not known.
    public_key TEXT,
    replaced_by TEXT, -- Key that replaced it by rotation: at most one, because another would get the end of the overlap as its own.
    PRIMARY KEY (org_no, id)
);
CREATE INDEX api_key_list ON api_key (org_no, created_at, id);

-- Token buckets that nodes share: when each would be full again, in microseconds.
CREATE TABLE rate_bucket (
    org_no BIGINT NOT NULL,
    bucket TEXT NOT NULL, -- A key's id, or '' for the organization.
    full_at_us BIGINT NOT NULL,
    granted BIGINT NOT NULL, -- Tokens that the last call got.
    PRIMARY KEY (org_no, bucket)
) {clustered};

-- ## Credits and usage

-- A cache of the ledger's sums, and the guard against spending what is not there.
CREATE TABLE account (
    org_no BIGINT NOT NULL, bucket TEXT NOT NULL CHECK (bucket IN ('subscription', 'prepaid')),
    available BIGINT NOT NULL CHECK (available >= 0), held BIGINT NOT NULL CHECK (held >= 0),
    spent BIGINT NOT NULL CHECK (spent >= 0),
    expires_at BIGINT, -- When what is available goes (subscriptions).
    PRIMARY KEY (org_no, bucket)
);
CREATE INDEX account_expiry ON account (expires_at) WHERE available > 0 AND expires_at IS NOT NULL;

-- Append-only. An amount is split over the two buckets; all amounts are positive but those of `adjust`.
CREATE TABLE ledger (
    org_no BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('grant', 'hold', 'capture', 'release', 'expire', 'adjust')),
    ref TEXT NOT NULL, -- What caused it; the same cause books once.
    subscription BIGINT NOT NULL, prepaid BIGINT NOT NULL, at BIGINT NOT NULL,
    fold_after BIGINT, -- From when on it may be folded into a sum, because nobody will use its reference again. NULL: never.
    asked_until BIGINT, -- Of a grant: its end as asked for, which may be after the month's; 0: without an end. NULL: not known.
    PRIMARY KEY (org_no, kind, ref),
    CHECK (kind = 'adjust' OR (subscription >= 0 AND prepaid >= 0))
);
CREATE INDEX ledger_fold ON ledger (fold_after) WHERE fold_after IS NOT NULL;
-- Grants, corrections and what expired, by time: what the balance was made of.
CREATE INDEX ledger_booked ON ledger (org_no, at) WHERE kind IN ('grant', 'expire', 'adjust');

-- Credits that are set aside and neither captured nor released yet.
CREATE TABLE hold (
    org_no BIGINT NOT NULL, id TEXT NOT NULL,
    subscription BIGINT NOT NULL CHECK (subscription >= 0), prepaid BIGINT NOT NULL CHECK (prepaid >= 0),
    created_at BIGINT NOT NULL,
    expires_at BIGINT, -- NULL: as long as its job lives.
    PRIMARY KEY (org_no, id)
);
CREATE INDEX hold_expiry ON hold (expires_at) WHERE expires_at IS NOT NULL;

-- Verifications by day (UTC), where they came from, and reason.
CREATE TABLE usage_day (
    org_no BIGINT NOT NULL, day BIGINT NOT NULL, source TEXT NOT NULL,
    connection_id TEXT NOT NULL, -- The connection whose data it was; '' for none.
    reason TEXT NOT NULL, verified BIGINT NOT NULL, charged BIGINT NOT NULL,
    PRIMARY KEY (org_no, day, source, connection_id, reason)
) {clustered};

-- Verifications by day (UTC) and the provider that the domain's exchangers belong to; '' where they belong to none that we know.
CREATE TABLE usage_provider_day (
    org_no BIGINT NOT NULL, day BIGINT NOT NULL, provider TEXT NOT NULL,
    verified BIGINT NOT NULL CHECK (verified >= 0), unknown BIGINT NOT NULL CHECK (unknown >= 0),
    PRIMARY KEY (org_no, day, provider)
) {clustered};

-- Verifications by day (UTC) and API key, and by day and domain. Written by the transaction that charges, like `usage_day`.
CREATE TABLE usage_part_day (
    org_no BIGINT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('key', 'domain')), day BIGINT NOT NULL,
    -- A key's id, '' for what no key caused; or a domain, of which a day has few: the others are only in `usage_day`.
    part TEXT NOT NULL,
    verified BIGINT NOT NULL CHECK (verified >= 0), charged BIGINT NOT NULL CHECK (charged >= 0),
    PRIMARY KEY (org_no, kind, day, part)
) {clustered};

-- Credits that a key of the widget has taken of its day. A row stands for a day that has no job yet: the job that sums the day up
-- takes the rows of all keys away.
CREATE TABLE widget_day (
    org_no BIGINT NOT NULL, key_id TEXT NOT NULL, day BIGINT NOT NULL, taken BIGINT NOT NULL CHECK (taken >= 0),
    PRIMARY KEY (org_no, key_id, day)
) {clustered};
CREATE INDEX widget_day_over ON widget_day (day, org_no);

-- Nonces that were used, for as long as they would be good.
CREATE TABLE widget_nonce (
    org_no BIGINT NOT NULL, nonce TEXT NOT NULL, expires_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, nonce)
) {clustered};
CREATE INDEX widget_nonce_age ON widget_nonce (expires_at);

-- Credits that checks have taken of their keys' days, and neither spent nor returned. The row is removed by whatever ends it: the
-- charge, the return, or its end, which returns the credit of a process that died. So a credit comes back once, whoever tries how
-- often.
CREATE TABLE widget_pass (
    org_no BIGINT NOT NULL,
    nonce TEXT NOT NULL, -- Of the check.
    key_id TEXT NOT NULL, day BIGINT NOT NULL, held_until BIGINT NOT NULL,
    PRIMARY KEY (org_no, nonce)
) {clustered};
CREATE INDEX widget_pass_age ON widget_pass (held_until);

-- ## Idempotency

-- Requests with an Idempotency-Key: locked while they run, answered while they are kept.
CREATE TABLE idempotency (
    org_no BIGINT NOT NULL,
    key_hash {bytes} NOT NULL, -- Keyed hash of method, path and key.
    body_hash {bytes} NOT NULL, -- Hash of the raw body.
    run TEXT NOT NULL, -- Which run holds the lock: a run that lost it cannot store its answer.
    locked_until BIGINT, status BIGINT,
    answer {bytes}, -- Encrypted under a key that only the one who knows the Idempotency-Key can derive.
    created_at BIGINT NOT NULL,
    names_address BIGINT NOT NULL DEFAULT 1 CHECK (names_address IN (0, 1)), -- Whether the kept answer may name an address.
    PRIMARY KEY (org_no, key_hash)
);
CREATE INDEX idempotency_age ON idempotency (created_at);

-- ## Jobs: what was submitted, the work that is left, and what came out

CREATE TABLE job (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL, id TEXT NOT NULL UNIQUE,
    test BIGINT NOT NULL CHECK (test IN (0, 1)), -- 1: made with a test key; it spends nothing and only test keys see it.
    source TEXT NOT NULL CHECK (source IN ('api', 'csv', 'input', 'widget', 'zapier', 'integration')),
    started_by TEXT, source_action TEXT, actor TEXT,
    -- `unborn`: its addresses are still arriving; nobody sees it.
    state TEXT NOT NULL
        CHECK (state IN ('unborn', 'queued', 'importing', 'ready', 'processing', 'completed', 'cancelled', 'force_stopped')),
    is_open BIGINT NOT NULL CHECK (is_open IN (0, 1)), -- 1 while there is something to do.
    webhook_url {bytes},
    rows_total BIGINT NOT NULL CHECK (rows_total >= 0), -- Rows that were submitted; the counters count rows, repeated ones too.
    processed BIGINT NOT NULL CHECK (processed >= 0), passed BIGINT NOT NULL CHECK (passed >= 0),
    undeliverable BIGINT NOT NULL CHECK (undeliverable >= 0), risky BIGINT NOT NULL CHECK (risky >= 0),
    unknown BIGINT NOT NULL CHECK (unknown >= 0), charged BIGINT NOT NULL CHECK (charged >= 0),
    epoch BIGINT NOT NULL, -- +1 each time that somebody takes the import up.
    leased_until BIGINT,
    next_chunk BIGINT NOT NULL, -- Chunks get their numbers from here.
    parts BIGINT NOT NULL DEFAULT 0 CHECK (parts >= 0), -- Number of the last part of its results.
    created_at BIGINT NOT NULL, started_at BIGINT, finished_at BIGINT,
    progress_at BIGINT NOT NULL, -- When it last came on; a job that stands still for too long is stopped.
    -- 0: results lie in parts. 1: blocks of them count; the parts are being removed. 2: blocks only. 3: neither results nor
    -- addresses, because they were old.
    packed BIGINT NOT NULL DEFAULT 0 CHECK (packed IN (0, 1, 2, 3)),
    keeper_until BIGINT, -- While somebody packs it: until when.
    purged_at BIGINT, -- From when on nobody reads its rows any more.
    rewritten BIGINT NOT NULL DEFAULT 0, -- +1 each time that results were written anew: whoever remembers them reads them again.
    connection_id TEXT, integration TEXT, -- Connection and platform of a job that is a run.
    title TEXT, tags TEXT, -- Name and tags (JSON) that customers give it; a file's name, until somebody gives another.
    repeated BIGINT, -- Rows whose address is in an earlier row. NULL: not counted.
    hurried_at BIGINT, -- When somebody asked to finish it: deferred addresses are asked once more and not deferred again.
    deleted_at BIGINT, -- When somebody deleted it: nobody sees it, and its rows are removed as at the end of their retention.
    PRIMARY KEY (org_no, job_no),
    CHECK (processed = passed + undeliverable + risky + unknown),
    CHECK (processed <= rows_total)
);
CREATE INDEX job_open ON job (created_at, org_no, job_no) WHERE is_open = 1;
CREATE INDEX job_list ON job (org_no, test, created_at, job_no);
CREATE INDEX job_to_pack ON job (finished_at) WHERE packed < 2;
CREATE INDEX job_unborn ON job (created_at) WHERE state = 'unborn' AND purged_at IS NULL; -- Submissions that are under way.
-- Jobs whose rows are kept. Each organization has its own time for them.
CREATE INDEX job_kept ON job (org_no, finished_at) WHERE packed = 2 AND purged_at IS NULL;
-- Jobs whose rows are being removed: packed ones that are old, and submissions that came to nothing.
CREATE INDEX job_marked ON job (purged_at) WHERE packed < 3 AND purged_at IS NOT NULL;
CREATE INDEX job_emptied ON job (finished_at) WHERE packed = 3; -- Jobs of which only the counts are left.
-- Open jobs of each organization, the oldest first, for whoever looks for work.
CREATE INDEX job_open_of ON job (org_no, created_at, job_no) WHERE is_open = 1;
-- By the time at which its processing began, or before that at which it was accepted.
CREATE INDEX job_timeline ON job (org_no, test, (COALESCE(started_at, created_at)), job_no);
CREATE INDEX job_deleted ON job (deleted_at) WHERE deleted_at IS NOT NULL AND purged_at IS NULL;

-- Addresses as they were submitted, a thousand to a block.
CREATE TABLE job_block (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL, first_idx BIGINT NOT NULL, body {bytes} NOT NULL,
    PRIMARY KEY (org_no, job_no, first_idx)
);

-- Rows whose address is in an earlier row; they share its result.
CREATE TABLE job_duplicate (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL, idx BIGINT NOT NULL, first_idx BIGINT NOT NULL,
    PRIMARY KEY (org_no, job_no, idx)
) {clustered};
-- Rows that share the result of a row: each of their contacts gets its own action.
CREATE INDEX job_duplicate_first ON job_duplicate (org_no, job_no, first_idx);

-- Work that is left: up to a thousand addresses, sorted by domain. It is gone when all of its rows have results or were put into
-- later chunks.
CREATE TABLE chunk (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL, chunk_no BIGINT NOT NULL, ready_at BIGINT NOT NULL,
    size BIGINT NOT NULL,
    -- Where all of its addresses go: `@` and a domain, or a place whose limits have held them back; '' for many places.
    destination TEXT NOT NULL,
    source TEXT NOT NULL, -- The source that alone should ask, because servers know these addresses from there; '' for any.
    left_rows {bytes}, -- Which of the body's rows are left, a bit each. NULL: all.
    held_since BIGINT, -- Since when rows that say nothing else have been waiting because limits of ours hold them back.
    epoch BIGINT NOT NULL, -- +1 each time that somebody takes it up: results of an earlier holder are refused.
    leased_until BIGINT,
    body {bytes} NOT NULL, -- Behind the others, which are read without it.
    PRIMARY KEY (org_no, job_no, chunk_no)
);
-- Chunks in the order in which they are taken up: each claim reads the first, however many wait behind.
CREATE INDEX chunk_line ON chunk (org_no, job_no, ready_at, chunk_no, leased_until, destination, source);
CREATE INDEX chunk_kind ON chunk (org_no, job_no, destination, source, ready_at, chunk_no, leased_until);

-- Part of a chunk's results, as it was settled: up to a thousand rows, in no order among parts (`jobs/part.rs`). Parts are added
-- and, when the job is packed, removed; none is changed.
CREATE TABLE result_part (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL,
    -- From 1 on, in the order of settling: whoever has read up to one finds what is new behind it.
    part_no BIGINT NOT NULL CHECK (part_no > 0),
    chunk_no BIGINT NOT NULL, body {bytes} NOT NULL,
    PRIMARY KEY (org_no, job_no, part_no)
);
CREATE UNIQUE INDEX result_part_chunk ON result_part (org_no, job_no, chunk_no, part_no); -- What of a chunk has results.

-- Results of closed jobs, a thousand rows to a block: those of the block of addresses with the same number.
CREATE TABLE result_block (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL, first_idx BIGINT NOT NULL, body {bytes} NOT NULL,
    PRIMARY KEY (org_no, job_no, first_idx)
);

-- Rows of a job by reason.
CREATE TABLE job_reason (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL, reason TEXT NOT NULL, n BIGINT NOT NULL,
    PRIMARY KEY (org_no, job_no, reason)
) {clustered};

-- Rows of a job by provider and status.
CREATE TABLE job_provider (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL, provider TEXT NOT NULL,
    passed BIGINT NOT NULL CHECK (passed >= 0), undeliverable BIGINT NOT NULL CHECK (undeliverable >= 0),
    risky BIGINT NOT NULL CHECK (risky >= 0), unknown BIGINT NOT NULL CHECK (unknown >= 0),
    PRIMARY KEY (org_no, job_no, provider)
) {clustered};

-- Links that show a list's summary to people without an account. A list has at most one; the token itself is not stored.
CREATE TABLE list_share (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL, token_hash {bytes} NOT NULL UNIQUE,
    named BIGINT NOT NULL, -- Whether the list's name is shown.
    created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, job_no)
);

-- ## Uploads: lists that people put up as files or paste in the dashboard, with all of their columns

CREATE TABLE upload (
    org_no BIGINT NOT NULL, upload_no BIGINT NOT NULL, id TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL CHECK (source IN ('csv', 'input')), -- What a job of it says of its source.
    -- `arriving`: nobody sees it. `gone`: nobody sees it any more, and its rows are being removed.
    state TEXT NOT NULL CHECK (state IN ('arriving', 'ready', 'started', 'gone')),
    user_id TEXT NOT NULL, -- The person who put it up.
    about {bytes}, -- Its name, kind and columns: the server's text, sealed.
    rows_total BIGINT NOT NULL CHECK (rows_total >= 0), -- Rows that are stored, the header included.
    size BIGINT NOT NULL CHECK (size >= 0), -- Bytes of the file as it came.
    header BIGINT NOT NULL CHECK (header IN (0, 1)), -- 1: the first row names the columns.
    column_no BIGINT, -- The column with the addresses, from 0. NULL: nobody has said which.
    -- What is in that column. `counted` 0: it has to be counted anew.
    counted BIGINT NOT NULL CHECK (counted IN (0, 1)), addresses BIGINT NOT NULL CHECK (addresses >= 0),
    blank BIGINT NOT NULL CHECK (blank >= 0), repeated BIGINT NOT NULL CHECK (repeated >= 0),
    invalid BIGINT NOT NULL CHECK (invalid >= 0),
    domains {bytes}, -- How many addresses each domain has: the server's bytes, sealed.
    job_no BIGINT, job_id TEXT, -- The job that was made of it.
    created_at BIGINT NOT NULL,
    touched_at BIGINT NOT NULL, -- When something was last done with it; from then on it is kept.
    test BIGINT NOT NULL DEFAULT 0 CHECK (test IN (0, 1)), -- 1: its list is answered by the sandbox.
    -- Rows without an address, which are not in its job: a bit for each row, the lowest first. NULL: there are none.
    without {bytes},
    PRIMARY KEY (org_no, upload_no)
);
CREATE INDEX upload_touched ON upload (state, touched_at);
CREATE INDEX upload_job ON upload (org_no, job_no) WHERE job_no IS NOT NULL;
CREATE INDEX upload_list ON upload (org_no, created_at, upload_no);
-- Uploads that are kept. Each organization has its own time for them.
CREATE INDEX upload_kept ON upload (org_no, touched_at) WHERE state IN ('ready', 'started');

-- Its rows with all of their cells, up to a thousand to a block.
CREATE TABLE upload_block (
    org_no BIGINT NOT NULL, upload_no BIGINT NOT NULL, first_idx BIGINT NOT NULL, body {bytes} NOT NULL,
    PRIMARY KEY (org_no, upload_no, first_idx)
);

-- ## Connections to email platforms, their rules, runs, and actions on contacts

CREATE TABLE connection (
    org_no BIGINT NOT NULL, id TEXT NOT NULL,
    test BIGINT NOT NULL CHECK (test IN (0, 1)), -- 1: created with a test key. Its runs get sandbox verdicts and never act.
    provider TEXT NOT NULL, -- Slug of the platform's file.
    name TEXT NOT NULL, status TEXT NOT NULL CHECK (status IN ('active', 'disconnected')),
    disconnected_why TEXT, -- `deleted`, `credential`.
    credentials {bytes}, -- Always encrypted. NULL after deletion.
    -- Keyed hash of the platform and the account's credentials: connections of one account share its rate limits.
    account_tag {bytes} NOT NULL,
    settings TEXT NOT NULL, -- JSON, as the API shows them, with the names of the tag and the field.
    memory TEXT NOT NULL, -- IDs of tags and fields at the platform (JSON).
    -- Numbers of its rules.
    blacklist_count BIGINT NOT NULL CHECK (blacklist_count >= 0), whitelist_count BIGINT NOT NULL CHECK (whitelist_count >= 0),
    watermark BIGINT, -- The last complete run saw every contact that was created before this time.
    trusted_at BIGINT, -- When a person first let a run act. Until then, every run waits for confirmation.
    created_at BIGINT NOT NULL, last_synced_at BIGINT, disconnected_at BIGINT,
    poll_mailed_day BIGINT NOT NULL DEFAULT 0, -- Day (UTC) of the last mail about a poll that waits.
    -- How often keyword rules have let runs act on more contacts: added to the blacklist, or removed from the whitelist.
    rules_widened BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (org_no, id)
);
CREATE INDEX connection_list ON connection (org_no, test, provider, created_at, id);
CREATE INDEX connection_deleted ON connection (disconnected_at) WHERE disconnected_why = 'deleted';

CREATE TABLE connection_rule (
    org_no BIGINT NOT NULL, connection_id TEXT NOT NULL, id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('blacklist', 'whitelist')),
    tag {bytes} NOT NULL, -- Keyed hash of what it matches: none is there twice.
    body {bytes} NOT NULL, -- The keyword and what it applies to (JSON), sealed: a keyword may be an address.
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, id)
);
CREATE INDEX connection_rule_list ON connection_rule (org_no, connection_id, kind, created_at, id);
CREATE UNIQUE INDEX connection_rule_tag ON connection_rule (org_no, connection_id, kind, tag);

-- Automatic runs of connections.
CREATE TABLE connection_schedule (
    org_no BIGINT NOT NULL, connection_id TEXT NOT NULL,
    cause TEXT NOT NULL CHECK (cause IN ('autofloss', 'instafloss', 'decay_protection')),
    due_at BIGINT NOT NULL, -- Slot of the next run. Slots that were missed are one.
    next_at BIGINT, -- When to try, later than the slot after a failure. NULL while the connection is disconnected.
    failures BIGINT NOT NULL CHECK (failures >= 0), -- Runs in a row that failed.
    waits_for TEXT CHECK (waits_for IN ('credits', 'failed', 'first_run')), -- Why the slot waits.
    begun_at BIGINT NOT NULL, done_at BIGINT, -- When the schedule was switched on, and the start of the last complete run.
    watermark BIGINT, -- Creation date up to which polls have seen every contact. Other runs use the connection's.
    PRIMARY KEY (org_no, connection_id, cause)
) {clustered};
CREATE INDEX connection_schedule_next ON connection_schedule (next_at) WHERE next_at IS NOT NULL;

-- Platforms report new contacts, which makes the next poll due.
CREATE TABLE connection_hook (
    org_no BIGINT NOT NULL, connection_id TEXT NOT NULL,
    wanted BIGINT NOT NULL CHECK (wanted IN (0, 1)), -- 0: to be removed at the platform.
    keys {bytes}, -- Secrets and IDs of the registrations (JSON), encrypted. NULL before the first.
    fault TEXT, -- Why the last attempt to register failed, for the customer. No address, no credential.
    failures BIGINT NOT NULL CHECK (failures >= 0), -- Attempts in a row that failed.
    version BIGINT NOT NULL, -- +1 each time somebody takes it up: what an earlier holder writes is refused.
    next_at BIGINT, -- Next look at the registration. NULL while the connection is disconnected.
    registered_at BIGINT, -- When the platform accepted the current registration.
    last_event_at BIGINT,
    PRIMARY KEY (org_no, connection_id)
);
CREATE UNIQUE INDEX connection_hook_id ON connection_hook (connection_id); -- The URL has no organization.
CREATE INDEX connection_hook_next ON connection_hook (next_at) WHERE next_at IS NOT NULL;

-- Access tokens of accounts whose credentials are exchanged for one. Connections of an organization with the same credentials share
-- a token, because the platform may replace a credential with each exchange.
CREATE TABLE account_token (
    org_no BIGINT NOT NULL,
    account_tag {bytes} NOT NULL, -- Tag of the credentials that were entered, as in `connection`.
    -- Access token and the credential that the platform has replaced (JSON), encrypted. NULL before the first exchange.
    tokens {bytes},
    expires_at BIGINT, -- End of the access token. NULL: none is valid.
    version BIGINT NOT NULL, -- +1 with each exchange that begins: what an earlier one stores is refused.
    claimed_until BIGINT, -- Somebody exchanges the credentials, at most until then. NULL: nobody.
    exchanged_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, account_tag)
);
CREATE INDEX account_token_exchanged ON account_token (exchanged_at);

-- A run is a job (same ID); this is what a job does not have.
CREATE TABLE connection_run (
    org_no BIGINT NOT NULL, id TEXT NOT NULL, job_no BIGINT NOT NULL, connection_id TEXT NOT NULL,
    cause TEXT NOT NULL CHECK (cause IN ('manual', 'autofloss', 'instafloss', 'decay_protection')),
    dry BIGINT NOT NULL CHECK (dry IN (0, 1)), -- 1: shows what would happen; a person may let it happen later.
    state TEXT NOT NULL
        CHECK (state IN ('reading', 'verifying', 'needs_confirmation', 'acting', 'finished', 'failed', 'cancelled')),
    fault TEXT, -- Why it failed, for the customer. No address, no credential.
    brake TEXT CHECK (brake IN ('dry_run', 'manual_mode', 'first_run', 'too_many_actions')), -- Why it waits for a person.
    settings TEXT NOT NULL, -- Settings at the start (JSON).
    account_tag {bytes} NOT NULL, -- Account that is read: IDs of its contacts mean nothing in another one.
    position {bytes}, -- Where reading stands (JSON), sealed. NULL: at the start, or everything was read.
    lists {bytes}, -- IDs of the platform's lists (JSON), sealed. Rows name lists by their places here.
    since BIGINT, -- Only contacts created after this time are read. NULL: all.
    watermark BIGINT, -- Every contact that was created before this time was read.
    -- Contacts that were read, and those of them that became rows of the job.
    contacts BIGINT NOT NULL CHECK (contacts >= 0), rows_total BIGINT NOT NULL CHECK (rows_total >= 0),
    epoch BIGINT NOT NULL, -- +1 each time somebody takes it up: what an earlier holder writes is refused.
    leased_until BIGINT,
    next_at BIGINT NOT NULL, -- Not before this time: the platform asked us to wait.
    -- Calls in a row that failed, and when the platform first refused the credentials.
    failures BIGINT NOT NULL CHECK (failures >= 0), refused_at BIGINT,
    created_at BIGINT NOT NULL, confirmed_at BIGINT, finished_at BIGINT,
    due_at BIGINT, -- Slot that it stands for; NULL if a person started it. Each has one run that did not fail.
    -- Of decay protection: last contact of its share, by verdict's time and hash; share of those without.
    cut_at BIGINT, cut_contact {bytes}, fresh_ppm BIGINT,
    -- Of polling: creation of the oldest contact that became a row, and the time from there to the verdicts.
    oldest_at BIGINT, delay_ms BIGINT,
    skipped BIGINT NOT NULL DEFAULT 0 CHECK (skipped >= 0), -- Records without an address or an ID, which cannot be verified.
    unasked BIGINT, -- 1: the brake let it act without a person. NULL: it was held, a person started it, or it has no verdicts yet.
    -- If the brake held it by what it counts together with earlier runs that nobody watched: their contacts, and their actions that
    -- cannot be undone, all of them.
    together_contacts BIGINT, together_actions BIGINT,
    -- The connection's at the start: confirming the run trusts the connection only if nothing was added since.
    rules_widened BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (org_no, id)
);
CREATE INDEX connection_run_list ON connection_run (org_no, connection_id, created_at, id);
CREATE INDEX connection_run_due ON connection_run (next_at) WHERE state IN ('reading', 'verifying', 'acting');
-- A run that is still going is not started again.
CREATE UNIQUE INDEX connection_run_going ON connection_run (org_no, connection_id)
    WHERE state IN ('reading', 'verifying', 'acting');
CREATE UNIQUE INDEX connection_run_job ON connection_run (org_no, job_no);
CREATE INDEX connection_run_old ON connection_run (finished_at) WHERE finished_at IS NOT NULL;
CREATE UNIQUE INDEX connection_run_slot ON connection_run (org_no, connection_id, cause, due_at)
    WHERE due_at IS NOT NULL AND state <> 'failed';

-- Contact IDs of a run's rows, each with the first of its lists, sealed. The block of addresses with the same index is the job's.
CREATE TABLE contact_block (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL, first_idx BIGINT NOT NULL, body {bytes} NOT NULL,
    PRIMARY KEY (org_no, job_no, first_idx)
);

-- Other lists of a run's contacts.
CREATE TABLE contact_list (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL, idx BIGINT NOT NULL, list_no BIGINT NOT NULL,
    PRIMARY KEY (org_no, job_no, idx, list_no)
) {clustered};

-- What the platform says of a run's contacts, where that is a finding.
CREATE TABLE contact_report (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL, idx BIGINT NOT NULL,
    report TEXT NOT NULL CHECK (report IN ('bounced', 'complained')),
    PRIMARY KEY (org_no, job_no, idx)
) {clustered};

-- What is known of a contact without its address: keyed hashes.
CREATE TABLE contact_mark (
    org_no BIGINT NOT NULL, connection_id TEXT NOT NULL, contact {bytes} NOT NULL, address {bytes} NOT NULL,
    job_no BIGINT NOT NULL, idx BIGINT NOT NULL, -- Last run that read it, and its row.
    seen_at BIGINT NOT NULL,
    acted TEXT, acted_at BIGINT, -- Last action that was done.
    -- When the address was last read to be verified; and before the last run that read it, which counts if that run fails.
    verified_at BIGINT, before_at BIGINT,
    changed_at BIGINT, -- Last change of the contact, by the platform's clock. NULL: the platform does not say.
    -- What the last action did, and to which address, as a keyed hash: none repeats it while the contact stays as it is.
    effect {bytes},
    PRIMARY KEY (org_no, connection_id, contact)
);
CREATE INDEX contact_mark_age ON contact_mark (org_no, connection_id, verified_at, contact);
CREATE INDEX contact_mark_acted ON contact_mark (org_no, job_no, idx) WHERE acted IS NOT NULL;

CREATE TABLE contact_action (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL,
    idx BIGINT NOT NULL, -- Row of the job.
    connection_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('unsubscribe', 'delete', 'update_tags', 'update_custom_fields', 'fix')),
    reason TEXT NOT NULL,
    -- When the address got its verdict (for `fix`: the suggestion), and when that was last confirmed.
    verified_at BIGINT NOT NULL, checked_at BIGINT,
    -- `planned`: waits for a person or for the brake. `parked`: the platform refused our request; the operator looks.
    state TEXT NOT NULL CHECK (state IN ('planned', 'due', 'done', 'gone', 'taken', 'refused', 'parked', 'ignored')),
    attempts BIGINT NOT NULL CHECK (attempts >= 0),
    message TEXT, -- What the platform said, without addresses and credentials.
    undo {bytes}, -- Values before the action (JSON), sealed, for tags and fields.
    settled_at BIGINT,
    PRIMARY KEY (org_no, job_no, idx)
);
CREATE INDEX contact_action_due ON contact_action (org_no, job_no, idx) WHERE state = 'due';
CREATE INDEX contact_action_review ON contact_action (org_no, connection_id, job_no, idx) WHERE state = 'planned';

-- A run's actions, counted.
CREATE TABLE contact_action_count (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL, kind TEXT NOT NULL, reason TEXT NOT NULL, state TEXT NOT NULL,
    actions BIGINT NOT NULL,
    PRIMARY KEY (org_no, job_no, kind, reason, state)
) {clustered};

-- Done actions of contacts by day (UTC). The actions themselves may be purged before the month is reported.
CREATE TABLE contact_action_day (
    org_no BIGINT NOT NULL, day BIGINT NOT NULL, kind TEXT NOT NULL, actions BIGINT NOT NULL,
    PRIMARY KEY (org_no, day, kind)
) {clustered};

-- What the address of a contact last was. Unknown is no verdict.
CREATE TABLE address_verdict (
    org_no BIGINT NOT NULL, test BIGINT NOT NULL CHECK (test IN (0, 1)),
    tag {bytes} NOT NULL, -- Keyed hash of the address.
    status TEXT NOT NULL CHECK (status IN ('passed', 'undeliverable', 'risky')),
    seen_at BIGINT NOT NULL, -- When a run last had this verdict, to within two months.
    PRIMARY KEY (org_no, test, tag)
) {clustered};
CREATE INDEX address_verdict_old ON address_verdict (seen_at);

-- Rows of runs whose address had another verdict before. The job has the address.
CREATE TABLE verdict_change (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL, idx BIGINT NOT NULL, before TEXT NOT NULL, reason TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (org_no, job_no, idx)
) {clustered};
CREATE INDEX verdict_change_list ON verdict_change (org_no, at, job_no, idx);

-- ## Outcomes: what became of the mail that customers sent

-- An address is stored only as its keyed tag.
CREATE TABLE outcome (
    org_no BIGINT NOT NULL, test BIGINT NOT NULL CHECK (test IN (0, 1)),
    tag {bytes} NOT NULL, -- Of the address, as in `suppression`.
    class TEXT NOT NULL CHECK (class IN ('delivered', 'hard_bounce', 'soft_bounce', 'complaint', 'opened', 'unsubscribed')),
    day BIGINT NOT NULL, -- Of the event: one event of a class counts once a day, whoever reports it how often.
    at BIGINT NOT NULL, reported_at BIGINT NOT NULL,
    domain {bytes} NOT NULL, -- Keyed tag of the domain, the same in all organizations.
    form TEXT NOT NULL, -- Form of the local part, without its letters.
    source TEXT NOT NULL,
    PRIMARY KEY (org_no, test, tag, class, day)
) {clustered};
CREATE INDEX outcome_domain ON outcome (org_no, test, domain);
CREATE INDEX outcome_age ON outcome (at);

-- Sending services that post what became of mail to a URL of their own.
CREATE TABLE outcome_source (
    org_no BIGINT NOT NULL, id TEXT NOT NULL, test BIGINT NOT NULL CHECK (test IN (0, 1)),
    service TEXT NOT NULL, name TEXT NOT NULL,
    hash {bytes} NOT NULL, -- Keyed hash of the secret in the URL.
    signing_key {bytes}, -- Key with which the service signs, encrypted. NULL: it signs nothing.
    created_at BIGINT NOT NULL, last_event_at BIGINT,
    PRIMARY KEY (org_no, id)
) {clustered};
CREATE UNIQUE INDEX outcome_source_id ON outcome_source (id); -- The URL has no organization.

-- ## Webhooks: what is told to customers' servers, and with which secrets it is signed

-- A message to one URL. It is written in the transaction whose event it tells of, and stays as the log of its delivery.
CREATE TABLE outbox (
    org_no BIGINT NOT NULL, id TEXT NOT NULL,
    event_id TEXT NOT NULL, -- The same event always has the same id, which receivers see as `webhook-id`.
    kind TEXT NOT NULL,
    url TEXT NOT NULL, -- Parsed and written again by us: ASCII, at most 2,048 bytes.
    body {bytes} NOT NULL,
    signer TEXT NOT NULL, -- With whose secret it is signed: '' for the organization's own, else the id of a webhook.
    state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'exhausted', 'cancelled')),
    attempts BIGINT NOT NULL CHECK (attempts >= 0), -- Attempts that came to an end.
    next_at BIGINT NOT NULL,
    first_at BIGINT, -- When the first attempt began.
    lease_until BIGINT, run TEXT, -- While somebody is sending it: until when, and who.
    -- The last attempt: HTTP status or, where there was no answer, why.
    last_at BIGINT, last_status BIGINT, last_error TEXT, last_took_ms BIGINT,
    last_answer {bytes}, -- Beginning of the last answer's body.
    created_at BIGINT NOT NULL,
    job_id TEXT, -- The job that it is about.
    row_list TEXT, -- JSON list of rows of that job: what is sent is made of what is in them then, and `body` is empty.
    tried BIGINT NOT NULL DEFAULT 0, -- How often it was tried, over all resends.
    PRIMARY KEY (org_no, id)
);
CREATE INDEX outbox_due ON outbox (next_at) WHERE state = 'waiting';
CREATE INDEX outbox_log ON outbox (org_no, created_at, id);
CREATE INDEX outbox_age ON outbox (created_at) WHERE state <> 'waiting';
-- An event is put once for each URL, and once for each webhook: two webhooks may have one URL, and it may change.
CREATE UNIQUE INDEX outbox_once ON outbox (org_no, event_id, url) WHERE signer = '';
CREATE UNIQUE INDEX outbox_once_signed ON outbox (org_no, event_id, signer) WHERE signer <> '';
CREATE INDEX outbox_of_signer ON outbox (org_no, signer, created_at, id) WHERE signer <> '';
CREATE INDEX outbox_rows_age ON outbox (created_at) WHERE state <> 'waiting' AND row_list IS NOT NULL;
-- Messages that somebody sends to try a webhook: few may wait, and they are counted before one more is put.
CREATE INDEX outbox_tests_waiting ON outbox (org_no, signer) WHERE kind = 'test' AND state = 'waiting';

-- Attempts before the last one, which is in the message's row: a message that is taken at once has none here.
CREATE TABLE outbox_attempt (
    org_no BIGINT NOT NULL,
    id TEXT NOT NULL, -- Of the message.
    attempt_no BIGINT NOT NULL, -- From 1, over all resends.
    at BIGINT NOT NULL, url TEXT NOT NULL, status BIGINT, error TEXT, took_ms BIGINT NOT NULL,
    answer {bytes} NOT NULL, -- Beginning of the answer's body, sealed where there is a master key.
    PRIMARY KEY (org_no, id, attempt_no)
) {clustered};

-- The secret with which an organization's batch callbacks are signed, encrypted.
CREATE TABLE callback_secret (
    org_no BIGINT NOT NULL, secret {bytes} NOT NULL,
    previous {bytes}, previous_until BIGINT, -- The one before, which signs too until then.
    PRIMARY KEY (org_no)
) {clustered};

-- Servers that customers have subscribed to what happens.
CREATE TABLE webhook (
    org_no BIGINT NOT NULL, id TEXT NOT NULL,
    -- 1: made with a test key; only test keys see it, and it is told of test jobs only.
    test BIGINT NOT NULL CHECK (test IN (0, 1)),
    name TEXT NOT NULL,
    url TEXT NOT NULL, -- As in `outbox`.
    events TEXT NOT NULL, -- JSON list of names of topics.
    active BIGINT NOT NULL CHECK (active IN (0, 1)),
    -- What signs its messages, encrypted; and the one before, which signs too until then.
    secret {bytes} NOT NULL, previous {bytes}, previous_until BIGINT,
    created_at BIGINT NOT NULL, last_delivery_at BIGINT,
    -- Since it last took a message: when it first did not, and messages that were given up.
    failing_since BIGINT, given_up BIGINT NOT NULL DEFAULT 0 CHECK (given_up >= 0),
    PRIMARY KEY (org_no, id)
);
CREATE INDEX webhook_list ON webhook (org_no, test, created_at, id);
CREATE INDEX webhook_active ON webhook (org_no, test, id) WHERE active = 1;

-- ## Activity: what happened, and mail about it

-- What happened in an account, but for its jobs.
CREATE TABLE event (
    org_no BIGINT NOT NULL, event_no BIGINT NOT NULL, at BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('settings_change', 'account_event')),
    connection_id TEXT, -- The connection that it is about, if it is about one.
    body {bytes} NOT NULL, -- JSON: the fields of its kind, as the timeline shows them.
    PRIMARY KEY (org_no, event_no)
);
CREATE INDEX event_list ON event (org_no, at, event_no);
CREATE INDEX event_age ON event (at);

-- Mail to the owner, until the relay has it.
CREATE TABLE notice (
    org_no BIGINT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('low_balance', 'connection_lost')),
    created_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL CHECK (attempts >= 0), -- Attempts that came to an end.
    next_at BIGINT NOT NULL,
    lease_until BIGINT, run TEXT, -- While somebody is sending it: until when, and who.
    PRIMARY KEY (org_no, kind)
);
CREATE INDEX notice_due ON notice (next_at);

-- Members who get an email when a list is over.
CREATE TABLE list_mail (
    org_no BIGINT NOT NULL, job_no BIGINT NOT NULL, user_id TEXT NOT NULL, created_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    next_at BIGINT, -- When it is sent next. NULL while the list is verified.
    lease_until BIGINT, run TEXT, -- As in `notice`.
    PRIMARY KEY (org_no, job_no, user_id)
);
CREATE INDEX list_mail_due ON list_mail (next_at) WHERE next_at IS NOT NULL;

-- Reports by email.
CREATE TABLE report_mail (
    org_no BIGINT NOT NULL, user_id TEXT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('run', 'weekly', 'monthly')),
    subject TEXT NOT NULL, -- ID of the run, or first date of the period.
    created_at BIGINT NOT NULL, attempts BIGINT NOT NULL,
    -- When it is sent next. NULL: it is over. Of a period, such a row stays until the next one: each has one report.
    next_at BIGINT,
    lease_until BIGINT, run TEXT, -- As in `notice`.
    PRIMARY KEY (org_no, user_id, kind, subject)
);
CREATE INDEX report_mail_due ON report_mail (next_at) WHERE next_at IS NOT NULL;

-- Requests with API keys, for the developers of an organization. No paths, queries or bodies.
CREATE TABLE request_log (
    org_no BIGINT NOT NULL,
    at BIGINT NOT NULL, -- Time of the response.
    id TEXT NOT NULL, -- Of the request.
    test BIGINT NOT NULL CHECK (test IN (0, 1)), -- 1: sent with a test key.
    key_id TEXT NOT NULL, method TEXT NOT NULL,
    route TEXT NOT NULL, -- Template of the route.
    status BIGINT NOT NULL, took_ms BIGINT NOT NULL,
    PRIMARY KEY (org_no, at, id)
) {clustered};
CREATE INDEX request_log_age ON request_log (at);

-- ## Privacy

-- With what bodies are sealed that hold addresses, where the installation has a master key (`sealing.rs`).
CREATE TABLE org_key (
    org_no BIGINT NOT NULL PRIMARY KEY,
    wrapped {bytes} NOT NULL -- The organization's data key, encrypted under the master key, which lies outside the database.
);

-- Addresses that organizations have had trouble with, as keyed tags: who has the database without the pepper learns none.
CREATE TABLE suppression (
    org_no BIGINT NOT NULL, list TEXT NOT NULL CHECK (list IN ('spam', 'complained', 'bounced')),
    tag {bytes} NOT NULL, -- First 16 bytes of HMAC-SHA-256 under the pepper of organization and normalized address.
    added_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, list, tag)
) {clustered};

-- How many addresses each list has. An organization without rows has no lists, and its batches look nothing up.
CREATE TABLE suppression_count (
    org_no BIGINT NOT NULL, list TEXT NOT NULL, listed BIGINT NOT NULL CHECK (listed >= 0), changed_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, list)
) {clustered};

-- Erasures that customers wished, and what came of them.
CREATE TABLE erasure (
    org_no BIGINT NOT NULL, id TEXT NOT NULL,
    test BIGINT NOT NULL CHECK (test IN (0, 1)), -- 1: wished with a test key; it acts on test jobs only.
    addresses BIGINT NOT NULL CHECK (addresses > 0), webhook_url {bytes}, requested_at BIGINT NOT NULL,
    known_at BIGINT NOT NULL, -- When this database heard of it: later than it was wished where a backup was restored meanwhile.
    completed_at BIGINT,
    removed TEXT NOT NULL, -- JSON: entries that were erased, by table.
    job_at BIGINT NOT NULL, job_no BIGINT NOT NULL, -- The last job that was gone through.
    leased_until BIGINT, run TEXT, -- While somebody works on it: until when, and who.
    PRIMARY KEY (org_no, id)
);
CREATE INDEX erasure_list ON erasure (org_no, test, requested_at, id);
CREATE INDEX erasure_open ON erasure (requested_at) WHERE completed_at IS NULL;
CREATE INDEX erasure_known ON erasure (known_at, id);

-- The addresses of an erasure, by keyed hashes.
CREATE TABLE tombstone (
    org_no BIGINT NOT NULL, erasure_id TEXT NOT NULL, tag {bytes} NOT NULL,
    PRIMARY KEY (org_no, erasure_id, tag)
) {clustered};

-- ## Nodes: what runs on this database, and what they share (nothing is a customer's)

-- What belongs to this installation: its id, the fingerprint of the pepper with which keys are hashed.
CREATE TABLE instance (
    name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL
) {clustered};

-- A process that serves. It writes its row again every few seconds.
CREATE TABLE node (
    id TEXT NOT NULL PRIMARY KEY,
    hostname TEXT NOT NULL, -- Where it runs, for people.
    -- Which process it is, as another process on the same machine understands it; '' where that is not known.
    process TEXT NOT NULL,
    roles TEXT NOT NULL, -- What it does, parted by commas.
    version TEXT NOT NULL,
    -- Public addresses from which it asks mail servers, parted by commas; 'unknown' for one that it does not know.
    sources TEXT NOT NULL,
    -- What it holds of jobs: chunks to work on, lists to sort.
    chunks BIGINT NOT NULL CHECK (chunks >= 0), imports BIGINT NOT NULL CHECK (imports >= 0),
    started_at BIGINT NOT NULL, seen_at BIGINT NOT NULL,
    egress TEXT NOT NULL DEFAULT '', -- What it has seen of its way to mail servers, as JSON of the server's; '' where it asks none.
    ahead_ms BIGINT NOT NULL DEFAULT 0 -- How much its clock is ahead of the database's at least; below zero: behind.
);

-- What belongs to one node until a time.
CREATE TABLE lease (
    name TEXT NOT NULL PRIMARY KEY, -- 'schedule', or 'source:' and a public address.
    holder TEXT NOT NULL,
    epoch BIGINT NOT NULL, -- +1 each time that another node gets it.
    held_until BIGINT NOT NULL
);

-- What exchangers have shown of domains, for all customers and nodes. From `known_until` on, the row can go.
CREATE TABLE domain_fact (
    domain TEXT NOT NULL, host TEXT NOT NULL,
    catch_all BIGINT CHECK (catch_all IN (0, 1)), catch_all_until BIGINT, accepted_until BIGINT, known_until BIGINT NOT NULL,
    PRIMARY KEY (domain, host)
) {clustered};
CREATE INDEX domain_fact_age ON domain_fact (known_until);
