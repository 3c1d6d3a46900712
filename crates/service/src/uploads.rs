//! Lists as files, without HTTP: a file's rows and columns as they are stored, its forecast, and for how long it is kept.

pub mod about;
pub mod cells;
pub mod count;
pub mod forecast;
pub mod keeping;
pub mod places;
pub mod reader;
pub mod view;

pub use self::about::About;

/// What an operator decides about uploads.
#[derive(Clone, Copy, Debug)]
pub struct UploadsConfig {
    /// The largest file, in bytes.
    pub body_max: usize,
    /// How many an organization may have at a time.
    pub at_once: i64,
    /// For how many days they are kept after something was last done with them.
    pub keep_days: i64,
}

impl Default for UploadsConfig {
    fn default() -> Self {
        Self { body_max: 128 << 20, at_once: 50, keep_days: 7 }
    }
}
