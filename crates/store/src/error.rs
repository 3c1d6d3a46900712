//! What can go wrong with the store, by what the caller can do about it.
//!
//! No type of the database library leaves this crate. A statement that lost a race (serialization failure, deadlock, a busy
//! SQLite file) is tried again by [`crate::Store::write`] and only then becomes [`StoreError::Unavailable`].

use std::borrow::Cow;

use sqlx::error::ErrorKind;

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
    #[error("credits are set aside for jobs or calls that run")]
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
        /// Whether the transaction lost a race and would perhaps go through at once.
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
        let Self::Unavailable { source, .. } = self else { return false };
        let told = source.downcast_ref::<sqlx::Error>().and_then(sqlx::Error::as_database_error);
        let code = told.and_then(|told| told.code()?.parse::<u32>().ok());
        code.is_some_and(|extended| extended & 0xff == READONLY)
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

/// SQLite's code.
const READONLY: u32 = 8;

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
        match told.code().as_deref().map(class_of) {
            Some(Class::Contended) => Self::Unavailable { source: error.into(), contended: true },
            Some(Class::Away) => Self::Unavailable { source: error.into(), contended: false },
            Some(Class::Other) | None => Self::Corrupt(error.into()),
        }
    }
}

/// What a database's error code says about trying again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Contended,
    Away,
    Other,
}

/// PostgreSQL codes have five characters (its manual, Appendix A), SQLite's are decimal numbers whose low byte is the primary
/// code (sqlite.org/rescode.html).
fn class_of(code: &str) -> Class {
    if code.len() == 5 && !code.bytes().all(|b| b.is_ascii_digit() && code.starts_with('0')) || code.starts_with("08") {
        return postgres_class(code);
    }
    match code.parse::<u32>().map(|extended| extended & 0xff) {
        // BUSY, LOCKED.
        Ok(5 | 6) => Class::Contended,
        // INTERRUPT, READONLY, IOERR, FULL, CANTOPEN, PROTOCOL, NOLFS.
        Ok(8 | 9 | 10 | 13 | 14 | 15 | 22) => Class::Away,
        _ => Class::Other,
    }
}

fn postgres_class(code: &str) -> Class {
    match code {
        // serialization_failure, deadlock_detected, lock_not_available.
        "40001" | "40P01" | "55P03" => Class::Contended,
        // read_only_sql_transaction: a standby after a failover.
        "25006" => Class::Away,
        // Connection exceptions, insufficient resources, operator intervention (shutdown, cancelled), system errors.
        _ if ["08", "53", "57", "58"].iter().any(|class| code.starts_with(class)) => Class::Away,
        _ => Class::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, class_of};

    #[test]
    fn codes_of_both_databases_say_whether_to_try_again() {
        let cases = [
            ("40001", Class::Contended),
            ("40P01", Class::Contended),
            ("57P01", Class::Away),
            ("53300", Class::Away),
            ("08006", Class::Away),
            ("25006", Class::Away),
            ("42P01", Class::Other),
            ("5", Class::Contended),
            ("517", Class::Contended),
            ("262", Class::Contended),
            ("13", Class::Away),
            ("1032", Class::Away),
            ("778", Class::Away),
            ("11", Class::Other),
            ("275", Class::Other),
        ];
        for (code, class) in cases {
            assert_eq!(class_of(code), class, "{code}");
        }
    }
}
