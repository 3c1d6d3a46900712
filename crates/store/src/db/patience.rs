//! How long an answer of the database is waited for.
//!
//! PostgreSQL ends a statement that takes too long by itself, and requests have their own deadlines. But a server that has
//! died without a word, or stands still, says nothing at all, and tasks that nobody waits for would hang at it until the
//! system gives the connection up, which takes a quarter of an hour. SQLite is in this process: there is nobody to wait for.

use std::time::Duration;

use crate::error::{Result, StoreError};

/// The longest wait; none is for ever.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience(pub(super) Option<Duration>);

impl Patience {
    /// What was answered in time. Whether something that was not answered has happened is unknown.
    pub(super) async fn wait<T>(self, answer: impl Future<Output = sqlx::Result<T>>) -> Result<T> {
        let Some(most) = self.0 else { return Ok(answer.await?) };
        match tokio::time::timeout(most, answer).await {
            Ok(answered) => Ok(answered?),
            Err(late) => Err(StoreError::Unavailable { source: late.into(), contended: false }),
        }
    }
}
