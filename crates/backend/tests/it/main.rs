//! Background work over long periods.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod nights;
