//! Slots for requests that search lists or count a timeline. Unpacking rows occupies a processor and, intermittently, a reader of
//! the database.
//!
//! An organization runs one search at a time, and a node [`AT_ONCE`]. Other searches wait for [`PATIENCE`] and are then told to
//! retry. A timeline waits as long as its request may take. So regardless of one user's requests, other pages and calls find a
//! reader. No search holds a reader between two steps.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use probity_contract::error::{ApiError, Code};
use probity_engine::locked;
use probity_store::OrgNo;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// Concurrent searches of a node. SQLite has 4 readers.
const AT_ONCE: usize = 2;
/// Maximum wait for a slot. Longer than the longest search.
const PATIENCE: Duration = Duration::from_secs(2);
/// `Retry-After` of a search that got no slot, in seconds.
const COME_AGAIN_S: u32 = 2;

/// Search slots of this node.
pub struct Searches {
    all: Semaphore,
    /// Semaphores of organizations that search or wait.
    turns: Mutex<HashMap<OrgNo, Weak<Semaphore>>>,
}

/// Search slot, returned on drop.
pub struct SearchSlot<'a> {
    _all: SemaphorePermit<'a>,
    _turn: OwnedSemaphorePermit,
}

impl Default for Searches {
    fn default() -> Self {
        Self { all: Semaphore::new(AT_ONCE), turns: Mutex::default() }
    }
}

impl Searches {
    /// Waits for a slot. Fails with 429 if the organization's own searches occupy it, and with 503 if those of others do.
    pub async fn place(&self, org: OrgNo) -> Result<SearchSlot<'_>, ApiError> {
        let own = || ApiError::rate_limited(COME_AGAIN_S);
        let others = || {
            ApiError::new(Code::ServiceUnavailable, "too many searches are running; try again")
                .retry_after(COME_AGAIN_S)
        };
        let turn = timeout(PATIENCE, self.turn(org).acquire_owned()).await.map_err(|_| own())?;
        let place = timeout(PATIENCE, self.all.acquire()).await.map_err(|_| others())?;
        Ok(SearchSlot { _all: place.expect("it is never closed"), _turn: turn.expect("it is never closed") })
    }

    /// Waits for a slot without a limit, for requests that are never refused for being too many. Their deadline ends the wait.
    pub async fn wait(&self, org: OrgNo) -> SearchSlot<'_> {
        let turn = self.turn(org).acquire_owned().await.expect("it is never closed");
        SearchSlot { _all: self.all.acquire().await.expect("it is never closed"), _turn: turn }
    }

    /// Returns the semaphore of an organization. It exists as long as a search holds it or waits for it.
    fn turn(&self, org: OrgNo) -> Arc<Semaphore> {
        let mut turns = locked(&self.turns);
        if let Some(turn) = turns.get(&org).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::new(Semaphore::new(1));
        turns.insert(org, Arc::downgrade(&turn));
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn whoever_searches_much_waits_for_themselves() {
        let searches = Searches::default();
        let code = |place: Result<SearchSlot<'_>, ApiError>| place.err().map(|error| error.code());
        let first = searches.place(OrgNo(1)).await.unwrap();
        assert_eq!(code(searches.place(OrgNo(1)).await), Some(Code::RateLimited));
        let other = searches.place(OrgNo(2)).await.unwrap();
        assert_eq!(code(searches.place(OrgNo(3)).await), Some(Code::ServiceUnavailable));
        // A waiting search continues as soon as there is a slot.
        let leaving = async {
            tokio::time::sleep(PATIENCE / 2).await;
            drop(first);
        };
        let waiting = searches.place(OrgNo(1));
        assert!(tokio::join!(waiting, leaving).0.is_ok());
        let leaving = async {
            tokio::time::sleep(PATIENCE * 3).await;
            drop(other);
        };
        drop(tokio::join!(searches.wait(OrgNo(2)), leaving));
        drop(searches.place(OrgNo(4)).await.unwrap());
        assert_eq!(searches.turns.lock().unwrap().len(), 1, "nothing is kept of who has gone");
    }
}
