//! Lists of addresses, as files and as they stream in ([`submission`]), in bounded memory.
//!
//! A file: what it is, where its addresses stand, and its rows.
//!
//! ```text
//! bytes -> content   what it is at all: a workbook, text, or something that is no list
//!       -> encoding  text in any customary encoding to bytes that are ASCII-compatible
//!       -> split     bytes to records, which keep their bytes
//!       -> column    the separator, the header, the column with the addresses
//!       -> rows      records to cells, whatever the file was (text, JSON lines)
//!       -> workbook  sheets to cells, within bounds of what they unpack to
//! ```
//!
//! The command line keeps records as they are, because it gives them back byte by byte; the service keeps cells. Both read
//! with the same parts. Nothing here waits, stores or looks at a clock. A file of a stranger is a hostile one: whatever it
//! claims, memory is a record, a sample of two hundred rows, and for workbooks at most 85 MiB of texts
//! that cells share.

mod bounds;
pub mod column;
pub mod content;
pub mod encoding;
mod fault;
pub mod json;
pub mod rows;
pub mod split;
pub mod submission;
#[cfg(feature = "workbook")]
pub mod workbook;

pub use bounds::Bound;
pub use fault::Fault;

/// The most columns that a row may have: more than people put beside an address.
pub const COLUMNS_MAX: usize = 256;
/// The longest cell, in bytes of UTF-8: what a spreadsheet's longest one takes in most scripts.
pub const CELL_MAX_BYTES: usize = 64 << 10;
