//! Lanes, which limit the deliveries to each endpoint and host.
//!
//! A lane allows a number of concurrent deliveries and a rate. If it gets no responses, a circuit breaker pauses it, each time
//! for twice as long. A delivery that cannot go now is rescheduled, at times spread by the rate. So a million deliveries to one
//! dead endpoint neither retry together nor delay others. Lanes belong to one process: with several nodes, an endpoint sees the
//! rate of each node.
//!
//! Many customers may share a host, and the endpoint of one must not affect the others: for a host, only failed connections open
//! the breaker. An endpoint that did not respond last time may occupy its slot for a whole attempt. All such deliveries together
//! therefore get half of a lane's slots.

use std::collections::HashMap;

use probity_mail::limits::Gcra;
use probity_mail::time::Millis;

/// Limits of one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneConfig {
    /// Concurrent deliveries.
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

impl Default for LaneConfig {
    fn default() -> Self {
        Self { at_once: 4, per_second: 10, burst: 20, silences: 5, pause_ms: 10_000, pause_max_ms: 300_000 }
    }
}

/// Maximum number of lanes in memory. Lanes with attempts in progress are always kept.
const LANES_MAX: usize = 10_000;
/// Minimum wait of a delivery whose lane is full, in milliseconds.
const BUSY_MS: i64 = 1_000;
/// Maximum delay of a delivery, in milliseconds.
const AHEAD_MAX_MS: i64 = 300_000;

/// Decision about a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It may go now. [`Lanes::done`] must follow.
    Go,
    /// It has to wait until this time.
    Later(Millis),
}

/// Observation about an endpoint or a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReceiverState {
    /// It responds.
    Answer,
    /// It was contacted and does not respond.
    Silence,
    /// No information: it was not contacted, or the failure says nothing about it.
    Nothing,
}

/// Last known state of an endpoint that is about to be contacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndpointState {
    /// It responded last time, or was never contacted.
    Lively,
    /// It did not respond last time.
    Silent,
}

struct Lane {
    under_way: u32,
    /// Number of these that were [`EndpointState::Silent`].
    silent: u32,
    rate: Gcra,
    /// Time given to the last rescheduled delivery.
    last_place: Millis,
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
    pub(super) fn admit(&mut self, receiver: &str, state: EndpointState, now: Millis) -> Admission {
        if self.lanes.len() >= LANES_MAX && !self.lanes.contains_key(receiver) {
            self.tidy(now);
        }
        let config = self.config;
        let lane = self.lanes.entry(receiver.to_owned()).or_insert_with(|| Lane::new(config));
        if let Some(until) = lane.open_until.filter(|until| *until > now) {
            return Admission::Later(lane.in_line(until, now, config));
        }
        // Half open: one delivery goes ahead as a trial.
        let at_once = if lane.open_until.is_some() { 1 } else { config.at_once };
        let kept = state == EndpointState::Silent && lane.silent >= (at_once / 2).max(1);
        if kept || lane.under_way >= at_once {
            return Admission::Later(lane.in_line(now + BUSY_MS, now, config));
        }
        match lane.rate.take(now, 1) {
            Ok(()) => {
                lane.under_way += 1;
                lane.silent += u32::from(state == EndpointState::Silent);
                Admission::Go
            }
            Err(at) => Admission::Later(lane.in_line(at, now, config)),
        }
    }

    /// Returns whether a responsive lane has its maximum number of deliveries. The next one may go when one of them ends.
    pub(super) fn is_full(&self, receiver: &str) -> bool {
        self.lanes.get(receiver).is_some_and(|lane| lane.open_until.is_none() && lane.under_way >= self.config.at_once)
    }

    /// Records the end of an attempt that was admitted in this state.
    pub(super) fn done(&mut self, receiver: &str, state: EndpointState, now: Millis, heard: ReceiverState) {
        let config = self.config;
        let Some(lane) = self.lanes.get_mut(receiver) else { return };
        lane.under_way = lane.under_way.saturating_sub(1);
        lane.silent = lane.silent.saturating_sub(u32::from(state == EndpointState::Silent));
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
        }
    }

    /// Returns whether a lane got no response last time.
    pub(super) fn is_silent(&self, receiver: &str) -> bool {
        self.lanes.get(receiver).is_some_and(|lane| lane.silences > 0)
    }

    /// Returns the number of attempts in progress in all lanes, for tests.
    #[cfg(test)]
    fn under_way(&self) -> u32 {
        self.lanes.values().map(|lane| lane.under_way).sum()
    }

    /// Removes idle lanes. If that is not enough, removes all without an attempt in progress.
    pub(super) fn tidy(&mut self, now: Millis) {
        self.lanes.retain(|_, lane| !lane.is_idle(now));
        if self.lanes.len() >= LANES_MAX {
            self.lanes.retain(|_, lane| lane.under_way > 0);
        }
    }
}

impl Lane {
    fn new(config: LaneConfig) -> Self {
        Self {
            under_way: 0,
            silent: 0,
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
        // Beyond the maximum delay, times start over, and deliveries that return get a new one.
        self.last_place = if place > now + AHEAD_MAX_MS { earliest } else { place };
        self.last_place
    }

    fn is_idle(&self, now: Millis) -> bool {
        let rested = self.silences == 0 || self.open_until.is_some_and(|until| until + AHEAD_MAX_MS < now);
        self.under_way == 0 && rested && self.rate.available(now) == self.rate.burst()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIVELY: EndpointState = EndpointState::Lively;
    const NOW: Millis = Millis(1_000_000);
    const CONFIG: LaneConfig =
        LaneConfig { at_once: 2, per_second: 10, burst: 5, silences: 3, pause_ms: 1_000, pause_max_ms: 4_000 };

    #[test]
    fn a_receiver_gets_so_many_at_once() {
        let mut lanes = Lanes::new(CONFIG);
        assert_eq!([lanes.admit("a", LIVELY, NOW), lanes.admit("a", LIVELY, NOW)], [Admission::Go; 2]);
        assert_eq!(lanes.admit("a", LIVELY, NOW), Admission::Later(NOW + BUSY_MS));
        assert_eq!(
            lanes.admit("a", LIVELY, NOW),
            Admission::Later(NOW + BUSY_MS + 100),
            "they do not come back together"
        );
        assert_eq!(lanes.admit("b", LIVELY, NOW), Admission::Go, "another's lane is free");
        lanes.done("a", LIVELY, NOW, ReceiverState::Answer);
        assert_eq!(lanes.admit("a", LIVELY, NOW), Admission::Go);
        assert_eq!(lanes.under_way(), 3);
    }

    #[test]
    fn those_that_were_silent_get_half_of_the_places() {
        let mut lanes = Lanes::new(LaneConfig { at_once: 4, ..CONFIG });
        assert_eq!(
            [lanes.admit("a", EndpointState::Silent, NOW), lanes.admit("a", EndpointState::Silent, NOW)],
            [Admission::Go; 2]
        );
        assert!(matches!(lanes.admit("a", EndpointState::Silent, NOW), Admission::Later(_)));
        assert_eq!([lanes.admit("a", LIVELY, NOW), lanes.admit("a", LIVELY, NOW)], [Admission::Go; 2]);
        assert!(matches!(lanes.admit("a", LIVELY, NOW), Admission::Later(_)), "no more than all");
        lanes.done("a", LIVELY, NOW, ReceiverState::Answer);
        assert!(
            matches!(lanes.admit("a", EndpointState::Silent, NOW), Admission::Later(_)),
            "this place is not for them"
        );
        lanes.done("a", EndpointState::Silent, NOW, ReceiverState::Nothing);
        assert_eq!(lanes.admit("a", EndpointState::Silent, NOW), Admission::Go);
    }

    #[test]
    fn a_receiver_gets_so_many_a_second() {
        let mut lanes = Lanes::new(CONFIG);
        let mut sent = 0;
        // 10 s in steps of 10 ms, each with as many requests as possible.
        for step in 0..1_000 {
            let now = NOW + step * 10;
            while lanes.admit("a", LIVELY, now) == Admission::Go {
                lanes.done("a", LIVELY, now, ReceiverState::Answer);
                sent += 1;
            }
        }
        assert!((100..=105).contains(&sent), "{sent}");
    }

    #[test]
    fn those_that_must_wait_come_back_at_the_rate() {
        let mut lanes = Lanes::new(CONFIG);
        let mut later: Vec<Millis> = Vec::new();
        for _ in 0..1_000 {
            if let Admission::Later(at) = lanes.admit("a", LIVELY, NOW) {
                later.push(at);
            }
        }
        assert_eq!(later.len(), 998);
        assert!(later.windows(2).all(|pair| pair[1] == pair[0] + 100));
        for _ in 0..10_000 {
            let Admission::Later(at) = lanes.admit("a", LIVELY, NOW) else { panic!("nothing has ended") };
            assert!(at <= NOW + AHEAD_MAX_MS);
        }
    }

    #[test]
    fn silence_opens_the_breaker_and_an_answer_closes_it() {
        let mut lanes = Lanes::new(CONFIG);
        let mut now = NOW;
        for _ in 0..3 {
            assert_eq!(lanes.admit("a", LIVELY, now), Admission::Go);
            lanes.done("a", LIVELY, now, ReceiverState::Silence);
        }
        // The fourth pause has the maximum length.
        for pause_ms in [1_000, 2_000, 4_000, 4_000] {
            assert!(lanes.is_silent("a"));
            assert!(matches!(lanes.admit("a", LIVELY, now), Admission::Later(at) if at >= now + pause_ms));
            assert!(matches!(lanes.admit("a", LIVELY, now + pause_ms - 1), Admission::Later(_)));
            now = now + pause_ms;
            assert_eq!(lanes.admit("a", LIVELY, now), Admission::Go, "one finds out");
            assert!(matches!(lanes.admit("a", LIVELY, now), Admission::Later(_)), "one only");
            lanes.done("a", LIVELY, now, ReceiverState::Silence);
        }
        now = now + 4_000;
        assert_eq!(lanes.admit("a", LIVELY, now), Admission::Go);
        lanes.done("a", LIVELY, now, ReceiverState::Answer);
        assert!(!lanes.is_silent("a") && !lanes.is_silent("b"));
        assert_eq!([lanes.admit("a", LIVELY, now), lanes.admit("a", LIVELY, now)], [Admission::Go; 2]);
    }

    #[test]
    fn lanes_that_rest_are_forgotten() {
        let mut lanes = Lanes::new(CONFIG);
        for n in 0..LANES_MAX {
            let receiver = n.to_string();
            assert_eq!(lanes.admit(&receiver, LIVELY, NOW), Admission::Go);
            lanes.done(&receiver, LIVELY, NOW, ReceiverState::Answer);
        }
        assert_eq!(lanes.admit("busy", LIVELY, NOW + 10_000), Admission::Go);
        assert_eq!(lanes.lanes.len(), 1, "the others had rested");
        lanes.tidy(NOW + 10_000_000);
        assert_eq!(lanes.under_way(), 1, "what is under way is remembered");
    }
}
