-- Connections to email platforms, their rules, runs, and actions on contacts.

CREATE TABLE connection (
    org_no BIGINT NOT NULL,
    id TEXT NOT NULL,
    -- 1: created with a test key. Its runs get sandbox verdicts and never act.
    test BIGINT NOT NULL CHECK (test IN (0, 1)),
    -- Slug of the platform's file.
    provider TEXT NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'disconnected')),
    -- Why it is disconnected: `deleted`, `credential`.
    disconnected_why TEXT,
    -- Always encrypted. NULL after deletion.
    credentials {bytes},
    -- Keyed hash of the platform and the account's credentials: connections of one account share its rate limits.
    account_tag {bytes} NOT NULL,
    -- Settings (JSON), as the API shows them, with the names of the tag and the field.
    settings TEXT NOT NULL,
    -- IDs of tags and fields at the platform (JSON).
    memory TEXT NOT NULL,
    -- Numbers of its rules.
    blacklist_count BIGINT NOT NULL CHECK (blacklist_count >= 0),
    whitelist_count BIGINT NOT NULL CHECK (whitelist_count >= 0),
    -- The last complete run saw every contact that was created before this time.
    watermark BIGINT,
    -- When a person first let a run act. Until then, every run waits for confirmation.
    trusted_at BIGINT,
    created_at BIGINT NOT NULL,
    last_synced_at BIGINT,
    disconnected_at BIGINT,
    PRIMARY KEY (org_no, id)
);
CREATE INDEX connection_list ON connection (org_no, test, provider, created_at, id);
CREATE INDEX connection_deleted ON connection (disconnected_at) WHERE disconnected_why = 'deleted';

CREATE TABLE connection_rule (
    org_no BIGINT NOT NULL,
    connection_id TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('blacklist', 'whitelist')),
    -- Keyed hash of what the rule matches: none is there twice.
    tag {bytes} NOT NULL,
    -- The keyword and what it applies to (JSON), sealed: a keyword may be an address.
    body {bytes} NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org_no, id)
);
CREATE INDEX connection_rule_list ON connection_rule (org_no, connection_id, kind, created_at, id);
CREATE UNIQUE INDEX connection_rule_tag ON connection_rule (org_no, connection_id, kind, tag);

-- A run is a job (same ID); this is what a job does not have.
CREATE TABLE connection_run (
    org_no BIGINT NOT NULL,
    id TEXT NOT NULL,
    job_no BIGINT NOT NULL,
    connection_id TEXT NOT NULL,
    cause TEXT NOT NULL CHECK (cause IN ('manual', 'autofloss', 'instafloss', 'decay_protection')),
    -- 1: shows what would happen; a person may let it happen later.
    dry BIGINT NOT NULL CHECK (dry IN (0, 1)),
    state TEXT NOT NULL CHECK (state IN ('reading', 'verifying', 'needs_confirmation', 'acting', 'finished', 'failed', 'cancelled')),
    -- Why it failed, for the customer. No address, no credential.
    fault TEXT,
    -- Why it waits for a person.
    brake TEXT CHECK (brake IN ('dry_run', 'manual_mode', 'first_run', 'too_many_actions')),
    -- Settings at the start (JSON).
    settings TEXT NOT NULL,
    -- Tag of the account that is read: IDs of its contacts mean nothing in another one.
    account_tag {bytes} NOT NULL,
    -- Where reading stands (JSON), sealed; NULL: at the start, or everything was read.
    position {bytes},
    -- IDs of the platform's lists (JSON), sealed. Rows name lists by their places here.
    lists {bytes},
    -- Only contacts created after this time are read; NULL: all.
    since BIGINT,
    -- Every contact that was created before this time was read.
    watermark BIGINT,
    -- Contacts that were read, and those of them that became rows of the job.
    contacts BIGINT NOT NULL CHECK (contacts >= 0),
    rows_total BIGINT NOT NULL CHECK (rows_total >= 0),
    -- +1 each time somebody takes it up: what an earlier holder writes is refused.
    epoch BIGINT NOT NULL,
    leased_until BIGINT,
    -- Not before this time: the platform asked us to wait.
    next_at BIGINT NOT NULL,
    -- Calls in a row that failed, and the first time in a row that the platform refused the credentials.
    failures BIGINT NOT NULL CHECK (failures >= 0),
    refused_at BIGINT,
    created_at BIGINT NOT NULL,
    confirmed_at BIGINT,
    finished_at BIGINT,
    PRIMARY KEY (org_no, id)
);
CREATE INDEX connection_run_list ON connection_run (org_no, connection_id, created_at, id);
CREATE INDEX connection_run_due ON connection_run (next_at) WHERE state IN ('reading', 'verifying', 'acting');
-- A run that is still going is not started again.
CREATE UNIQUE INDEX connection_run_going ON connection_run (org_no, connection_id)
    WHERE state IN ('reading', 'verifying', 'acting');
CREATE UNIQUE INDEX connection_run_job ON connection_run (org_no, job_no);
CREATE INDEX connection_run_old ON connection_run (finished_at) WHERE finished_at IS NOT NULL;

-- Contact IDs of a run's rows, each with the first of its lists, sealed. The block of addresses with the same index is the job's.
CREATE TABLE contact_block (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    first_idx BIGINT NOT NULL,
    body {bytes} NOT NULL,
    PRIMARY KEY (org_no, job_no, first_idx)
);

-- Other lists of a run's contacts.
CREATE TABLE contact_list (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    idx BIGINT NOT NULL,
    list_no BIGINT NOT NULL,
    PRIMARY KEY (org_no, job_no, idx, list_no)
) {clustered};

-- What the platform says of a run's contacts, where that is a finding.
CREATE TABLE contact_report (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    idx BIGINT NOT NULL,
    report TEXT NOT NULL CHECK (report IN ('bounced', 'complained')),
    PRIMARY KEY (org_no, job_no, idx)
) {clustered};

-- What is known of a contact without its address: keyed hashes.
CREATE TABLE contact_mark (
    org_no BIGINT NOT NULL,
    connection_id TEXT NOT NULL,
    contact {bytes} NOT NULL,
    address {bytes} NOT NULL,
    -- Last run that read it, and its row.
    job_no BIGINT NOT NULL,
    idx BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    -- Last action that was done.
    acted TEXT,
    acted_at BIGINT,
    PRIMARY KEY (org_no, connection_id, contact)
);

CREATE TABLE contact_action (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    -- Row of the job.
    idx BIGINT NOT NULL,
    connection_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('unsubscribe', 'delete', 'update_tags', 'update_custom_fields', 'fix')),
    reason TEXT NOT NULL,
    -- When the address got its verdict, and when that was last confirmed; for `fix`, when the suggestion was verified.
    verified_at BIGINT NOT NULL,
    checked_at BIGINT,
    -- `planned`: waits for a person or for the brake. `parked`: the platform refused our request; the operator looks.
    state TEXT NOT NULL CHECK (state IN ('planned', 'due', 'done', 'gone', 'taken', 'refused', 'parked', 'ignored')),
    attempts BIGINT NOT NULL CHECK (attempts >= 0),
    -- What the platform said, without addresses and credentials.
    message TEXT,
    -- Values before the action (JSON), sealed, for tags and fields.
    undo {bytes},
    settled_at BIGINT,
    PRIMARY KEY (org_no, job_no, idx)
);
CREATE INDEX contact_action_due ON contact_action (org_no, job_no, idx) WHERE state = 'due';
CREATE INDEX contact_action_review ON contact_action (org_no, connection_id, job_no, idx) WHERE state = 'planned';

-- A run's actions, counted.
CREATE TABLE contact_action_count (
    org_no BIGINT NOT NULL,
    job_no BIGINT NOT NULL,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    state TEXT NOT NULL,
    actions BIGINT NOT NULL,
    PRIMARY KEY (org_no, job_no, kind, reason, state)
) {clustered};

-- Connection and platform of a job that is a run.
ALTER TABLE job ADD COLUMN connection_id TEXT;
ALTER TABLE job ADD COLUMN integration TEXT;

-- Rows that share the result of a row: each of their contacts gets its own action.
CREATE INDEX job_duplicate_first ON job_duplicate (org_no, job_no, first_idx);
