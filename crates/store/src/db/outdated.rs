//! Connections that are of no use any more, though they are open: the pool replaces them when somebody wants one.
//!
//! SQLite writes nothing on a connection that was opened while its file could only be read. A server of PostgreSQL that has
//! forgotten prepared statements, or prepared them for tables that were changed since, refuses them on that connection again
//! and again. And where one connection was lost while nobody used it, those beside it are most likely lost as well.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::StoreError;

/// Since when connections are of no use that were open then.
#[derive(Debug, Default)]
pub(super) struct Outdated(Mutex<Option<Instant>>);

impl Outdated {
    /// Notes what an error says about connections.
    pub(super) fn note(&self, error: &StoreError) {
        if error.is_read_only() || error.has_lost_statements() {
            self.note_all();
        }
    }

    /// Notes that those which are open now are of no use.
    pub(super) fn note_all(&self) {
        #[expect(clippy::disallowed_methods, reason = "the pool tells the age of its connections by this clock")]
        let now = Instant::now();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// Whether a connection of this age is of no use.
    pub(super) fn covers(&self, age: Duration) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|since| since.elapsed() <= age)
    }
}
