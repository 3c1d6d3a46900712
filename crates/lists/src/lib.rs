//! Lists of addresses, as files and as streams ([`submission`]), in bounded memory.
//!
//! A file is read in these steps:
//!
//! ```text
//! bytes -> content   type of the file: a workbook, text, or not a list
//!       -> encoding  text in any common encoding to UTF-8
//!       -> split     text to records, which keep their bytes
//!       -> column    the separator, the header, the address column
//!       -> rows      records to cells, for any format (text, JSON lines)
//!       -> absent    rows without an address
//!       -> workbook  sheets to cells, within bounds of their unpacked size
//! ```
//!
//! The command line keeps records unchanged, because its output repeats them byte by byte; the service keeps cells. Both read
//! with [`rows`], as do submissions of CSV. This crate never waits, stores or reads a clock. An uploaded file is treated as
//! hostile: whatever it claims, memory holds one record, a beginning of 2 MiB, and for workbooks at most 85 MiB of shared texts and
//! some MiB of links.

#[cfg(feature = "bounces")]
pub mod bounces;
mod bounds;
pub mod column;
pub mod content;
pub mod encoding;
mod fault;
pub mod json;
pub mod kinds;
pub mod outcomes;
mod recipients;
pub mod rows;
pub mod split;
pub mod submission;
#[cfg(feature = "workbook")]
pub mod workbook;

pub use bounds::WorkbookBound;
pub use fault::FileFault;
pub use rows::{absent, remarks};

/// Maximum columns of a row: more than users put beside an address.
pub const COLUMNS_MAX: usize = 256;
/// Longest cell, in bytes of UTF-8: a spreadsheet's longest one in most scripts.
pub const CELL_MAX_BYTES: usize = 64 << 10;
