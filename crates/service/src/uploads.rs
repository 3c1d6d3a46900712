//! Lists as files, without HTTP: a file's rows and columns as they are stored, its forecast, and for how long it is kept.
//!
//! ```text
//! body -> reader (a thread) -> blocks of rows -> database        receive, reader
//!                    |                                           cells: what a stored row shows
//!                    +-> first rows -> column, header            count:  what is in that column
//!                                  -> counts
//! ready -> forecast (nobody is asked)   -> start: a job of the column's texts, once
//! ```
//!
//! A file is read once, as it streams in, and kept as rows of cells with all of its columns, in compressed blocks in the
//! database: any node can go on with it, and downloads of the job's results have the file's own columns again. Nothing of a file
//! is whole in memory; a workbook, which can be read from its end only, lies in a nameless temporary file meanwhile. What
//! breaks off stays invisible and is swept. Uploads are kept for [`UploadsConfig::keep_days`] after something was last done
//! with them.

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
