//! What runs behind the acts, over long times.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod nights;
