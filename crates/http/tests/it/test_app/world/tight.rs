//! A domain of which a few addresses may be asked about, then none for a while: our own limits, as an engine knows them.

use std::collections::HashMap;
use std::sync::Mutex;

use probity_engine::{Engine, HeldBack, Item, Outcome, Room, Sink, Tries};
use probity_mail::time::Millis;

/// The domain.
const DOMAIN: &str = "@tight-mail.com";
/// Addresses that may be asked about at once.
pub(crate) const BURST: usize = 50;
/// How long then none may, in milliseconds.
const PAUSE_MS: i64 = 3_000;

/// What came of the domain.
#[derive(Default)]
pub(crate) struct Tight {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: usize,
    until: Millis,
    /// When each address was tried first, and its place in the work that it came with.
    waiting: HashMap<String, (Option<Millis>, u64)>,
}

/// Whether an address lies at the domain.
pub(super) fn is_there(email: &str) -> bool {
    email.ends_with(DOMAIN)
}

impl Tight {
    /// How often somebody came to the domain.
    pub(crate) fn calls(&self) -> usize {
        self.state.lock().unwrap().calls
    }

    pub(super) fn room(&self, destination: &str, now: Millis) -> Option<Room> {
        let until = self.state.lock().unwrap().until;
        (destination == DOMAIN).then_some(if until > now { Room::At(until) } else { Room::Now(u32::MAX) })
    }

    /// Answers a burst of them and holds the rest back. Whoever comes again must have kept since when it waits, and must not
    /// have been put elsewhere: that would have been written.
    pub(super) fn ask(&self, items: Vec<Item>, engine: &Engine, sink: &Sink) {
        if items.is_empty() {
            return;
        }
        let mut state = self.state.lock().unwrap();
        let now = engine.now();
        assert!(state.until <= now, "nobody comes while there is no room");
        state.calls += 1;
        state.until = now + PAUSE_MS;
        for (n, item) in items.into_iter().enumerate() {
            if let Some(kept) = state.waiting.remove(&*item.email) {
                assert_eq!((item.tries.since, item.key), kept, "{}", item.email);
            }
            let outcome = if n < BURST {
                Outcome::Settled(engine.facts_only(&item.email))
            } else {
                let since = item.tries.since.or(Some(now));
                state.waiting.insert(item.email.to_string(), (since, item.key));
                let held = Some(HeldBack { at: Some("tight".into()) });
                Outcome::PutOff { not_before: state.until, tries: Tries { since, ..item.tries }, why: "budget", held }
            };
            sink(vec![(item.key, outcome)]);
        }
    }
}
