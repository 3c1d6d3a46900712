//! Lists that users follow: one task per list reads its progress, regardless of the number of streams.
//!
//! The task reads the database, because the workers of a list may be on any node. It reads a list with progress every [`LOOK`],
//! and one without progress less and less often, down to every [`LOOK_RARELY`]. It ends with the list, with the service, or with
//! its last stream. All streams are bounded ([`Seat`]): a client without a seat must poll.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probity_account::id::{JobId, SessionId};
use probity_contract::error::ApiError;
use probity_engine::clock::EngineClock;
use probity_engine::locked;
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

/// State of a list that users follow.
#[derive(Clone, Debug)]
pub struct WatchedProgress {
    /// [`JobProgress`] as JSON, on one line.
    pub text: Arc<str>,
    /// Whether the list is closed, and therefore final.
    pub over: bool,
}

impl From<&JobProgress> for WatchedProgress {
    fn from(progress: &JobProgress) -> Self {
        let text = serde_json::to_string(progress).expect("progress is plain JSON").into();
        Self { text, over: progress.is_over() }
    }
}

/// A list, and whether it is in test mode.
type Watched = (OrgNo, JobId, bool);

/// Organization and session of each stream.
type StreamSeats = Arc<Mutex<Vec<(OrgNo, SessionId)>>>;

/// Lists that users of this node follow, and the seats for their streams.
#[derive(Default)]
pub struct ListWatch {
    lists: Mutex<HashMap<Watched, Arc<Sender<WatchedProgress>>>>,
    seats: StreamSeats,
    /// Streams end when this is canceled.
    pub ending: CancellationToken,
}

impl ListWatch {
    pub fn new(ending: CancellationToken) -> Self {
        Self { ending, ..Self::default() }
    }

    /// Returns a seat for a stream, returned on drop. Fails with 429 if there are too many streams.
    pub fn seat(&self, org: OrgNo, session: SessionId) -> Result<Seat, ApiError> {
        let mut seats = locked(&self.seats);
        let of_org = seats.iter().filter(|(other, _)| *other == org).count();
        let of_session = seats.iter().filter(|seat| **seat == (org, session)).count();
        if seats.len() >= OF_NODE || of_org >= OF_ORG || of_session >= OF_SESSION {
            return Err(ApiError::rate_limited(RETRY_S));
        }
        seats.push((org, session));
        Ok(Seat { seats: self.seats.clone(), of: (org, session) })
    }

    /// Follows a list of an organization: returns its current state and all later ones.
    pub async fn look(
        self: &Arc<Self>,
        store: &Store,
        clock: EngineClock,
        of: Watched,
    ) -> Result<Receiver<WatchedProgress>, ApiError> {
        let now = read(store, clock, of).await?;
        let mut lists = locked(&self.lists);
        let sender = match lists.entry(of) {
            Entry::Occupied(standing) => {
                // This read may be newer than the task's last one.
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
        // Subscribes while the lists are locked. Otherwise the task could end in between, because it has no stream.
        Ok(sender.subscribe())
    }

    /// Removes a list without streams; returns whether it had none.
    fn forget_unwatched(&self, of: Watched) -> bool {
        let mut lists = locked(&self.lists);
        let unwatched = lists.get(&of).is_none_or(|sender| sender.receiver_count() == 0);
        if unwatched {
            lists.remove(&of);
        }
        unwatched
    }

    fn forget(&self, of: Watched) {
        locked(&self.lists).remove(&of);
    }

    /// Number of open streams, for tests of their ends.
    #[cfg(test)]
    fn streams(&self) -> usize {
        locked(&self.seats).len()
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

/// Reads a list as long as it has streams. They end with this task.
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

/// Seat for a stream, returned on drop.
pub struct Seat {
    seats: StreamSeats,
    of: (OrgNo, SessionId),
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = locked(&self.seats);
        if let Some(place) = seats.iter().position(|seat| *seat == self.of) {
            seats.swap_remove(place);
        }
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
        assert!(watch.seats.lock().unwrap().is_empty(), "nothing is kept of who has gone");
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
