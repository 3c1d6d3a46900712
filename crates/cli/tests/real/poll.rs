//! Polls for a state up to a limit, instead of sleeping for a fixed time.

use std::thread;
use std::time::Duration;

const EVERY: Duration = Duration::from_millis(20);

/// Polls until `state` returns something; `None` after about `limit`.
///
/// Counts polls instead of reading a clock, so that a busy machine gets more time.
pub(crate) fn until<T>(limit: Duration, mut state: impl FnMut() -> Option<T>) -> Option<T> {
    let looks = limit.as_millis() / EVERY.as_millis();
    for _ in 0..looks {
        if let Some(found) = state() {
            return Some(found);
        }
        thread::sleep(EVERY);
    }
    state()
}
