//! The only code of this crate that reads a clock: tokio's, which a test can pause.

use tokio::time::Instant;

/// Start of a run, from which its milliseconds are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunClock(Instant);

impl RunClock {
    #[expect(clippy::disallowed_methods, reason = "the world's own clock; it follows tokio's paused time")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now_ms(self) -> i64 {
        i64::try_from(self.0.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}
