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

/// The database, with arguments of this crate's types.
mod db {
    pub(crate) use probity_db::*;

    pub(crate) use crate::records::args;
}

pub use credits::widget;
pub use database::opening::StoreConfig;
pub use number::OrgNo;
pub use probity_db::error::{ErrorSource, Result, StoreError};
#[cfg(feature = "failpoints")]
#[doc(hidden)]
pub use probity_db::failpoint;
pub use probity_db::hex::hex;
pub use probity_db::{Conn, DatabasePlace, PoolUse, SchemaState, SqlDialect, Store, Tx};
/// Wraps the work of a transaction of one call: `store.write(|tx| insert(tx, &row).scope_boxed())`.
pub use scoped_futures::ScopedFutureExt;

/// Wraps the work of a transaction: `store.write(work!(|tx| { .. }))`.
#[macro_export]
macro_rules! work {
    (|$tx:ident| $work:block) => {
        |$tx| $crate::ScopedFutureExt::scope_boxed(async { $work })
    };
}

db::statements! {
    [accounts, activity, connections, credits, idempotency, jobs, nodes, number, outcomes, privacy, uploads, webhooks]
}
