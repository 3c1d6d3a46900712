//! Lanes, which limit the deliveries to each endpoint and host.
//!
//! A lane allows a rate, and an endpoint's lane a number of concurrent attempts. Deliveries over the number wait for a place, briefly
//! and in memory; the rest gets a time to come back. These times are spread according to the rate. If a lane gets no responses,
//! nothing waits for it, and after some attempts a circuit breaker pauses it, each time for twice as long. A million deliveries to
//! one dead endpoint therefore neither come back together nor delay others. Lanes belong to one process: with several nodes, an
//! endpoint sees the rate of each node.
//!
//! Many customers may share a host, and the endpoint of one must not affect the others: for a host, only failed connections
//! open the breaker, and deliveries wait for the places of their own endpoint only.

use std::collections::HashMap;
use std::sync::Arc;

use probity_mail::limits::Gcra;
use probity_mail::time::Millis;
use tokio::sync::Semaphore;

/// Limits of one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneConfig {
    /// Places of an endpoint. After an attempt without a response, an endpoint or host gets half as many deliveries.
    pub at_once: u32,
    /// Deliveries per second.
    pub per_second: u32,
    /// Deliveries that may go without waiting for the rate.
    pub burst: u32,
    /// Consecutive attempts without a response after which the breaker opens.
    pub silences: u32,
    /// First pause, in milliseconds.
    pub pause_ms: i64,
    /// Longest pause, in milliseconds.
    pub pause_max_ms: i64,
}

impl LaneConfig {
    fn places(&self) -> Arc<Semaphore> {
        Arc::new(Semaphore::new(self.at_once.max(1) as usize))
    }
}

impl Default for LaneConfig {
    fn default() -> Self {
        Self { at_once: 4, per_second: 10, burst: 20, silences: 5, pause_ms: 10_000, pause_max_ms: 300_000 }
    }
}

/// Maximum number of lanes in memory. Lanes with attempts in progress are always kept.
const LANES_MAX: usize = 10_000;
/// Minimum pause of a delivery that found no place, in milliseconds.
pub(super) const BUSY_MS: i64 = 1_000;
/// Maximum time until a delivery comes back, in milliseconds.
const AHEAD_MAX_MS: i64 = 300_000;

/// Decision about a delivery.
#[derive(Debug)]
pub(super) enum Admission {
    /// It may go, to an endpoint as soon as it has one of these places. They close when the lane is paused. [`Lanes::done`] must
    /// follow.
    Go(Arc<Semaphore>),
    /// It has to come back at this time.
    Later(Millis),
}

/// Observation about an endpoint or a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReceiverState {
    /// It responds.
    Answer,
    /// It was contacted and does not respond.
    Silence,
    /// Nothing: it was not contacted, or the failure says nothing about it.
    Nothing,
}

struct Lane {
    places: Arc<Semaphore>,
    /// Number of deliveries admitted, with those that wait for a place.
    admitted: u32,
    rate: Gcra,
    /// Time given to the last delivery that had to come back.
    last_place: Millis,
    /// Consecutive attempts without a response.
    silences: u32,
    open_until: Option<Millis>,
    opened: u32,
}

/// Lanes by name.
pub(super) struct Lanes {
    config: LaneConfig,
    lanes: HashMap<String, Lane>,
}

impl Lanes {
    pub(super) fn new(config: LaneConfig) -> Self {
        Self { config, lanes: HashMap::new() }
    }

    /// Decides whether a delivery may go now.
    pub(super) fn admit(&mut self, receiver: &str, now: Millis) -> Admission {
        if self.lanes.len() >= LANES_MAX && !self.lanes.contains_key(receiver) {
            self.tidy(now);
        }
        let config = self.config;
        let lane = self.lanes.entry(receiver.to_owned()).or_insert_with(|| Lane::new(config));
        if let Some(until) = lane.open_until.filter(|until| *until > now) {
            return Admission::Later(lane.in_line(until, now, config));
        }
        let most = match lane {
            // Half open: one delivery goes ahead as a trial.
            Lane { open_until: Some(_), .. } => 1,
            Lane { silences: 1.., .. } => (config.at_once / 2).max(1),
            // The rate limits how many wait.
            _ => u32::MAX,
        };
        if lane.admitted >= most {
            return Admission::Later(lane.in_line(now + BUSY_MS, now, config));
        }
        match lane.rate.take(now, 1) {
            Ok(()) => {
                lane.admitted += 1;
                Admission::Go(lane.places.clone())
            }
            Err(at) => Admission::Later(lane.in_line(at, now, config)),
        }
    }

    /// Records the end of a delivery that was admitted.
    pub(super) fn done(&mut self, receiver: &str, now: Millis, heard: ReceiverState) {
        let config = self.config;
        let Some(lane) = self.lanes.get_mut(receiver) else { return };
        lane.admitted = lane.admitted.saturating_sub(1);
        match heard {
            ReceiverState::Answer => {
                (lane.silences, lane.open_until, lane.opened) = (0, None, 0);
                return;
            }
            ReceiverState::Nothing => return,
            ReceiverState::Silence => lane.silences = lane.silences.saturating_add(1),
        }
        // Attempts that were in progress when the breaker opened do not open it again.
        if lane.silences >= config.silences && lane.open_until.is_none_or(|until| until <= now) {
            let pause_ms = config.pause_ms.saturating_mul(1 << lane.opened.min(16)).min(config.pause_max_ms);
            lane.open_until = Some(now + pause_ms);
            lane.opened += 1;
            std::mem::replace(&mut lane.places, config.places()).close();
        }
    }

    /// Whether a lane got no response last time.
    pub(super) fn is_silent(&self, receiver: &str) -> bool {
        self.lanes.get(receiver).is_some_and(|lane| lane.silences > 0)
    }

    /// Ends all waits for a place.
    pub(super) fn close(&self) {
        self.lanes.values().for_each(|lane| lane.places.close());
    }

    /// Number of admitted deliveries in all lanes.
    #[cfg(test)]
    fn admitted(&self) -> u32 {
        self.lanes.values().map(|lane| lane.admitted).sum()
    }

    /// Removes idle lanes. If that is not enough, removes all without a delivery in progress.
    pub(super) fn tidy(&mut self, now: Millis) {
        self.lanes.retain(|_, lane| !lane.is_idle(now));
        if self.lanes.len() >= LANES_MAX {
            self.lanes.retain(|_, lane| lane.admitted > 0);
        }
    }
}

impl Lane {
    fn new(config: LaneConfig) -> Self {
        Self {
            places: config.places(),
            admitted: 0,
            rate: Gcra::new(config.per_second, 1_000, config.burst),
            last_place: Millis(i64::MIN),
            silences: 0,
            open_until: None,
            opened: 0,
        }
    }

    /// Returns the next free time that is not before `earliest`.
    fn in_line(&mut self, earliest: Millis, now: Millis, config: LaneConfig) -> Millis {
        let step_ms = 1_000 / i64::from(config.per_second.clamp(1, 1_000));
        let place = earliest.max(Millis(self.last_place.0.saturating_add(step_ms)));
        // Beyond the horizon, the line starts again. Deliveries that come back then get a new time.
        self.last_place = if place > now + AHEAD_MAX_MS { earliest } else { place };
        self.last_place
    }

    fn is_idle(&self, now: Millis) -> bool {
        let rested = self.silences == 0 || self.open_until.is_some_and(|until| until + AHEAD_MAX_MS < now);
        self.admitted == 0 && rested && self.rate.available(now) == self.rate.burst()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_000_000);
    const CONFIG: LaneConfig =
        LaneConfig { at_once: 2, per_second: 10, burst: 5, silences: 3, pause_ms: 1_000, pause_max_ms: 4_000 };

    /// Admits a delivery that may go.
    fn go(lanes: &mut Lanes, receiver: &str, now: Millis) -> Arc<Semaphore> {
        match lanes.admit(receiver, now) {
            Admission::Go(places) => places,
            Admission::Later(at) => panic!("{receiver}: later, at {at:?}"),
        }
    }

    /// Admits a delivery that must come back, and returns when.
    fn later(lanes: &mut Lanes, receiver: &str, now: Millis) -> Millis {
        match lanes.admit(receiver, now) {
            Admission::Later(at) => at,
            Admission::Go(_) => panic!("{receiver} may go"),
        }
    }

    #[test]
    fn an_endpoint_has_its_own_places_and_deliveries_wait_for_them_up_to_the_burst() {
        let mut lanes = Lanes::new(CONFIG);
        let places = go(&mut lanes, "a", NOW);
        assert_eq!(places.available_permits(), 2);
        for _ in 1..5 {
            assert!(Arc::ptr_eq(&places, &go(&mut lanes, "a", NOW)));
        }
        assert_eq!(later(&mut lanes, "a", NOW), NOW + 100);
        assert_eq!(later(&mut lanes, "a", NOW), NOW + 200, "they do not come back together");
        assert!(!Arc::ptr_eq(&places, &go(&mut lanes, "b", NOW)));
        assert_eq!(lanes.admitted(), 6);
    }

    #[test]
    fn an_endpoint_that_was_silent_has_half_of_the_places_and_nothing_waits_for_it() {
        let mut lanes = Lanes::new(LaneConfig { at_once: 4, ..CONFIG });
        let _ = go(&mut lanes, "a", NOW);
        lanes.done("a", NOW, ReceiverState::Silence);
        for _ in 0..2 {
            let _ = go(&mut lanes, "a", NOW);
        }
        assert_eq!(later(&mut lanes, "a", NOW), NOW + BUSY_MS);
        lanes.done("a", NOW, ReceiverState::Nothing);
        let _ = go(&mut lanes, "a", NOW);
        lanes.done("a", NOW, ReceiverState::Answer);
        for _ in 0..2 {
            let _ = go(&mut lanes, "a", NOW + 1_000);
        }
        assert_eq!(lanes.admitted(), 3);
    }

    #[test]
    fn a_receiver_gets_so_many_a_second() {
        let mut lanes = Lanes::new(CONFIG);
        let mut sent = 0;
        // 10 s in steps of 10 ms, each with as many requests as possible.
        for step in 0..1_000 {
            let now = NOW + step * 10;
            while let Admission::Go(_) = lanes.admit("a", now) {
                lanes.done("a", now, ReceiverState::Answer);
                sent += 1;
            }
        }
        assert!((100..=105).contains(&sent), "{sent}");
    }

    #[test]
    fn those_that_must_wait_come_back_at_the_rate() {
        let mut lanes = Lanes::new(CONFIG);
        for _ in 0..5 {
            let _ = go(&mut lanes, "a", NOW);
        }
        let times: Vec<Millis> = (0..1_000).map(|_| later(&mut lanes, "a", NOW)).collect();
        assert!(times.windows(2).all(|pair| pair[1] == pair[0] + 100));
        for _ in 0..10_000 {
            assert!(later(&mut lanes, "a", NOW) <= NOW + AHEAD_MAX_MS);
        }
    }

    #[test]
    fn silence_opens_the_breaker_and_an_answer_closes_it() {
        let mut lanes = Lanes::new(CONFIG);
        let mut now = NOW;
        let first = go(&mut lanes, "a", now);
        lanes.done("a", now, ReceiverState::Silence);
        for _ in 0..2 {
            assert!(!first.is_closed());
            let _ = go(&mut lanes, "a", now);
            lanes.done("a", now, ReceiverState::Silence);
        }
        assert!(first.is_closed(), "what waits for a place comes back after the pause");
        // The fourth pause has the maximum length.
        for pause_ms in [1_000, 2_000, 4_000, 4_000] {
            assert!(lanes.is_silent("a"));
            assert!(later(&mut lanes, "a", now) >= now + pause_ms);
            later(&mut lanes, "a", now + pause_ms - 1);
            now = now + pause_ms;
            let _ = go(&mut lanes, "a", now);
            later(&mut lanes, "a", now);
            lanes.done("a", now, ReceiverState::Silence);
        }
        now = now + 4_000;
        assert_eq!(go(&mut lanes, "a", now).available_permits(), 2);
        lanes.done("a", now, ReceiverState::Answer);
        assert!(!lanes.is_silent("a") && !lanes.is_silent("b"));
        for _ in 0..3 {
            let _ = go(&mut lanes, "a", now);
        }
    }

    #[test]
    fn lanes_that_rest_are_forgotten() {
        let mut lanes = Lanes::new(CONFIG);
        for n in 0..LANES_MAX {
            let receiver = n.to_string();
            let _ = go(&mut lanes, &receiver, NOW);
            lanes.done(&receiver, NOW, ReceiverState::Answer);
        }
        let _ = go(&mut lanes, "busy", NOW + 10_000);
        assert_eq!(lanes.lanes.len(), 1, "the others had rested");
        lanes.tidy(NOW + 10_000_000);
        assert_eq!(lanes.admitted(), 1, "deliveries in progress are remembered");
    }
}
