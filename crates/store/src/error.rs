//! What can go wrong with the store, by what the caller can do about it.
//!
//! No type of the database library leaves this crate. [`crate::Store::write`] runs a transaction again that lost a race
//! (serialization failure, deadlock, a busy SQLite file) or its connection (ended by an operator or a timeout of the server);
//! the caller gets [`StoreError::Unavailable`] only when that does not help.

use std::borrow::Cow;

use sqlx::error::{DatabaseError, ErrorKind};
use sqlx::postgres::PgDatabaseError;

/// The result of a store function.
pub type Result<T> = std::result::Result<T, StoreError>;

/// The source of an error, for the log.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a store function did not do its work. In every case nothing of the transaction is in the database, except where
/// [`StoreError::Unavailable`] says that a commit was under way.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such thing, or it belongs to another organization.
    #[error("not found")]
    NotFound,
    /// Something with that identity stands already.
    #[error("it exists already")]
    Conflict,
    /// The account does not cover it.
    #[error("{needed} credits are needed, {available} are available")]
    InsufficientCredits {
        /// How many were asked for.
        needed: i64,
        /// How many there are.
        available: i64,
    },
    /// Credits are set aside that would have to be taken back.
    #[error("credits are set aside for jobs that run")]
    CreditsHeld,
    /// Somebody else has taken the work over, or a hold has expired.
    #[error("the lease is lost")]
    LeaseLost,
    /// The database cannot be used now: unreachable, busy, full or read-only. Trying again later may help.
    #[error("the database is unavailable")]
    Unavailable {
        /// What the database said.
        #[source]
        source: Source,
        /// Whether nothing of the transaction stands and it would perhaps go through at once.
        contended: bool,
    },
    /// What the database holds makes no sense, or is of another version than this program.
    #[error("the database holds what this program cannot read")]
    Corrupt(#[source] Source),
}

impl StoreError {
    /// Whether the same transaction may succeed when it is run again at once.
    pub(crate) fn is_contention(&self) -> bool {
        matches!(self, Self::Unavailable { contended: true, .. })
    }

    /// Whether SQLite could not write because the connection was opened while its file could only be read: it stays so on that
    /// connection, whatever becomes of the file.
    pub(crate) fn is_read_only(&self) -> bool {
        self.code().is_some_and(|code| matches!(primary_of(&code), Some(READONLY)))
    }

    /// Whether the database takes no writes: its disk is full or broken, or it can only be read.
    pub(crate) fn is_unwritable(&self) -> bool {
        self.code().is_some_and(|code| is_unwritable(&code))
    }

    /// Whether the server has forgotten the statements that were prepared on the connection, or prepared them for other tables.
    pub(crate) fn has_lost_statements(&self) -> bool {
        self.told().is_some_and(lost_statements)
    }

    /// The same for a commit: unless it lost a race, whether it went through is not known, so it is not run again.
    pub(crate) fn of_commit(self) -> Self {
        if self.told().is_some_and(|told| class_of(told) == Class::Contended) { self } else { self.not_again() }
    }

    /// Whether the connection is gone: the server ended it, or it broke.
    pub(crate) fn has_lost_connection(&self) -> bool {
        let Self::Unavailable { source, .. } = self else { return false };
        match source.downcast_ref::<sqlx::Error>() {
            Some(sqlx::Error::Io(_)) => true,
            Some(sqlx::Error::Database(told)) => class_of(&**told) == Class::Cut && !lost_statements(&**told),
            _ => false,
        }
    }

    fn told(&self) -> Option<&(dyn DatabaseError + 'static)> {
        let Self::Unavailable { source, .. } = self else { return None };
        source.downcast_ref::<sqlx::Error>()?.as_database_error()
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        self.told()?.code()
    }

    /// The same, but not worth trying again at once.
    pub(crate) fn not_again(self) -> Self {
        match self {
            Self::Unavailable { source, .. } => Self::Unavailable { source, contended: false },
            other => other,
        }
    }

    /// A value in the database that should not be there.
    pub(crate) fn corrupt(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Corrupt(what.into().into())
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let sqlx::Error::Database(told) = &error else {
            return match error {
                sqlx::Error::ColumnDecode { .. } | sqlx::Error::ColumnNotFound(_) | sqlx::Error::Decode(_) => {
                    Self::Corrupt(error.into())
                }
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

/// What a database's error code says about trying again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Lost a race; nothing of the transaction stands.
    Contended,
    /// Lost the connection or what was prepared on it. Nothing stands, except where a commit was under way; another connection
    /// may do.
    Cut,
    /// The database cannot be used now.
    Away,
    /// Everything else: a mistake of ours or a damaged database.
    Other,
}

fn class_of(told: &(dyn DatabaseError + 'static)) -> Class {
    if lost_statements(told) {
        return Class::Cut;
    }
    told.code().map_or(Class::Other, |code| class_of_code(&code))
}

/// PostgreSQL codes have five characters (its manual, Appendix A), SQLite's are decimal numbers whose low byte is the primary
/// code (sqlite.org/rescode.html).
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
        // idle_in_transaction_session_timeout, transaction_timeout, admin_shutdown, idle_session_timeout: they end one session,
        // or, with the server, all of them.
        "25P03" | "25P04" | "57P01" | "57P05" => Class::Cut,
        // read_only_sql_transaction: a standby after a failover. statement_completion_unknown. invalid_catalog_name: a database
        // that is being restored.
        "25006" | "40003" | "3D000" => Class::Away,
        // Connection exceptions (poolers say 08P01 to everything), refused credentials, insufficient resources, operator
        // intervention (shutdown, cancelled), system errors.
        _ if ["08", "28", "53", "57", "58"].iter().any(|class| code.starts_with(class)) => Class::Away,
        _ => Class::Other,
    }
}

/// A pooler has put the session onto another connection of the server (`invalid_sql_statement_name`,
/// `duplicate_prepared_statement`), or a table was changed under a statement. The code of the latter is that of every feature which
/// PostgreSQL lacks, and its message is in the server's language.
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

/// SQLite's primary code; none where the code is PostgreSQL's. SQLite's have up to four digits.
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
