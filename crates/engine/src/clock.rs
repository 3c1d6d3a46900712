//! The clock: the only code that reads one.
//!
//! All other code receives a [`EngineClock`] or a [`Millis`]. Time passes by tokio's clock, so a test or a simulation that pauses
//! that clock controls time. The wall clock is read once, at the start, and only sets the origin. So a step of the wall clock (NTP,
//! an operator) never moves deadlines, cache times or pacing. In exchange, a long-lived process may differ from the wall clock by
//! the drift since its start. Time while the machine was suspended counts: what would have expired has expired, though no timer has
//! run.

#[cfg(feature = "failpoints")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use probity_mail::time::Millis;
use tokio::time::Instant;

/// Starts a program that is built for tests with a clock that is ahead by this many milliseconds, or behind if negative.
#[cfg(feature = "failpoints")]
const AHEAD_VARIABLE: &str = "PROBITY_CLOCK_AHEAD_MS";

/// Milliseconds by which this process pretends to be ahead of the system's clock.
#[cfg(feature = "failpoints")]
static AHEAD_MS: OnceLock<i64> = OnceLock::new();

#[cfg(feature = "failpoints")]
fn ahead_ms() -> i64 {
    let asked = || std::env::var(AHEAD_VARIABLE).ok()?.parse().ok();
    AHEAD_MS.get().copied().or_else(asked).unwrap_or(0)
}

/// A clock that counts milliseconds from a chosen origin. Copies agree with each other.
#[derive(Clone, Copy, Debug)]
pub struct EngineClock {
    origin: Millis,
    start: Instant,
    suspended: Suspended,
}

/// Time that the machine was suspended while the clock was running, which the runtime's clock does not count.
#[derive(Clone, Copy, Debug)]
enum Suspended {
    Never,
    /// This machine; its suspended time before the clock's start, in milliseconds.
    Machine(i64),
    /// A given value, in milliseconds.
    Told(&'static AtomicI64),
}

impl EngineClock {
    /// A clock that counts from the Unix epoch, set by the system's clock.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the system's clock")]
    pub fn system() -> Self {
        // A system clock before 1970 counts as 1970: only displayed times suffer, no interval does.
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let origin = Millis(whole_ms(since_epoch));
        #[cfg(feature = "failpoints")]
        let origin = origin + ahead_ms();
        // A thread that pauses between the two clocks of one reading gets too little, and later readings would count the difference
        // as suspended. The largest of three readings is right unless the thread pauses in each.
        let before = [suspended_ms(), suspended_ms(), suspended_ms()].into_iter().max().unwrap_or(0);
        Self { suspended: Suspended::Machine(before), ..Self::starting_at(origin) }
    }

    /// Makes clocks that this process starts from now on begin near `now`, as decided by the first call. Tests that add up days
    /// thus do not depend on the day and hour at which they run.
    #[cfg(feature = "failpoints")]
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the system's clock")]
    pub fn pretend(now: Millis) {
        let real = Millis(whole_ms(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()));
        // Not `since`, which is never negative: a machine may run these tests after `now`.
        AHEAD_MS.get_or_init(|| now.0 - real.0);
    }

    /// The same clock on a machine suspended for `told` milliseconds in total: for tests.
    #[must_use]
    pub fn suspended(self, told: &'static AtomicI64) -> Self {
        Self { suspended: Suspended::Told(told), ..self }
    }

    /// A clock that reads `origin` now. Simulations choose their start.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the runtime's clock")]
    pub fn starting_at(origin: Millis) -> Self {
        Self { origin, start: Instant::now(), suspended: Suspended::Never }
    }

    /// The current time. Never goes backwards.
    pub fn now(&self) -> Millis {
        self.origin + whole_ms(self.elapsed()) + self.slept_ms()
    }

    fn slept_ms(&self) -> i64 {
        match self.suspended {
            Suspended::Never => 0,
            Suspended::Machine(before) => suspended_ms() - before,
            Suspended::Told(told) => told.load(Ordering::Relaxed),
        }
    }

    /// Time that this clock has been running, at full precision, without suspended time. Never goes backwards.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The runtime's instant at which this clock reads `point`, for `tokio::time::sleep_until` and its kin; the start if `point`
    /// lies before it. Timers do not run while the machine is suspended: later suspension delays them.
    pub fn instant(&self, point: Millis) -> Instant {
        let after_start = u64::try_from(point.since(self.origin) - self.slept_ms()).unwrap_or_default();
        self.start + Duration::from_millis(after_start)
    }

    /// Waits until this clock reads `at`.
    pub async fn wait_until(&self, at: Millis) {
        tokio::time::sleep_until(self.instant(at)).await;
    }
}

/// Time that this machine was suspended since it started, in milliseconds. Never goes backwards.
#[cfg(target_os = "linux")]
fn suspended_ms() -> i64 {
    use rustix::time::{ClockId, Timespec, clock_gettime};
    static KNOWN: AtomicI64 = AtomicI64::new(0);
    let ms = |at: Timespec| i128::from(at.tv_sec) * 1_000_000_000 + i128::from(at.tv_nsec);
    // In this order, time between the two readings makes the difference smaller, never larger.
    let boot_time = ms(clock_gettime(ClockId::Boottime));
    let slept = (boot_time - ms(clock_gettime(ClockId::Monotonic))) / 1_000_000;
    let slept = i64::try_from(slept).unwrap_or(0);
    KNOWN.fetch_max(slept, Ordering::Relaxed).max(slept)
}

/// Other systems do not report suspended time: the machine counts as awake.
#[cfg(not(target_os = "linux"))]
fn suspended_ms() -> i64 {
    0
}

fn whole_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn follows_the_runtimes_clock() {
        let clock = EngineClock::starting_at(Millis(1_000));
        let copy = clock;
        assert_eq!(clock.now(), Millis(1_000));
        tokio::time::advance(Duration::from_millis(250)).await;
        assert_eq!(clock.now(), Millis(1_250));
        assert_eq!(copy.now(), clock.now());
        assert_eq!(clock.elapsed(), Duration::from_millis(250));
    }

    #[tokio::test(start_paused = true)]
    async fn counts_the_time_for_which_the_machine_was_suspended() {
        let told: &'static AtomicI64 = Box::leak(Box::default());
        let clock = EngineClock::starting_at(Millis(0)).suspended(told);
        tokio::time::advance(Duration::from_millis(10)).await;
        told.store(60_000, Ordering::Relaxed);
        assert_eq!((clock.now(), clock.elapsed()), (Millis(60_010), Duration::from_millis(10)));
        tokio::time::sleep_until(clock.instant(Millis(60_020))).await;
        assert_eq!((clock.now(), clock.elapsed()), (Millis(60_020), Duration::from_millis(20)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_system_clock_stands_still_with_a_runtime_that_does() {
        let clock = EngineClock::system();
        let began = clock.now();
        assert!(clock.now().since(began) < 60_000, "this machine may have slept long before");
        tokio::time::advance(Duration::from_hours(1)).await;
        assert!((3_600_000..3_660_000).contains(&clock.now().since(began)));
    }

    #[tokio::test(start_paused = true)]
    async fn sleeps_until_a_point() {
        let clock = EngineClock::starting_at(Millis(50));
        tokio::time::sleep_until(clock.instant(Millis(1_050))).await;
        assert_eq!(clock.now(), Millis(1_050));
        assert_eq!(clock.instant(Millis(-7)), clock.instant(Millis(50)));
    }

    #[tokio::test]
    async fn the_system_clock_counts_from_1970() {
        // 2024-01-01 and 2100-01-01: a confused unit would fall outside.
        let now = EngineClock::system().now();
        assert!(now > Millis(1_704_067_200_000) && now < Millis(4_102_444_800_000), "{now:?}");
    }
}
