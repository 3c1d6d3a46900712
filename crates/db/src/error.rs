//! Store errors, by the caller's options.
//!
//! No type of the database library leaves this crate. [`crate::Store::write`] retries a transaction that lost a race (serialization
//! failure, deadlock, a busy SQLite file) or its connection (ended by an operator or a server timeout). The caller gets
//! [`StoreError::Unavailable`] only if that fails.

use std::borrow::Cow;

use sqlx::error::{DatabaseError, ErrorKind};
use sqlx::postgres::PgDatabaseError;

pub type Result<T> = std::result::Result<T, StoreError>;

/// Source of an error, for the log.
pub type ErrorSource = Box<dyn std::error::Error + Send + Sync>;

/// Failure of a store function. Nothing of the transaction is in the database, unless [`StoreError::Unavailable`] reports an
/// unfinished commit.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It does not exist, or belongs to another organization.
    #[error("not found")]
    NotFound,
    /// An entry with that identity exists.
    #[error("already exists")]
    Conflict,
    /// The account does not cover the amount.
    #[error("{needed} credits are needed, {available} are available")]
    InsufficientCredits {
        /// Credits required.
        needed: i64,
        /// Credits available.
        available: i64,
    },
    /// Credits to be taken back are on hold.
    #[error("credits are on hold for running jobs")]
    CreditsHeld,
    /// Another holder has the work, or a hold has expired.
    #[error("the lease was lost")]
    LeaseLost,
    /// The database is unusable now: unreachable, busy, full or read-only. A later retry may help.
    #[error("the database is unavailable")]
    Unavailable {
        /// Error of the database.
        #[source]
        source: ErrorSource,
        /// Whether nothing of the transaction remains and an immediate retry may succeed.
        contended: bool,
    },
    /// Stored data is invalid, or from another version than this program.
    #[error("the database has data that this program cannot read")]
    Corrupt(#[source] ErrorSource),
}

impl StoreError {
    /// Whether the same transaction may succeed on an immediate retry.
    pub fn is_contention(&self) -> bool {
        matches!(self, Self::Unavailable { contended: true, .. })
    }

    /// Whether SQLite could not write because the connection was opened while its file was read-only: that connection stays
    /// read-only, whatever happens to the file.
    pub fn is_read_only(&self) -> bool {
        self.code().is_some_and(|code| matches!(primary_of(&code), Some(READONLY)))
    }

    /// Whether the database accepts no writes: its disk is full or broken, or it is read-only.
    pub fn is_unwritable(&self) -> bool {
        self.code().is_some_and(|code| is_unwritable(&code))
    }

    /// Whether the server has lost the connection's prepared statements, or prepared them for other tables.
    pub fn has_lost_statements(&self) -> bool {
        self.database_error().is_some_and(lost_statements)
    }

    /// The same error for a commit: unless it lost a race, its outcome is unknown, so it is not run again.
    pub(crate) fn of_commit(self) -> Self {
        if self.database_error().is_some_and(|told| class_of(told) == Class::Contended) {
            self
        } else {
            self.not_again()
        }
    }

    /// Whether the connection is gone: the server ended it, or it broke.
    pub fn has_lost_connection(&self) -> bool {
        let Self::Unavailable { source, .. } = self else { return false };
        match source.downcast_ref::<sqlx::Error>() {
            Some(sqlx::Error::Io(_)) => true,
            Some(sqlx::Error::Database(told)) => class_of(&**told) == Class::Cut && !lost_statements(&**told),
            _ => false,
        }
    }

    fn database_error(&self) -> Option<&(dyn DatabaseError + 'static)> {
        let Self::Unavailable { source, .. } = self else { return None };
        source.downcast_ref::<sqlx::Error>()?.as_database_error()
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        self.database_error()?.code()
    }

    /// The same error, but not worth an immediate retry.
    pub(crate) fn not_again(self) -> Self {
        match self {
            Self::Unavailable { source, .. } => Self::Unavailable { source, contended: false },
            other => other,
        }
    }

    /// Invalid value in the database.
    pub fn corrupt(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Corrupt(what.into().into())
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let sqlx::Error::Database(told) = &error else {
            return match error {
                sqlx::Error::ColumnDecode { .. }
                | sqlx::Error::ColumnNotFound(_)
                | sqlx::Error::ColumnIndexOutOfBounds { .. }
                | sqlx::Error::Decode(_) => Self::Corrupt(error.into()),
                sqlx::Error::RowNotFound => Self::NotFound,
                // Pool timeouts, closed pools, broken connections.
                other => Self::Unavailable { source: other.into(), contended: false },
            };
        };
        if told.kind() == ErrorKind::UniqueViolation {
            return Self::Conflict;
        }
        match class_of(&**told) {
            Class::Contended | Class::Cut => Self::Unavailable { source: error.into(), contended: true },
            Class::Away => Self::Unavailable { source: error.into(), contended: false },
            Class::Other => Self::Corrupt(error.into()),
        }
    }
}

/// Retry class of a database error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Lost a race; nothing of the transaction remains.
    Contended,
    /// Lost the connection or its prepared statements. Nothing remains, unless a commit was in progress; another connection may
    /// work.
    Cut,
    /// The database is unusable now.
    Away,
    /// Everything else: a bug in Probity, or a damaged database.
    Other,
}

fn class_of(told: &(dyn DatabaseError + 'static)) -> Class {
    if lost_statements(told) {
        return Class::Cut;
    }
    told.code().map_or(Class::Other, |code| class_of_code(&code))
}

/// PostgreSQL codes have five characters (its manual, Appendix A). SQLite's are decimal numbers whose low byte is the primary code
/// (sqlite.org/rescode.html).
fn class_of_code(code: &str) -> Class {
    match primary_of(code) {
        None => postgres_class(code),
        Some(BUSY | LOCKED) => Class::Contended,
        Some(PERM | NOMEM | READONLY | INTERRUPT | IOERR | FULL | CANTOPEN | PROTOCOL | NOLFS) => Class::Away,
        Some(_) => Class::Other,
    }
}

fn postgres_class(code: &str) -> Class {
    match code {
        // transaction_rollback, serialization_failure, deadlock_detected, lock_not_available, snapshot_too_old.
        "40000" | "40001" | "40P01" | "55P03" | "72000" => Class::Contended,
        // idle_in_transaction_session_timeout, transaction_timeout, admin_shutdown, idle_session_timeout: they end one session, or,
        // with the server, all sessions.
        "25P03" | "25P04" | "57P01" | "57P05" => Class::Cut,
        // read_only_sql_transaction: a standby after a failover. statement_completion_unknown. invalid_catalog_name: a database
        // that is being restored.
        "25006" | "40003" | "3D000" => Class::Away,
        // Connection exceptions (poolers use 08P01 for everything), rejected credentials, insufficient resources, operator
        // intervention (shutdown, canceled), system errors.
        _ if ["08", "28", "53", "57", "58"].iter().any(|class| code.starts_with(class)) => Class::Away,
        _ => Class::Other,
    }
}

/// A pooler has moved the session to another server connection (`invalid_sql_statement_name`, `duplicate_prepared_statement`), or a
/// table was changed under a statement. The latter's code covers every feature that PostgreSQL lacks, and its message is in the
/// server's language.
fn lost_statements(told: &(dyn DatabaseError + 'static)) -> bool {
    let routine = || told.try_downcast_ref::<PgDatabaseError>().and_then(PgDatabaseError::routine);
    match told.code().as_deref() {
        Some("26000" | "42P05") => true,
        Some("0A000") => routine() == Some("RevalidateCachedQuery"),
        _ => false,
    }
}

fn is_unwritable(code: &str) -> bool {
    match primary_of(code) {
        Some(primary) => matches!(primary, READONLY | IOERR | FULL | CANTOPEN),
        // disk_full, read_only_sql_transaction, io_error.
        None => matches!(code, "53100" | "25006" | "58030"),
    }
}

/// SQLite's primary codes.
const PERM: u32 = 3;
const BUSY: u32 = 5;
const LOCKED: u32 = 6;
const NOMEM: u32 = 7;
const READONLY: u32 = 8;
const INTERRUPT: u32 = 9;
const IOERR: u32 = 10;
const FULL: u32 = 13;
const CANTOPEN: u32 = 14;
const PROTOCOL: u32 = 15;
const NOLFS: u32 = 22;

/// SQLite's primary code; `None` for a PostgreSQL code. SQLite's have up to four digits.
fn primary_of(code: &str) -> Option<u32> {
    if code.len() == 5 {
        return None;
    }
    code.parse::<u32>().ok().map(|extended| extended & 0xff)
}

#[cfg(test)]
mod tests {
    use super::{Class, class_of_code, is_unwritable};

    #[test]
    fn codes_of_both_databases_say_whether_to_try_again() {
        use Class::{Away, Contended, Cut, Other};
        let cases = [
            (Contended, "40000 40001 40P01 55P03 72000 5 6 517 262"),
            (Cut, "25P03 25P04 57P01 57P05"),
            (Away, "08000 08001 08003 08004 08006 08P01 28000 28P01 3D000 25006 40003"),
            (Away, "53000 53100 53200 53300 57000 57014 57P02 57P03 57P04 58000 58030"),
            (Away, "3 7 8 9 10 13 14 15 22 778 1032"),
            (Other, "0A000 22001 23514 25P02 40002 42501 42601 42P01 XX000 XX001 1 4 11 20 26 275"),
        ];
        for (class, codes) in cases {
            for code in codes.split(' ') {
                assert_eq!(class_of_code(code), class, "{code}");
            }
        }
    }

    #[test]
    fn codes_of_both_databases_say_whether_writes_are_taken() {
        for code in ["8", "10", "13", "14", "778", "1032", "53100", "25006", "58030"] {
            assert!(is_unwritable(code), "{code}");
        }
        for code in ["5", "7", "9", "11", "53300", "57P01", "40001", "08006", "42P01"] {
            assert!(!is_unwritable(code), "{code}");
        }
    }
}
