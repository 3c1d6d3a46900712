//! Waiting for a state with a bound, instead of sleeping for a time.

use std::thread;
use std::time::Duration;

/// How often a state is looked at.
const EVERY: Duration = Duration::from_millis(20);

/// Looks until `state` gives something; none after about `limit`.
///
/// Looks are counted instead of reading a clock: on a busy machine that waits longer, which is what is wanted there.
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
