//! Enforces the time limits of a connection.
//!
//! Reads, writes, and the start and end of requests record their time here. The connection's task checks the times when the
//! earliest limit could be exceeded. A busy connection therefore sets no timer per request; it only reads the clock.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::Version;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use probity_engine::clock::EngineClock;

use crate::edge::listen::ListenConfig;
use crate::edge::listen::frames::FrameTotals;

/// Last activity of a connection. All times are in milliseconds since the clock started.
#[derive(Debug)]
pub(super) struct Pulse {
    clock: EngineClock,
    /// Number of requests in flight.
    flights: AtomicU32,
    /// Whether a header section has begun; true for a new connection, which must send one.
    in_header: AtomicBool,
    /// Whether the connection uses HTTP/2, whose frames need not belong to a header section.
    http2: AtomicBool,
    /// Whether the socket accepts no more data for now. Hyper may hold much of a response whose request counts as finished.
    blocked: AtomicBool,
    /// Whether the client has sent more while the socket accepts no data: it sends requests but does not read responses.
    ahead: AtomicBool,
    /// Time at which the socket last stopped accepting data.
    blocked_ms: AtomicU64,
    /// Number of requests that have begun, and of bytes written to the client.
    requests: AtomicU64,
    written: AtomicU64,
    /// Start of the current wait: for a header section, or of the idle time.
    since_ms: AtomicU64,
    /// Time of the last byte in either direction.
    moved_ms: AtomicU64,
}

/// Limit that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    Header,
    Idle,
    Stalled,
    /// The client keeps sending requests without reading responses.
    Ahead,
}

impl Pulse {
    pub(super) fn new(clock: EngineClock) -> Self {
        let now = now_ms(clock);
        Self {
            clock,
            flights: AtomicU32::new(0),
            in_header: AtomicBool::new(true),
            http2: AtomicBool::new(false),
            blocked: AtomicBool::new(false),
            ahead: AtomicBool::new(false),
            blocked_ms: AtomicU64::new(now),
            requests: AtomicU64::new(0),
            written: AtomicU64::new(0),
            since_ms: AtomicU64::new(now),
            moved_ms: AtomicU64::new(now),
        }
    }

    /// Records that a request's header section is complete.
    pub(super) fn take_off(pulse: &Arc<Self>, version: Version) -> RequestInFlight {
        pulse.flights.fetch_add(1, Ordering::Relaxed);
        pulse.requests.fetch_add(1, Ordering::Relaxed);
        pulse.in_header.store(false, Ordering::Relaxed);
        if version == Version::HTTP_2 {
            pulse.http2.store(true, Ordering::Relaxed);
        }
        pulse.moved_ms.store(now_ms(pulse.clock), Ordering::Relaxed);
        RequestInFlight(Arc::clone(pulse))
    }

    fn landed(&self) {
        // Stored first: otherwise, a connection without requests could appear idle since its last request began.
        self.since_ms.store(now_ms(self.clock), Ordering::Release);
        self.flights.fetch_sub(1, Ordering::Release);
    }

    pub(super) fn read(&self) {
        let now = now_ms(self.clock);
        if self.is_blocked() {
            // Now only reading responses counts: otherwise, HTTP/2 frames could keep the connection open forever.
            self.sent_ahead();
        } else {
            self.moved_ms.store(now, Ordering::Relaxed);
        }
        let idle = self.flights.load(Ordering::Relaxed) == 0 && !self.http2.load(Ordering::Relaxed);
        if idle && !self.in_header.swap(true, Ordering::Relaxed) {
            self.since_ms.store(now, Ordering::Relaxed);
        }
    }

    /// Records sent bytes. The rest of a response whose request counts as finished does not count as idle time.
    pub(super) fn written(&self, bytes: usize) {
        let now = now_ms(self.clock);
        self.moved_ms.store(now, Ordering::Relaxed);
        self.written.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.ahead.store(false, Ordering::Relaxed);
        if self.blocked.swap(false, Ordering::Relaxed) && !self.in_header.load(Ordering::Relaxed) {
            self.since_ms.store(now, Ordering::Relaxed);
        }
    }

    pub(super) fn blocked(&self) {
        if !self.blocked.swap(true, Ordering::Relaxed) {
            self.blocked_ms.store(now_ms(self.clock), Ordering::Relaxed);
        }
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.blocked.load(Ordering::Relaxed)
    }

    /// Records that the client has sent more without reading.
    pub(super) fn sent_ahead(&self) {
        self.ahead.store(true, Ordering::Relaxed);
    }

    /// Returns the number of requests so far if none is in flight.
    pub(super) fn at_rest(&self) -> Option<u64> {
        let at_rest = self.flights.load(Ordering::Acquire) == 0;
        at_rest.then(|| self.requests.load(Ordering::Relaxed))
    }

    /// Returns the totals so far.
    pub(super) fn done(&self) -> FrameTotals {
        let (requests, written) = (self.requests.load(Ordering::Relaxed), self.written.load(Ordering::Relaxed));
        FrameTotals { now_ms: now_ms(self.clock), requests, written }
    }

    /// Returns the time until the next check, or the limit that was exceeded.
    pub(super) fn judge(&self, limits: &ListenConfig) -> Result<Duration, Overdue> {
        let now = now_ms(self.clock);
        let since = |time: &AtomicU64| Duration::from_millis(now.saturating_sub(time.load(Ordering::Relaxed)));
        // An HTTP/2 client must send window updates while it reads a response.
        let asks_on = self.ahead.load(Ordering::Relaxed) && !self.http2.load(Ordering::Relaxed);
        let (passed, limit, overdue) = if self.is_blocked() && asks_on {
            (since(&self.blocked_ms), limits.header_timeout, Overdue::Ahead)
        } else if self.flights.load(Ordering::Acquire) > 0 || self.is_blocked() {
            (since(&self.moved_ms), limits.stall_timeout, Overdue::Stalled)
        } else if self.in_header.load(Ordering::Relaxed) {
            (since(&self.since_ms), limits.header_timeout, Overdue::Header)
        } else {
            (since(&self.since_ms), limits.idle_timeout, Overdue::Idle)
        };
        if passed >= limit {
            return Err(overdue);
        }
        // Another wait may begin meanwhile.
        Ok(limit.saturating_sub(passed).min(limits.shortest()))
    }
}

fn now_ms(clock: EngineClock) -> u64 {
    u64::try_from(clock.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Guard of a request in flight.
pub(super) struct RequestInFlight(Arc<Pulse>);

impl Drop for RequestInFlight {
    fn drop(&mut self) {
        self.0.landed();
    }
}

/// Body of a response. Its request is in flight as long as the body exists.
pub(super) struct Tracked {
    body: Body,
    _flight: RequestInFlight,
}

impl Tracked {
    pub(super) fn new(body: Body, flight: RequestInFlight) -> Self {
        Self { body, _flight: flight }
    }
}

impl HttpBody for Tracked {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use probity_mail::time::Millis;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    struct Trial {
        pulse: Arc<Pulse>,
        limits: ListenConfig,
    }

    impl Trial {
        fn new() -> Self {
            Self { pulse: Arc::new(Pulse::new(EngineClock::starting_at(Millis(0)))), limits: ListenConfig::default() }
        }

        /// Returns the limit that is exceeded after this many quiet seconds, and not one second earlier.
        async fn over_after(&self, seconds: u32) -> Overdue {
            tokio::time::advance((seconds - 1) * SECOND).await;
            let next = self.pulse.judge(&self.limits).expect("a second is left");
            assert_eq!(next, SECOND);
            tokio::time::advance(SECOND).await;
            self.pulse.judge(&self.limits).unwrap_err()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_connection_has_the_time_of_a_header_section() {
        let trial = Trial::new();
        tokio::time::advance(4 * SECOND).await;
        // Bytes of the first request do not extend the time.
        trial.pulse.read();
        assert_eq!(trial.over_after(6).await, Overdue::Header);
    }

    #[tokio::test(start_paused = true)]
    async fn between_requests_it_may_idle_until_a_byte_comes() {
        let trial = Trial::new();
        drop(Pulse::take_off(&trial.pulse, Version::HTTP_11));
        assert_eq!(trial.over_after(75).await, Overdue::Idle);
        trial.pulse.read();
        assert_eq!(trial.over_after(10).await, Overdue::Header);
    }

    #[tokio::test(start_paused = true)]
    async fn frames_of_http2_are_no_header_section_and_win_no_time() {
        let trial = Trial::new();
        drop(Pulse::take_off(&trial.pulse, Version::HTTP_2));
        tokio::time::advance(70 * SECOND).await;
        trial.pulse.read();
        assert_eq!(trial.over_after(5).await, Overdue::Idle);
    }

    #[tokio::test(start_paused = true)]
    async fn in_flight_only_a_standstill_counts() {
        let trial = Trial::new();
        let flights = [Version::HTTP_2, Version::HTTP_2].map(|version| Pulse::take_off(&trial.pulse, version));
        for moved in [|pulse: &Pulse| pulse.read(), |pulse: &Pulse| pulse.written(1)] {
            tokio::time::advance(149 * SECOND).await;
            assert!(trial.pulse.judge(&trial.limits).is_ok());
            moved(&trial.pulse);
        }
        assert_eq!(trial.over_after(150).await, Overdue::Stalled);
        let [one, other] = flights;
        drop(one);
        assert_eq!(trial.pulse.judge(&trial.limits), Err(Overdue::Stalled));
        drop(other);
        assert!(trial.pulse.judge(&trial.limits).is_ok(), "idle from now on");
    }

    #[tokio::test(start_paused = true)]
    async fn the_rest_of_an_answer_may_take_its_time_but_not_stand_still() {
        let trial = Trial::new();
        drop(Pulse::take_off(&trial.pulse, Version::HTTP_11));
        for _ in 0..3 {
            trial.pulse.blocked();
            tokio::time::advance(100 * SECOND).await;
            assert!(trial.pulse.judge(&trial.limits).is_ok());
            trial.pulse.written(1);
        }
        trial.pulse.blocked();
        assert_eq!(trial.over_after(150).await, Overdue::Stalled);
        trial.pulse.written(1);
        assert_eq!(trial.over_after(75).await, Overdue::Idle);
    }

    #[tokio::test(start_paused = true)]
    async fn window_updates_of_http2_neither_shorten_nor_extend_the_time_to_take_an_answer() {
        for in_flight in [true, false] {
            let trial = Trial::new();
            let flight = Pulse::take_off(&trial.pulse, Version::HTTP_2);
            let _flight = in_flight.then_some(flight);
            for _ in 0..3 {
                trial.pulse.blocked();
                trial.pulse.sent_ahead();
                for _ in 0..2 {
                    tokio::time::advance(60 * SECOND).await;
                    trial.pulse.read();
                    assert!(trial.pulse.judge(&trial.limits).is_ok(), "120 s of 150 s at the most");
                }
                trial.pulse.written(1);
            }
            trial.pulse.blocked();
            tokio::time::advance(140 * SECOND).await;
            trial.pulse.read();
            assert_eq!(trial.over_after(10).await, Overdue::Stalled);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_on_and_takes_nothing_has_the_time_of_a_header_section() {
        for in_flight in [true, false] {
            let trial = Trial::new();
            let flight = Pulse::take_off(&trial.pulse, Version::HTTP_11);
            let _flight = in_flight.then_some(flight);
            trial.pulse.blocked();
            tokio::time::advance(100 * SECOND).await;
            assert!(trial.pulse.judge(&trial.limits).is_ok(), "slow to take, and silent");
            trial.pulse.written(1);
            trial.pulse.blocked();
            trial.pulse.read();
            trial.pulse.blocked();
            // Sending more does not extend the time.
            tokio::time::advance(4 * SECOND).await;
            trial.pulse.read();
            assert_eq!(trial.over_after(6).await, Overdue::Ahead);
            trial.pulse.written(1);
            // The client reads again. Without a request in flight, its next header section is already late.
            let header = if in_flight { None } else { Some(Overdue::Header) };
            assert_eq!(trial.pulse.judge(&trial.limits).err(), header);
        }
    }
}
