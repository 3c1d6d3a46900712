//! Domain at which our own limits allow a few addresses and then none for a while.

use std::collections::HashMap;
use std::sync::Mutex;

use probity_engine::verifier::Verifier as _;
use probity_engine::{AddressOutcome, DestinationCapacity, Engine, JobAddress, OutcomeSink, PriorAttempts, Throttled};
use probity_mail::time::Millis;

const DOMAIN: &str = "@tight-mail.com";
/// Number of addresses allowed at once.
pub(crate) const BURST: usize = 50;
/// Pause after a burst, in milliseconds.
const PAUSE_MS: i64 = 3_000;

/// Limits of the domain, and a record of its calls.
#[derive(Default)]
pub(crate) struct Tight {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: usize,
    until: Millis,
    /// Time of each address's first attempt, and its key within the work that contained it.
    waiting: HashMap<String, (Option<Millis>, u64)>,
}

/// Returns whether an address is at the domain.
pub(super) fn is_there(email: &str) -> bool {
    email.ends_with(DOMAIN)
}

impl Tight {
    /// Returns the number of calls for the domain.
    pub(crate) fn calls(&self) -> usize {
        self.state.lock().unwrap().calls
    }

    pub(super) fn room(&self, destination: &str, now: Millis) -> Option<DestinationCapacity> {
        let until = self.state.lock().unwrap().until;
        (destination == DOMAIN).then_some(if until > now {
            DestinationCapacity::At(until)
        } else {
            DestinationCapacity::Now(u32::MAX)
        })
    }

    /// Settles a burst of the addresses and throttles the rest. Asserts that a returning address has kept the time and the key of
    /// its first attempt: a change would have cost a write.
    pub(super) fn ask(&self, items: Vec<JobAddress>, engine: &Engine, sink: &OutcomeSink) {
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
                AddressOutcome::Settled(engine.facts_only(&item.email))
            } else {
                let since = item.tries.since.or(Some(now));
                state.waiting.insert(item.email.to_string(), (since, item.key));
                let held = Some(Throttled { at: Some("tight".into()) });
                AddressOutcome::PutOff {
                    not_before: state.until,
                    tries: PriorAttempts { since, ..item.tries },
                    why: "budget",
                    held,
                }
            };
            sink(vec![(item.key, outcome)]);
        }
    }
}
