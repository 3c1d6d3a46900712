//! All SQL of Probity, for SQLite and PostgreSQL. Independent of HTTP and SMTP.
//!
//! [`Store`] is a database; each aggregate has a file of functions that take a connection ([`Conn`]) or a transaction ([`Tx`]) and
//! return domain values. One text serves both databases. Columns are integers, texts and bytes; times are in milliseconds. Ids,
//! times and random values are arguments, and bulk arguments are one JSON text. Markers replace the few words that differ
//! (`db/dialect.rs`). A test prepares every statement on both databases.
//!
//! The keys of customer tables begin with the organization's number. SQL never sorts or compares user text by order.

pub mod ahead;
pub mod attempts;
pub mod audit;
pub mod clock;
#[cfg(test)]
mod contention;
pub mod credits;
mod db;
pub mod erasures;
mod error;
pub mod events;
pub mod facts;
pub mod hex;
pub mod idempotency;
pub mod instance;
pub mod jobs;
pub mod keys;
pub mod limits;
pub mod moving;
pub mod nodes;
pub mod notices;
mod number;
pub mod organization;
pub mod outbox;
pub mod passwords;
pub mod plans;
pub mod reports;
pub mod sealing;
pub mod second_factor;
pub mod sessions;
pub mod settings;
#[cfg(test)]
mod severed;
#[cfg(test)]
mod statement_rules;
pub mod suppressions;
pub mod timeline;
pub mod uploads;
pub mod usage;
pub mod users;
pub mod wake;
pub mod webhooks;
pub mod widget;

#[cfg(debug_assertions)]
#[doc(hidden)]
pub use db::failpoint;
pub use db::{Conn, Dialect, Place, PoolUse, SchemaState, Store, StoreConfig, Tx};
pub use error::{Result, Source, StoreError};
pub use number::OrgNo;
/// Creates a transaction's closure: `store.write(|tx| async move { .. }.scope_boxed())`.
pub use scoped_futures::ScopedFutureExt;

#[cfg_attr(
    not(any(test, debug_assertions)),
    expect(dead_code, reason = "read by the test that prepares them all, and by failpoints")
)]
pub(crate) fn statements() -> Vec<&'static db::Statement> {
    [
        ahead::STATEMENTS,
        attempts::STATEMENTS,
        &audit::all_statements(),
        clock::STATEMENTS,
        &credits::all_statements(),
        &erasures::all_statements(),
        events::STATEMENTS,
        facts::STATEMENTS,
        idempotency::STATEMENTS,
        instance::STATEMENTS,
        &jobs::all_statements(),
        keys::STATEMENTS,
        limits::STATEMENTS,
        nodes::STATEMENTS,
        notices::STATEMENTS,
        organization::STATEMENTS,
        &outbox::all_statements(),
        passwords::STATEMENTS,
        plans::STATEMENTS,
        reports::STATEMENTS,
        &sealing::all_statements(),
        second_factor::STATEMENTS,
        sessions::STATEMENTS,
        settings::STATEMENTS,
        suppressions::STATEMENTS,
        timeline::STATEMENTS,
        &uploads::all_statements(),
        usage::STATEMENTS,
        &users::all_statements(),
        wake::STATEMENTS,
        webhooks::STATEMENTS,
        widget::STATEMENTS,
    ]
    .concat()
}
