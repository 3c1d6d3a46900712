//! Lists that people watch: one task a list reads where it stands, however many look at it.
//!
//! The database is asked, not the workers: those of a list may be on any node. A list that comes on is read every [`LOOK`], one
//! that stands still ever more rarely, up to [`LOOK_RARELY`]. The task ends with the list, with the service, or when nobody
//! looks any more. Everything is bounded ([`Seats`]): a listener without a seat is told to ask by itself.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use probity_account::id::{JobId, SessionId};
use probity_store::{OrgNo, Store, StoreError};
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio_util::sync::CancellationToken;

use crate::error::ApiError;
use crate::lists::progress::Progress;

/// How often a list is read that comes on, and how often an event is sent at most.
const LOOK: Duration = Duration::from_millis(500);
/// How often one is read that has stood still for a while.
const LOOK_RARELY: Duration = Duration::from_secs(4);
/// Streams of one session: browsers open six connections to a server, and the page needs some for itself.
const OF_SESSION: usize = 4;
/// Streams of one organization.
const OF_ORG: usize = 100;
/// Streams of this node: a tenth of the connections that it usually takes.
const OF_NODE: usize = 1_000;
/// After how long somebody without a seat may try again, in seconds.
const RETRY_S: u32 = 30;

/// Where a watched list stands.
#[derive(Clone, Debug)]
pub struct Seen {
    /// [`Progress`] as JSON, in one line.
    pub text: Arc<str>,
    /// Whether nothing will change any more.
    pub over: bool,
}

impl From<&Progress> for Seen {
    fn from(progress: &Progress) -> Self {
        let text = serde_json::to_string(progress).expect("progress is plain JSON").into();
        Self { text, over: progress.over }
    }
}

type Watched = (OrgNo, JobId);

/// The lists that are watched on this node, and by how many.
#[derive(Default)]
pub struct Watch {
    lists: Mutex<HashMap<Watched, Arc<Sender<Seen>>>>,
    seats: Arc<Mutex<Seats>>,
    /// Streams end when this is cancelled.
    pub ending: CancellationToken,
}

impl Watch {
    pub fn new(ending: CancellationToken) -> Self {
        Self { ending, ..Self::default() }
    }

    /// A place to look from; none where there are too many. It is given back when the value is dropped.
    pub fn seat(&self, org: OrgNo, session: SessionId) -> Result<Seat, ApiError> {
        let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        if !seats.take(org, session) {
            return Err(ApiError::rate_limited(RETRY_S));
        }
        Ok(Seat { seats: self.seats.clone(), of: (org, session) })
    }

    /// Looks at a list of an organization: what stands there now, and what comes.
    pub async fn look(self: &Arc<Self>, store: &Store, of: Watched) -> Result<Receiver<Seen>, ApiError> {
        let now = read(store, of).await?;
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match lists.entry(of) {
            Entry::Occupied(standing) => {
                // Whoever comes later may have read later.
                standing.get().send_if_modified(|seen| put(seen, &now));
                standing.get().clone()
            }
            Entry::Vacant(place) => {
                let sender = Arc::new(channel(now).0);
                place.insert(sender.clone());
                tokio::spawn(follow(self.clone(), store.clone(), of, sender.clone()));
                sender
            }
        };
        // While the lists are locked: the task must not end in between because nobody looks.
        Ok(sender.subscribe())
    }

    /// Forgets a list that nobody looks at any more; says whether it was.
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

    /// Streams that are open, for tests of their ends.
    #[cfg(test)]
    fn streams(&self) -> usize {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner).all
    }
}

async fn read(store: &Store, (org, id): Watched) -> Result<Seen, StoreError> {
    Ok(Seen::from(&Progress::of(&mut store.read().await?, org, id, false).await?))
}

/// Puts what was read in the place of what stands, where it is something else.
fn put(seen: &mut Seen, now: &Seen) -> bool {
    // What is over does not change; whoever read it before its end read too early.
    let other = !seen.over && seen.text != now.text;
    if other {
        *seen = now.clone();
    }
    other
}

/// Reads a list as long as somebody looks at it. When this ends, so do the streams.
async fn follow(watch: Arc<Watch>, store: Store, of: Watched, sender: Arc<Sender<Seen>>) {
    let mut pause = LOOK;
    while watch.ending.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
        if watch.forget_unwatched(of) {
            return;
        }
        pause = match read(&store, of).await {
            Ok(now) if sender.send_if_modified(|seen| put(seen, &now)) => LOOK,
            // Also where it is not there any more, which a page finds out when it comes back.
            Err(StoreError::NotFound) => break,
            Ok(_) | Err(_) => (pause * 2).min(LOOK_RARELY),
        };
        if sender.borrow().over {
            break;
        }
    }
    watch.forget(of);
}

/// Who looks.
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

/// A place to look from.
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
        let watch = Watch::default();
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
        let seen = |text: &str, over| Seen { text: text.into(), over };
        let mut standing = seen("1", false);
        assert!(!put(&mut standing, &seen("1", false)));
        assert!(put(&mut standing, &seen("3", true)));
        assert!(!put(&mut standing, &seen("2", false)), "read before, and late");
        assert_eq!(&*standing.text, "3");
    }
}
