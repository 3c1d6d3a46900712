//! Uploaded lists, without HTTP: stored rows and columns, counts, forecast, and retention.
//!
//! A file is read once, as it streams in ([`reader`]). It is stored as rows of cells with all its columns, in compressed blocks
//! in the database. Any node can therefore continue with it, and downloads of the job's results have the file's own columns.
//! Then the addresses of one column are counted ([`count`]), a job is forecast without a probe ([`forecast`]), and started
//! once.
//!
//! No file is in memory as a whole. A workbook, which can be read from its end only, is in an unnamed temporary file meanwhile.
//! An incomplete upload stays invisible and is removed. Uploads are kept for [`UploadsConfig::keep_days`] after their last use.

pub mod about;
pub mod cells;
pub mod count;
pub mod forecast;
pub mod keeping;
pub mod pieces;
pub mod places;
pub mod reader;
#[cfg(feature = "xlsx")]
mod sheets;
pub mod view;
pub mod without;

pub use self::about::FileFacts;

/// Settings of uploads.
#[derive(Clone, Copy, Debug)]
pub struct UploadsConfig {
    /// Maximum size of a file, in bytes.
    pub body_max: usize,
    /// Maximum number of uploads that an organization may have.
    pub at_once: i64,
    /// Retention after the last use of an upload, in days.
    pub keep_days: i64,
}

impl Default for UploadsConfig {
    fn default() -> Self {
        Self { body_max: 128 << 20, at_once: 50, keep_days: 7 }
    }
}
