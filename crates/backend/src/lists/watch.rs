//! Lists that users watch: one task per list reads its progress, however many streams there are.
//!
//! The task reads the database, because the workers of a list may be on any node. It reads a list with progress every [`LOOK`],
//! and one without progress less and less often, down to every [`LOOK_RARELY`]. It ends with the list, with the service, or
//! when nobody watches any longer. All streams are bounded ([`Seats`]): a client without a seat has to poll.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use probity_account::id::{JobId, SessionId};
use probity_contract::error::ApiError;
use probity_engine::clock::EngineClock;
use probity_store::{OrgNo, Store, StoreError};
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio_util::sync::CancellationToken;

use crate::lists::progress::JobProgress;

/// Interval at which a list with progress is read, and minimum interval between events.
const LOOK: Duration = Duration::from_millis(500);
/// Longest interval at which a list without progress is read.
const LOOK_RARELY: Duration = Duration::from_secs(4);
/// Streams per session. Browsers open 6 connections to a server, and the page needs some for itself.
const OF_SESSION: usize = 4;
/// Streams per organization.
const OF_ORG: usize = 100;
/// Streams per node: a tenth of the connections that it usually accepts.
const OF_NODE: usize = 1_000;
/// `Retry-After` without a free seat, in seconds.
const RETRY_S: u32 = 30;

/// State of a watched list.
#[derive(Clone, Debug)]
pub struct WatchedProgress {
    /// [`JobProgress`] as JSON, on one line.
    pub text: Arc<str>,
    /// Whether the list is closed, so that nothing changes any more.
    pub over: bool,
}

impl From<&JobProgress> for WatchedProgress {
    fn from(progress: &JobProgress) -> Self {
        let text = serde_json::to_string(progress).expect("progress is plain JSON").into();
        Self { text, over: progress.is_over() }
    }
}

/// A list, and whether it is of test mode.
type Watched = (OrgNo, JobId, bool);

/// Watched lists of this node, and the seats for their streams.
#[derive(Default)]
pub struct ListWatch {
    lists: Mutex<HashMap<Watched, Arc<Sender<WatchedProgress>>>>,
    seats: Arc<Mutex<Seats>>,
    /// Streams end when this is canceled.
    pub ending: CancellationToken,
}

impl ListWatch {
    pub fn new(ending: CancellationToken) -> Self {
        Self { ending, ..Self::default() }
    }

    /// Returns a seat for a stream, returned on drop. Fails with 429 if there are too many streams.
    pub fn seat(&self, org: OrgNo, session: SessionId) -> Result<Seat, ApiError> {
        let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        if !seats.take(org, session) {
            return Err(ApiError::rate_limited(RETRY_S));
        }
        Ok(Seat { seats: self.seats.clone(), of: (org, session) })
    }

    /// Watches a list of an organization: returns its current state and all later ones.
    pub async fn look(
        self: &Arc<Self>,
        store: &Store,
        clock: EngineClock,
        of: Watched,
    ) -> Result<Receiver<WatchedProgress>, ApiError> {
        let now = read(store, clock, of).await?;
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match lists.entry(of) {
            Entry::Occupied(standing) => {
                // This read may be newer than the last one of the task.
                standing.get().send_if_modified(|seen| put(seen, &now));
                standing.get().clone()
            }
            Entry::Vacant(place) => {
                let sender = Arc::new(channel(now).0);
                place.insert(sender.clone());
                tokio::spawn(follow(self.clone(), (store.clone(), clock), of, sender.clone()));
                sender
            }
        };
        // Subscribes while the lists are locked. Otherwise the task could end in between, because nobody watches.
        Ok(sender.subscribe())
    }

    /// Removes a list that nobody watches any longer; returns whether nobody did.
    fn forget_unwatched(&self, of: Watched) -> bool {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let unwatched = lists.get(&of).is_none_or(|sender| sender.receiver_count() == 0);
        if unwatched {
            lists.remove(&of);
        }
        unwatched
    }

    fn forget(&self, of: Watched) {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner).remove(&of);
    }

    /// Number of open streams, for tests of their ends.
    #[cfg(test)]
    fn streams(&self) -> usize {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner).all
    }
}

async fn read(store: &Store, clock: EngineClock, (org, id, test): Watched) -> Result<WatchedProgress, StoreError> {
    Ok(WatchedProgress::from(&JobProgress::of(&mut store.read().await?, org, id, test, clock.now()).await?))
}

/// Replaces the state if it has changed; returns whether it has.
fn put(seen: &mut WatchedProgress, now: &WatchedProgress) -> bool {
    // A closed list does not change. A read that began before its end is outdated.
    let other = !seen.over && seen.text != now.text;
    if other {
        *seen = now.clone();
    }
    other
}

/// Reads a list as long as somebody watches it. Its streams end with this task.
async fn follow(
    watch: Arc<ListWatch>,
    (store, clock): (Store, EngineClock),
    of: Watched,
    sender: Arc<Sender<WatchedProgress>>,
) {
    let mut pause = LOOK;
    while watch.ending.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
        if watch.forget_unwatched(of) {
            return;
        }
        pause = match read(&store, clock, of).await {
            Ok(now) if sender.send_if_modified(|seen| put(seen, &now)) => LOOK,
            // Also ends the streams of a list that no longer exists. A page gets the error when it reconnects.
            Err(StoreError::NotFound) => break,
            Ok(_) | Err(_) => (pause * 2).min(LOOK_RARELY),
        };
        if sender.borrow().over {
            break;
        }
    }
    watch.forget(of);
}

#[derive(Debug, Default)]
struct Seats {
    all: usize,
    of_org: HashMap<OrgNo, usize>,
    of_session: HashMap<(OrgNo, SessionId), usize>,
}

impl Seats {
    fn take(&mut self, org: OrgNo, session: SessionId) -> bool {
        let taken = |of: Option<&usize>| of.copied().unwrap_or(0);
        let free = self.all < OF_NODE
            && taken(self.of_org.get(&org)) < OF_ORG
            && taken(self.of_session.get(&(org, session))) < OF_SESSION;
        if free {
            self.all += 1;
            *self.of_org.entry(org).or_default() += 1;
            *self.of_session.entry((org, session)).or_default() += 1;
        }
        free
    }

    fn give_back(&mut self, org: OrgNo, session: SessionId) {
        self.all -= 1;
        less(&mut self.of_org, org);
        less(&mut self.of_session, (org, session));
    }
}

fn less<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, of: K) {
    if let Entry::Occupied(mut count) = counts.entry(of) {
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
    }
}

/// Seat for a stream, returned on drop.
pub struct Seat {
    seats: Arc<Mutex<Seats>>,
    of: (OrgNo, SessionId),
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner).give_back(self.of.0, self.of.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_are_bounded_and_come_back() {
        let watch = ListWatch::default();
        let session = SessionId::from_bits;
        let first: Vec<Seat> = (0..OF_SESSION).map(|_| watch.seat(OrgNo(1), session(1)).unwrap()).collect();
        assert!(watch.seat(OrgNo(1), session(1)).is_err());
        let others = (OF_SESSION..OF_ORG).map(|n| watch.seat(OrgNo(1), session(1_000 + n as u128)));
        let others = others.collect::<Result<Vec<Seat>, _>>().unwrap();
        assert!(watch.seat(OrgNo(1), session(2)).is_err(), "the organization has no more");
        let elsewhere = watch.seat(OrgNo(2), session(1)).unwrap();
        assert_eq!(watch.streams(), OF_ORG + 1);
        drop((first, others, elsewhere));
        let seats = watch.seats.lock().unwrap();
        assert_eq!(
            (seats.all, seats.of_org.len(), seats.of_session.len()),
            (0, 0, 0),
            "nothing is kept of who has gone"
        );
    }

    #[test]
    fn what_is_over_stays() {
        let seen = |text: &str, over| WatchedProgress { text: text.into(), over };
        let mut standing = seen("1", false);
        assert!(!put(&mut standing, &seen("1", false)));
        assert!(put(&mut standing, &seen("3", true)));
        assert!(!put(&mut standing, &seen("2", false)), "read before, and late");
        assert_eq!(&*standing.text, "3");
    }
}
