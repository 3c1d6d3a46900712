//! Places for requests that look through lists: unpacking rows keeps a processor busy and, in turns, a reader of the database.
//! Counting a timeline is such a request, too.
//!
//! An organization looks through one list at a time, and a node through [`AT_ONCE`]; whoever searches meanwhile waits as long as
//! [`PATIENCE`], and is then told to come again. A timeline waits as long as its request may take. So whatever one person asks
//! for at once, the others' pages and calls find a reader. Between two steps no search holds one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use probity_store::OrgNo;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::error::{ApiError, Code};

/// Searches of a node at the same time: SQLite has four readers.
const AT_ONCE: usize = 2;
/// How long a place is waited for: longer than the longest search.
const PATIENCE: Duration = Duration::from_secs(2);
/// When somebody for whom there was none should come again, in seconds.
const COME_AGAIN_S: u32 = 2;

/// The searches of this node.
pub struct Searches {
    all: Semaphore,
    /// The turns of organizations that search or wait.
    turns: Mutex<HashMap<OrgNo, Weak<Semaphore>>>,
}

/// A place. It is given back when the value is dropped.
pub struct Place<'a> {
    _all: SemaphorePermit<'a>,
    _turn: OwnedSemaphorePermit,
}

impl Default for Searches {
    fn default() -> Self {
        Self { all: Semaphore::new(AT_ONCE), turns: Mutex::default() }
    }
}

impl Searches {
    /// A place for an organization; 429 where it has too many searches of its own, 503 where others have.
    pub async fn place(&self, org: OrgNo) -> Result<Place<'_>, ApiError> {
        let own = || ApiError::rate_limited(COME_AGAIN_S);
        let others = || {
            ApiError::new(Code::ServiceUnavailable, "too many searches are running; try again")
                .retry_after(COME_AGAIN_S)
        };
        let turn = timeout(PATIENCE, self.turn(org).acquire_owned()).await.map_err(|_| own())?;
        let place = timeout(PATIENCE, self.all.acquire()).await.map_err(|_| others())?;
        Ok(Place { _all: place.expect("it is never closed"), _turn: turn.expect("it is never closed") })
    }

    /// A place for an organization, however long it takes: for requests that were never refused for being many. Their deadline ends
    /// the waiting.
    pub async fn wait(&self, org: OrgNo) -> Place<'_> {
        let turn = self.turn(org).acquire_owned().await.expect("it is never closed");
        Place { _all: self.all.acquire().await.expect("it is never closed"), _turn: turn }
    }

    /// The turn of an organization. It is kept alive by those who have it or wait for it.
    fn turn(&self, org: OrgNo) -> Arc<Semaphore> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
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
        let code = |place: Result<Place<'_>, ApiError>| place.err().map(|error| error.code());
        let first = searches.place(OrgNo(1)).await.unwrap();
        assert_eq!(code(searches.place(OrgNo(1)).await), Some(Code::RateLimited));
        let other = searches.place(OrgNo(2)).await.unwrap();
        assert_eq!(code(searches.place(OrgNo(3)).await), Some(Code::ServiceUnavailable));
        // Whoever waits comes on as soon as there is a place.
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
