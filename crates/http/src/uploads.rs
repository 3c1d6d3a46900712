//! Lists as files: put up, looked at, forecast, and made into a job.
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

mod receive;
pub(crate) mod routes;
mod start;
