//! Every column that could hold an address of a list, with its eraser, or the reason why it never holds one.
//!
//! A test compares this with the tables. A new column of texts or bytes needs an entry here.

/// Erases addresses from columns. Each needs an arm in the code that carries out erasures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnEraser {
    /// Uploaded files, with all their columns: [`crate::uploads::rewrite_block`], [`crate::uploads::rewrite_about`].
    Uploads,
    /// Addresses as submitted: [`crate::jobs::rewrite_block`].
    Blocks,
    /// Rows of work: [`crate::jobs::rewrite_chunk`].
    Chunks,
    /// Results of jobs that are not packed: [`crate::jobs::strip_results`].
    Parts,
    /// Results of packed jobs: [`crate::jobs::strip_results`].
    ResultBlocks,
    /// Contacts of runs: [`crate::connections::contacts::erase_rows`].
    Contacts,
    /// Keyword rules that are addresses: [`crate::connections::rules::remove`].
    KeywordRules,
    /// Outcomes, which name addresses by keyed hash only: [`crate::outcomes::erase`].
    Outcomes,
    /// Last statuses of contacts' addresses, by keyed hash: [`crate::connections::changes::erase`].
    Statuses,
    /// Endpoint responses: [`super::empty_receivers_answers`].
    ReceiversAnswers,
    /// Stored responses to idempotent requests: [`super::drop_kept_answers`].
    KeptAnswers,
}

impl ColumnEraser {
    /// All erasers, in working order: rows before work before results, so that erased data does not reappear.
    pub const ALL: [Self; 11] = [
        Self::Uploads,
        Self::Blocks,
        Self::Chunks,
        Self::Parts,
        Self::ResultBlocks,
        Self::Contacts,
        Self::KeywordRules,
        Self::Outcomes,
        Self::Statuses,
        Self::ReceiversAnswers,
        Self::KeptAnswers,
    ];

    /// Table that it erases from, as named in the receipt.
    pub fn table(self) -> &'static str {
        let column = HOLDING.iter().find(|(_, eraser)| *eraser == self).map_or("", |(column, _)| column);
        column.split_once('.').map_or(column, |(table, _)| table)
    }
}

/// Columns that hold addresses, or what is erased with them.
pub const HOLDING: [(&str, ColumnEraser); 15] = [
    ("upload_block.body", ColumnEraser::Uploads),
    ("upload.about", ColumnEraser::Uploads),
    ("upload.domains", ColumnEraser::Uploads),
    ("job_block.body", ColumnEraser::Blocks),
    ("chunk.body", ColumnEraser::Chunks),
    ("result_part.body", ColumnEraser::Parts),
    ("result_block.body", ColumnEraser::ResultBlocks),
    ("contact_block.body", ColumnEraser::Contacts),
    ("contact_action.undo", ColumnEraser::Contacts),
    ("connection_rule.body", ColumnEraser::KeywordRules),
    ("outcome.tag", ColumnEraser::Outcomes),
    ("address_verdict.tag", ColumnEraser::Statuses),
    ("outbox.last_answer", ColumnEraser::ReceiversAnswers),
    ("outbox_attempt.answer", ColumnEraser::ReceiversAnswers),
    ("idempotency.answer", ColumnEraser::KeptAnswers),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::db::args;
    use crate::{DatabasePlace, Store, StoreConfig};

    const ID: &str = "an id of ours";
    const WORD: &str = "a word from a list of ours";
    const HASH: &str = "a keyed hash";
    const SEALED: &str = "a secret of ours, encrypted";
    const RUN: &str = "a random text that names a run";
    const MEMBER: &str = "what a member says of themselves; it goes with the member";
    const CUSTOMERS_URL: &str = "where a server of the customer's is told; no form of a list, and not searched, as docs/api.md tells who writes one";
    const MACHINE: &str = "of a machine that runs this program";
    const NAME: &str = "a name that the customer gives to something of theirs and changes";

    /// Columns that never hold an address of a list, and why.
    const FREE: &[(&str, &str)] = &[
        ("instance.name", WORD),
        ("instance.value", "what this program knows of its installation"),
        ("org.id", ID),
        ("org.name", "the customer's own name"),
        ("org.plan", WORD),
        ("org.status", WORD),
        ("org_key.wrapped", SEALED),
        ("upload.id", ID),
        ("upload.source", WORD),
        ("upload.state", WORD),
        ("upload.user_id", ID),
        ("upload.job_id", ID),
        ("upload.without", "bits"),
        ("users.id", ID),
        ("users.email", MEMBER),
        ("users.email_key", MEMBER),
        ("users.name", MEMBER),
        ("users.role", WORD),
        ("users.status", WORD),
        ("users.identity", WORD),
        ("users.phone", MEMBER),
        ("users.company", MEMBER),
        ("users.vat_id", MEMBER),
        ("users.country", MEMBER),
        ("users.address", MEMBER),
        ("users.language", WORD),
        ("org.hold_reason", "a note of the operator's about the customer"),
        ("api_key.id", ID),
        ("api_key.user_id", ID),
        ("api_key.name", NAME),
        ("api_key.kind", WORD),
        ("api_key.origins", "origins of web pages"),
        ("api_key.hash", HASH),
        ("api_key.prefix", "the beginning of a key"),
        ("api_key.last4", "the end of a key"),
        ("api_key.public_key", "a key that stands in public pages"),
        ("api_key.replaced_by", ID),
        ("account.bucket", WORD),
        ("ledger.kind", WORD),
        ("ledger.ref", "words and ids of ours"),
        ("hold.id", ID),
        ("idempotency.key_hash", HASH),
        ("idempotency.body_hash", HASH),
        ("idempotency.run", RUN),
        ("usage_day.source", WORD),
        ("usage_day.connection_id", ID),
        ("usage_day.reason", WORD),
        ("usage_provider_day.provider", WORD),
        ("request_log.id", ID),
        ("request_log.key_id", ID),
        ("request_log.method", WORD),
        ("request_log.route", "the template of a route"),
        ("usage_part_day.kind", WORD),
        ("usage_part_day.part", "a key's id, or a domain, which all of its mailboxes share"),
        ("job_provider.provider", WORD),
        ("domain_fact.domain", "a domain, which all of its mailboxes share"),
        ("domain_fact.host", "an exchanger"),
        ("rate_bucket.bucket", ID),
        ("job.id", ID),
        ("job.source", WORD),
        ("job.started_by", WORD),
        ("job.source_action", WORD),
        ("job.actor", "a word and an id of ours"),
        ("job.state", WORD),
        ("job.webhook_url", CUSTOMERS_URL),
        ("job.title", NAME),
        ("job.tags", NAME),
        ("chunk.destination", "a domain or the name of a provider"),
        ("chunk.source", "an address of this installation's network"),
        ("chunk.left_rows", "bits"),
        ("job_reason.reason", WORD),
        ("outbox.id", ID),
        ("outbox.event_id", ID),
        ("outbox.kind", WORD),
        ("outbox.url", CUSTOMERS_URL),
        ("outbox.body", "numbers, ids and words of ours; rows are named by their indexes and read when they are sent"),
        ("outbox.signer", ID),
        ("outbox.state", WORD),
        ("outbox.run", RUN),
        ("outbox.last_error", WORD),
        ("outbox.job_id", ID),
        ("outbox.row_list", "indexes of rows"),
        ("callback_secret.secret", SEALED),
        ("callback_secret.previous", SEALED),
        ("node.id", ID),
        ("node.hostname", MACHINE),
        ("node.process", MACHINE),
        ("node.roles", WORD),
        ("node.version", MACHINE),
        ("node.sources", MACHINE),
        ("node.egress", MACHINE),
        ("lease.name", WORD),
        ("lease.holder", ID),
        ("org_settings.ignored_reasons", WORD),
        ("org_settings.ignored_statuses", WORD),
        ("org_settings.banned_words", "words that the customer looks for in addresses, and changes"),
        ("org_settings.role_words", "words that the customer looks for in addresses, and changes"),
        ("org_sso.issuer", "where the organization's provider of sign-in is"),
        ("org_sso.client_id", "a name that the provider gave to this installation"),
        ("org_sso.client_secret", SEALED),
        ("org_sso.newcomer_role", WORD),
        ("sso_domain.domain", "a domain of the organization's, which all of its mailboxes share"),
        ("sso_identity.user_id", ID),
        ("sso_identity.subject", HASH),
        ("sso_used.flow", HASH),
        ("event.kind", WORD),
        ("event.connection_id", ID),
        ("event.body", "words, ids and values that are let through: none with an @"),
        ("suppression.list", WORD),
        (
            "suppression.tag",
            "a keyed hash: the customer's own list of whom not to write to, which the customer changes",
        ),
        ("suppression_count.list", WORD),
        ("outcome.class", WORD),
        ("outcome.domain", HASH),
        ("outcome.form", "how letters, digits and signs follow each other in a local part, without the letters"),
        ("outcome.source", WORD),
        ("list_share.token_hash", HASH),
        ("letter.kind", WORD),
        ("letter.subject", "a number or an id of ours, or a date"),
        ("letter.user_id", ID),
        ("letter.run", RUN),
        ("outcome_source.id", ID),
        ("outcome_source.service", WORD),
        ("outcome_source.name", NAME),
        ("outcome_source.hash", HASH),
        ("outcome_source.signing_key", "the key with which a sending service signs, encrypted"),
        ("widget_day.key_id", ID),
        ("widget_nonce.nonce", "a random text"),
        ("widget_pass.key_id", ID),
        ("widget_pass.nonce", "a random text"),
        ("invitation.user_id", ID),
        ("invitation.hash", HASH),
        ("invitation.mailed_hash", HASH),
        ("invitation.mail_seed", "random bytes"),
        ("invitation.mail_language", WORD),
        ("password.user_id", ID),
        ("password.who", HASH),
        ("password.hash", HASH),
        ("forgotten_password.who", HASH),
        ("forgotten_password.language", WORD),
        ("session.id", ID),
        ("session.user_id", ID),
        ("session.token_hash", HASH),
        ("session.client", "a browser and a system, in words of ours"),
        ("second_factor.user_id", ID),
        ("second_factor.secret", SEALED),
        ("recovery_code.user_id", ID),
        ("recovery_code.hash", HASH),
        ("webhook.id", ID),
        ("webhook.name", NAME),
        ("webhook.url", CUSTOMERS_URL),
        ("webhook.events", WORD),
        ("webhook.secret", SEALED),
        ("webhook.previous", SEALED),
        ("job.connection_id", ID),
        ("job.integration", WORD),
        ("connection_run.id", ID),
        ("connection_run.connection_id", ID),
        ("connection_run.cause", WORD),
        ("connection_run.state", WORD),
        ("connection_run.fault", "what a platform said, without addresses"),
        ("connection_run.brake", WORD),
        ("connection_run.settings", "words, and names of a tag and a field that the customer gives"),
        ("connection_run.account_tag", HASH),
        ("connection_run.position", "cursors of a platform, encrypted; removed when reading ends"),
        ("connection_run.lists", "a platform's IDs of lists, encrypted"),
        ("connection_run.cut_contact", HASH),
        ("account_token.account_tag", HASH),
        ("account_token.tokens", "access tokens and credentials of a platform, encrypted"),
        ("connection_hook.connection_id", ID),
        ("connection_hook.keys", "secrets of ours and IDs of a platform's webhooks, encrypted"),
        ("connection_hook.fault", "what a platform said, without addresses"),
        ("connection_schedule.connection_id", ID),
        ("connection_schedule.cause", WORD),
        ("connection_schedule.waits_for", WORD),
        ("org_settings.time_zone", WORD),
        ("contact_report.report", WORD),
        ("address_verdict.status", WORD),
        ("verdict_change.before", WORD),
        ("verdict_change.reason", WORD),
        ("contact_mark.connection_id", ID),
        ("contact_mark.contact", HASH),
        ("contact_mark.address", HASH),
        ("contact_mark.acted", WORD),
        ("contact_mark.effect", HASH),
        ("contact_action.connection_id", ID),
        ("contact_action.kind", WORD),
        ("contact_action.reason", WORD),
        ("contact_action.state", WORD),
        ("contact_action.message", "what a platform said, without addresses"),
        ("contact_action.doubt", "why a person decides, without addresses"),
        ("contact_action_day.kind", WORD),
        ("contact_action_count.kind", WORD),
        ("contact_action_count.reason", WORD),
        ("contact_action_count.state", WORD),
        ("connection.id", ID),
        ("connection.provider", WORD),
        ("connection.name", NAME),
        ("connection.status", WORD),
        ("connection.disconnected_why", WORD),
        ("connection.credentials", "the customer's credentials at a platform, encrypted"),
        ("connection.account_tag", HASH),
        ("connection.settings", "words, and names of a tag and a field that the customer gives and changes"),
        ("connection.memory", "IDs of a platform's tags and fields"),
        ("connection_rule.connection_id", ID),
        ("connection_rule.id", ID),
        ("connection_rule.kind", WORD),
        ("connection_rule.tag", HASH),
        ("outbox_attempt.id", ID),
        ("outbox_attempt.url", CUSTOMERS_URL),
        ("outbox_attempt.error", WORD),
        ("erasure.id", ID),
        ("erasure.webhook_url", CUSTOMERS_URL),
        ("erasure.removed", "numbers by names of tables"),
        ("erasure.run", RUN),
        ("tombstone.erasure_id", ID),
        ("tombstone.tag", HASH),
    ];

    #[tokio::test]
    async fn every_column_says_whether_it_holds_addresses() {
        let directory = tempfile::tempdir().unwrap();
        let place = DatabasePlace::Sqlite(directory.path().join("probity.db"));
        let store = Store::open(&StoreConfig::new(place)).await.unwrap();
        store.migrate().await.unwrap();
        let text = "SELECT t.name || '.' || c.name AS said FROM sqlite_schema t JOIN pragma_table_info(t.name) c \
                    WHERE t.type = 'table' AND c.type NOT IN ('BIGINT', 'DOUBLE PRECISION') \
                    AND substr(t.name, 1, 7) <> 'sqlite_' AND substr(t.name, 1, 6) <> '_sqlx_'";
        let rows = store.read().await.unwrap().rows_made(text.into(), args![]).await.unwrap();
        let there: Vec<String> = rows.iter().map(|row| row.get("said").unwrap()).collect();
        assert!(there.len() > 50, "the search finds columns");
        let said: Vec<&str> =
            HOLDING.iter().map(|(column, _)| *column).chain(FREE.iter().map(|(column, _)| *column)).collect();
        let unsaid: Vec<_> = there.iter().filter(|column| !said.contains(&column.as_str())).collect();
        assert!(unsaid.is_empty(), "may these hold an address of a list? {unsaid:?}");
        let gone: Vec<_> = said.iter().filter(|column| !there.iter().any(|there| there == *column)).collect();
        assert!(gone.is_empty(), "there are no such columns: {gone:?}");
        assert_eq!(said.iter().collect::<BTreeSet<_>>().len(), said.len(), "each is said once");
        assert!(FREE.iter().all(|(_, why)| !why.is_empty()));
    }

    #[test]
    fn every_eraser_has_a_table() {
        for eraser in ColumnEraser::ALL {
            assert!(!eraser.table().is_empty(), "{eraser:?}");
        }
    }
}
