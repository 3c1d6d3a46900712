//! The clock: the only place that reads one.
//!
//! Everything else is handed a [`Clock`] or a [`Millis`]. Time passes by tokio's clock, so that a test or a simulation which
//! pauses that clock owns time; the wall clock is read once, at the start, and only says where counting begins. A step of the
//! wall clock (NTP, an operator) therefore never moves deadlines, cache times or pacing; in exchange a long-lived process
//! may differ from the wall clock by the drift since its start.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use probity_core::time::Millis;
use tokio::time::Instant;

/// A clock that counts milliseconds from a chosen beginning. Copies agree with each other.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Millis,
    start: Instant,
}

impl Clock {
    /// A clock that counts from the Unix epoch, set by the system's clock.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the system's clock")]
    pub fn system() -> Self {
        // A system clock before 1970 counts as 1970: only labels of points in time suffer, no interval does.
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::starting_at(Millis(whole_ms(since_epoch)))
    }

    /// A clock that says `origin` now. Simulations start where they like.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the runtime's clock")]
    pub fn starting_at(origin: Millis) -> Self {
        Self { origin, start: Instant::now() }
    }

    /// The current point in time. Never goes backwards.
    pub fn now(&self) -> Millis {
        self.origin + whole_ms(self.elapsed())
    }

    /// How long this clock has been running, in full precision. Never goes backwards.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The instant of the runtime at which this clock says `point`, for `tokio::time::sleep_until` and its kin; the start
    /// when `point` lies before it.
    pub fn instant(&self, point: Millis) -> Instant {
        let after_start = u64::try_from(point.since(self.origin)).unwrap_or_default();
        self.start + Duration::from_millis(after_start)
    }
}

fn whole_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn follows_the_runtimes_clock() {
        let clock = Clock::starting_at(Millis(1_000));
        let copy = clock;
        assert_eq!(clock.now(), Millis(1_000));
        tokio::time::advance(Duration::from_millis(250)).await;
        assert_eq!(clock.now(), Millis(1_250));
        assert_eq!(copy.now(), clock.now());
        assert_eq!(clock.elapsed(), Duration::from_millis(250));
    }

    #[tokio::test(start_paused = true)]
    async fn sleeps_until_a_point() {
        let clock = Clock::starting_at(Millis(50));
        tokio::time::sleep_until(clock.instant(Millis(1_050))).await;
        assert_eq!(clock.now(), Millis(1_050));
        assert_eq!(clock.instant(Millis(-7)), clock.instant(Millis(50)));
    }

    #[tokio::test]
    async fn the_system_clock_counts_from_1970() {
        // 2024-01-01 and 2100-01-01: a unit mistaken for another would fall outside.
        let now = Clock::system().now();
        assert!(now > Millis(1_704_067_200_000) && now < Millis(4_102_444_800_000), "{now:?}");
    }
}
