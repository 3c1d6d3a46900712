//! All SQL of Probity, for SQLite and PostgreSQL. Independent of HTTP and SMTP.
//!
//! [`Store`] is a database; each aggregate has a file of functions that take a connection ([`Conn`]) or a transaction ([`Tx`]) and
//! return domain values. One text serves both databases. Columns are integers, texts and bytes; times are in milliseconds. Ids,
//! times and random values are arguments, and bulk arguments are one JSON text. Markers replace the few words that differ
//! (`probity_db::SqlDialect`). A test prepares every statement on both databases.
//!
//! The keys of customer tables begin with the organization's number. SQL never sorts or compares user text by order.

pub mod accounts;
pub mod activity;
pub mod connections;
pub mod credits;
pub mod database;
pub mod idempotency;
pub mod jobs;
pub mod nodes;
mod number;
pub mod outcomes;
pub mod privacy;
mod records;
pub mod uploads;
pub mod webhooks;

use probity_db as db;

pub use credits::widget;
pub use database::opening::StoreConfig;
pub use db::error::{ErrorSource, Result, StoreError};
#[cfg(feature = "failpoints")]
#[doc(hidden)]
pub use db::failpoint;
pub use db::hex::hex;
pub use db::{Conn, DatabasePlace, PoolUse, SchemaState, SqlDialect, Store, Tx};
pub use number::OrgNo;
/// Makes the work of a transaction of one call: `store.write(|tx| insert(tx, &row).scope_boxed())`.
pub use scoped_futures::ScopedFutureExt;

/// Makes the work of a transaction: `store.write(work!(|tx| { .. }))`.
#[macro_export]
macro_rules! work {
    (|$tx:ident| $work:block) => {
        |$tx| $crate::ScopedFutureExt::scope_boxed(async { $work })
    };
}

/// Every statement of this crate.
pub(crate) fn statements() -> Vec<&'static db::Statement> {
    [
        nodes::ahead::STATEMENTS,
        accounts::people::attempts::STATEMENTS,
        &credits::audit::all_statements(),
        nodes::clock::STATEMENTS,
        &connections::all_statements(),
        &credits::all_statements(),
        &privacy::erasures::all_statements(),
        activity::events::STATEMENTS,
        nodes::facts::STATEMENTS,
        idempotency::STATEMENTS,
        nodes::instance::STATEMENTS,
        &jobs::all_statements(),
        accounts::keys::STATEMENTS,
        accounts::limits::STATEMENTS,
        nodes::STATEMENTS,
        activity::list_mail::STATEMENTS,
        activity::notices::STATEMENTS,
        &activity::report_mail::all_statements(),
        accounts::organization::STATEMENTS,
        &webhooks::outbox::all_statements(),
        &outcomes::all_statements(),
        accounts::people::forgotten::STATEMENTS,
        accounts::people::passwords::STATEMENTS,
        accounts::plans::STATEMENTS,
        activity::reports::STATEMENTS,
        activity::requests::STATEMENTS,
        &privacy::sealing::all_statements(),
        accounts::people::second_factor::STATEMENTS,
        accounts::people::sessions::STATEMENTS,
        accounts::settings::STATEMENTS,
        accounts::sso::STATEMENTS,
        privacy::suppressions::STATEMENTS,
        activity::timeline::STATEMENTS,
        &uploads::all_statements(),
        credits::usage::STATEMENTS,
        &accounts::users::all_statements(),
        nodes::wake::STATEMENTS,
        webhooks::STATEMENTS,
        webhooks::callback_secret::STATEMENTS,
        widget::STATEMENTS,
    ]
    .concat()
}
