//! Connections that are open but unusable: the pool replaces them on the next use.
//!
//! SQLite cannot write on a connection opened while its file was read-only. A PostgreSQL server that has lost prepared statements,
//! or prepared them for tables changed since, rejects them on that connection each time. And if one connection was lost while idle,
//! the others are most likely lost as well.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::StoreError;

/// Time until which opened connections are unusable.
#[derive(Debug, Default)]
pub(crate) struct Outdated(Mutex<Option<Instant>>);

impl Outdated {
    /// Records the effect of an error on connections.
    pub(crate) fn note(&self, error: &StoreError) {
        if error.is_read_only() || error.has_lost_statements() {
            self.note_all();
        }
    }

    /// Marks all currently open connections as unusable.
    pub(crate) fn note_all(&self) {
        #[expect(clippy::disallowed_methods, reason = "the pool tells the age of its connections by this clock")]
        let now = Instant::now();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// Whether a connection of this age is unusable.
    pub(crate) fn covers(&self, age: Duration) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|since| since.elapsed() <= age)
    }
}
