//! Automatic runs of a connection.

use probity_account::connections::RunCause;
use probity_store::connections::schedule::{ConnectionSchedule, ScheduleWait};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::hook::{EventHookShown, EventHookState};
use crate::schema;
use crate::timestamp::Timestamp;

/// When a connection's automatic runs start.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ConnectionSchedule)]
pub struct ScheduleShown {
    /// Time zone in whose nights `autofloss` and `decay_protection` start, by its name in the IANA database.
    #[schema(examples("Europe/Berlin"))]
    pub time_zone: String,
    /// Kinds of runs that are switched on.
    pub runs: Vec<ScheduledRun>,
    /// Promise of `instafloss`, also if it is off.
    pub instafloss: NewContactPromise,
}

/// One kind of automatic run.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ScheduledRun {
    #[schema(schema_with = triggers)]
    pub trigger: &'static str,
    /// Scheduled time of the next run. One run makes up for all that were missed.
    pub due_at: Timestamp,
    /// Time of the next attempt, later than `due_at` after a failure; null while the connection is disconnected.
    #[schema(required)]
    pub next_at: Option<Timestamp>,
    #[schema(required, schema_with = waits)]
    pub waits_for: Option<&'static str>,
    /// Failed runs in a row.
    #[schema(examples(0), minimum = 0)]
    pub failures: i64,
    /// Start of the last complete run; null if there was none.
    #[schema(required)]
    pub last_run_at: Option<Timestamp>,
}

/// How soon new contacts are verified.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NewContactPromise {
    #[schema(schema_with = methods)]
    pub method: &'static str,
    /// Seconds within which a new subscribed contact is read and its verification starts. With webhooks, this holds for contacts
    /// about which the platform sends an event.
    #[schema(examples(600), minimum = 0)]
    pub within_s: i64,
    /// Seconds within which a contact without an event is read and its verification starts.
    #[schema(examples(600), minimum = 0)]
    pub without_event_s: i64,
    pub webhook: EventHookShown,
    /// Polls of the last 7 days that found new contacts, at most 1,000.
    #[schema(examples(14), minimum = 0)]
    pub measured: usize,
    /// Median of the seconds from a contact's creation to its verdict, in these polls, each with its slowest contact; null if there
    /// are none.
    #[schema(required, examples(210), minimum = 0)]
    pub median_s: Option<i64>,
    /// Longest time from a contact's creation to its verdict, in seconds, in these polls; null if there are none.
    #[schema(required, examples(540), minimum = 0)]
    pub longest_s: Option<i64>,
}

impl From<ConnectionSchedule> for ScheduledRun {
    fn from(stored: ConnectionSchedule) -> Self {
        Self {
            trigger: stored.cause.as_str(),
            due_at: stored.due_at.into(),
            next_at: stored.next_at.map(Into::into),
            waits_for: stored.waits_for.map(ScheduleWait::as_str),
            failures: stored.failures,
            last_run_at: stored.done_at.map(Into::into),
        }
    }
}

/// Seconds from an event to the poll that reads its contact, if the platform answers.
const EVENT_S: i64 = 60;

impl NewContactPromise {
    /// Builds the promise of polls at an interval from delays, both in milliseconds.
    pub fn new(every_ms: i64, mut delays: Vec<i64>, webhook: EventHookShown) -> Self {
        delays.sort_unstable();
        let seconds = |ms: &i64| ms.max(&0) / 1_000;
        let is_hooked = webhook.state == EventHookState::Registered;
        // One interval until the poll, and one for reading.
        let polled_s = every_ms * 2 / 1_000;
        Self {
            method: if is_hooked { METHODS[1] } else { METHODS[0] },
            within_s: if is_hooked { EVENT_S.min(polled_s) } else { polled_s },
            without_event_s: polled_s,
            webhook,
            measured: delays.len(),
            median_s: delays.get(delays.len() / 2).map(seconds),
            longest_s: delays.last().map(seconds),
        }
    }
}

const METHODS: [&str; 2] = ["polling", "webhook"];

schema::schemas! {
    triggers = schema::one_of(RunCause::ALL.into_iter().filter(|cause| cause.is_automatic()).map(RunCause::as_str),
        "Kind of run.");
    waits = schema::with_example(schema::or_null(schema::one_of(ScheduleWait::ALL.map(ScheduleWait::as_str), "Why the run \
        waits. `credits`: there are none. `failed`: the last run failed and is repeated. `first_run`: the platform does not \
        say when contacts were created, so a complete run must come first. Null if it only waits for its time.")), json!(null));
    methods = schema::one_of(METHODS, "How new contacts are found. `polling`: the platform is asked at an interval. \
        `webhook`: also after each event that the platform sends.");
}

#[cfg(test)]
mod tests {
    use probity_mail::time::Millis;

    use super::*;

    #[test]
    fn what_was_measured_is_summed_up() {
        let off = || EventHookShown::of(EventHookState::Off);
        let none = NewContactPromise::new(300_000, Vec::new(), off());
        assert_eq!((none.within_s, none.measured, none.median_s, none.longest_s), (600, 0, None, None));
        let some = NewContactPromise::new(300_000, vec![9_000, -5, 3_999, 1_000], off());
        assert_eq!((some.measured, some.median_s, some.longest_s), (4, Some(3), Some(9)));
    }

    #[test]
    fn a_webhook_shortens_the_promise_of_contacts_with_an_event() {
        let webhook =
            EventHookShown { registered_at: Some(Millis(0).into()), ..EventHookShown::of(EventHookState::Registered) };
        let promise = NewContactPromise::new(300_000, Vec::new(), webhook);
        assert_eq!((promise.method, promise.within_s, promise.without_event_s), ("webhook", 60, 600));
        let polled = NewContactPromise::new(300_000, Vec::new(), EventHookShown::of(EventHookState::Failed));
        assert_eq!((polled.method, polled.within_s, polled.without_event_s), ("polling", 600, 600));
    }
}
