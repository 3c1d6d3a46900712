//! What runs behind the acts of the service: workers of jobs and webhooks, uploads, meters, limits, nodes, secrets, mail.
//!
//! Nothing here knows callers, requests or acts. Each part takes the parts that it uses; `probity-service` puts them together.

pub mod accounts;
pub mod connections;
pub mod copies;
pub mod jobs;
pub mod lists;
pub mod meter;
pub mod nodes;
pub mod outcomes;
pub mod privacy;
pub mod secrets;
pub mod uploads;
pub mod webhooks;
pub mod widget;

pub use probity_outbound as outbound;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value that is consistent after each step, so that it can be used although another task panicked.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
