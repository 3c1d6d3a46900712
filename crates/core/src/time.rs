//! Points in time as the core sees them: milliseconds of a clock that the shell owns.

use std::ops::{Add, Sub};

/// A point in time in milliseconds. The zero is the shell's choice (the Unix epoch outside simulations).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub i64);

impl Millis {
    /// The milliseconds from `earlier` to `self`; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0).max(0)
    }
}

impl Add<i64> for Millis {
    type Output = Self;
    fn add(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

impl Sub<i64> for Millis {
    type Output = Self;
    fn sub(self, ms: i64) -> Self {
        Self(self.0.saturating_sub(ms))
    }
}
