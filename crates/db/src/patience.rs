//! Bounds the wait for a database response.
//!
//! PostgreSQL ends slow statements itself, and requests have their own deadlines. But a server that died silently, or hangs, sends
//! nothing, and background tasks would wait until the system closes the connection, after a quarter of an hour. SQLite is in this
//! process and needs no bound.

use std::time::Duration;

use crate::error::{Result, StoreError};

/// Maximum wait; `None` for no limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience(pub(crate) Option<Duration>);

impl Patience {
    /// Awaits a response within the limit. After a timeout, whether the operation happened is unknown.
    pub(crate) async fn wait<T>(self, answer: impl Future<Output = sqlx::Result<T>>) -> Result<T> {
        let Some(most) = self.0 else { return Ok(answer.await?) };
        match tokio::time::timeout(most, answer).await {
            Ok(answered) => Ok(answered?),
            Err(late) => Err(StoreError::Unavailable { source: late.into(), contended: false }),
        }
    }
}
