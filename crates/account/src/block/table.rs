//! Blocks of a table: storage of rows of a file with all of their columns, up to 1,000 rows per block.
//!
//! ```text
//! block   = %x01 size lz4                   ; packed as blocks of addresses
//! content = 0*1000row
//! row     = cells 0*cells(length text)      ; numbers are LEB128, seven bits per byte, lowest first
//! ```
//!
//! A row has as many cells as in its file, so widths may differ. Cells are bytes. A row without cells was erased: it stays, so
//! that later rows keep their positions. Decoding does not trust its input, as with blocks of addresses.

use super::{BlockError, Content, ROWS_MAX, pack, put_bytes, put_length, unpack};

/// Maximum unpacked size. A block is full before that: [`FULL_BYTES`] and one row.
pub const CONTENT_MAX_BYTES: usize = 32 << 20;
/// Content at which a block is full, even with few rows.
const FULL_BYTES: usize = 1 << 20;
/// Maximum length of a row, in bytes.
pub const ROW_MAX_BYTES: usize = 24 << 20;

/// The row is longer than [`ROW_MAX_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the row is longer than a block keeps")]
pub struct TooLong;

/// Block under construction.
#[derive(Clone, Debug, Default)]
pub struct TableFilling {
    content: Vec<u8>,
    rows: usize,
}

impl TableFilling {
    /// Adds a row. On an error, the block stays unchanged.
    ///
    /// # Errors
    /// [`TooLong`].
    pub fn push<T: AsRef<[u8]>>(&mut self, cells: &[T]) -> Result<(), TooLong> {
        let bytes: usize = cells.iter().map(|cell| cell.as_ref().len() + 4).sum();
        if bytes > ROW_MAX_BYTES {
            return Err(TooLong);
        }
        put_length(&mut self.content, cells.len());
        for cell in cells {
            put_bytes(&mut self.content, cell.as_ref());
        }
        self.rows += 1;
        Ok(())
    }

    /// Returns whether the block must be taken before more rows are added.
    pub fn is_full(&self) -> bool {
        self.rows >= ROWS_MAX || self.content.len() >= FULL_BYTES
    }

    /// Packs the rows and starts the next block. Returns the block and its number of rows; `None` without rows.
    pub fn take(&mut self) -> Option<(Vec<u8>, usize)> {
        if self.rows == 0 {
            return None;
        }
        let packed = (pack(&self.content), self.rows);
        self.content.clear();
        self.rows = 0;
        Some(packed)
    }
}

/// Rows of a table, in order, as cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableBlock {
    content: Vec<u8>,
}

impl TableBlock {
    /// Unpacks a block.
    ///
    /// # Errors
    /// [`BlockError`]: the block is damaged, or from a later version.
    pub fn decode(bytes: &[u8]) -> Result<Self, BlockError> {
        let block = Self { content: unpack(bytes, CONTENT_MAX_BYTES)? };
        let mut rest = Content(&block.content);
        let mut rows = 0;
        while !rest.0.is_empty() {
            row(&mut rest).ok_or(BlockError::Content)?;
            rows += 1;
        }
        if rows > ROWS_MAX { Err(BlockError::Content) } else { Ok(block) }
    }

    /// Iterates over the rows.
    pub fn rows(&self) -> impl Iterator<Item = Vec<&[u8]>> {
        let mut rest = Content(&self.content);
        std::iter::from_fn(move || row(&mut rest))
    }
}

fn row<'a>(rest: &mut Content<'a>) -> Option<Vec<&'a [u8]>> {
    let count = rest.length()?;
    // A claim alone allocates nothing: each cell takes at least a byte.
    let mut cells = Vec::with_capacity(count.min(rest.0.len()));
    for _ in 0..count {
        cells.push(rest.bytes()?);
    }
    Some(cells)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn blocks_are_full_by_rows_and_by_bytes() {
        let mut filling = TableFilling::default();
        for _ in 0..ROWS_MAX {
            assert!(!filling.is_full());
            filling.push(&["a", "b"]).unwrap();
        }
        assert!(filling.is_full());
        assert_eq!(filling.take().unwrap().1, ROWS_MAX);
        assert_eq!(filling.take(), None);
        filling.push(&[vec![b'x'; FULL_BYTES]]).unwrap();
        assert!(filling.is_full());
        assert_eq!(filling.push(&[vec![0; ROW_MAX_BYTES]]), Err(TooLong));
        assert_eq!(filling.take().unwrap().1, 1);
    }

    #[test]
    fn damage_is_an_error() {
        assert_eq!(TableBlock::decode(&pack(&[2, 1, b'a'])), Err(BlockError::Content));
        assert_eq!(TableBlock::decode(&pack(&[1, 9, b'a'])), Err(BlockError::Content));
        assert_eq!(TableBlock::decode(&pack(&[0xff; 9])), Err(BlockError::Content));
        assert_eq!(TableBlock::decode(&pack(&[0; ROWS_MAX + 1])), Err(BlockError::Content));
        assert_eq!(TableBlock::decode(&[2, 0]), Err(BlockError::Version));
    }

    proptest! {
        #[test]
        fn rows_come_back(rows in prop::collection::vec(prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..5), 1..50)) {
            let mut filling = TableFilling::default();
            for row in &rows {
                filling.push(row).unwrap();
            }
            let (bytes, count) = filling.take().unwrap();
            prop_assert_eq!(count, rows.len());
            let block = TableBlock::decode(&bytes).unwrap();
            let read: Vec<Vec<Vec<u8>>> =
                block.rows().map(|row| row.into_iter().map(<[u8]>::to_vec).collect()).collect();
            prop_assert_eq!(read, rows);
        }

        #[test]
        fn no_more_is_read_than_stands_there(bytes in prop::collection::vec(any::<u8>(), 0..300), small in prop::collection::vec(0..4_u8, 0..60)) {
            for content in [bytes.clone(), small] {
                let Ok(block) = TableBlock::decode(&pack(&content)) else { continue };
                // A row takes at least one byte; a cell takes one more than its length.
                let taken: usize = block.rows().map(|row| 1 + row.iter().map(|cell| cell.len() + 1).sum::<usize>()).sum();
                prop_assert!(block.rows().count() <= ROWS_MAX && taken <= content.len());
            }
            if let Ok(block) = TableBlock::decode(&bytes) {
                prop_assert!(block.content.len() <= CONTENT_MAX_BYTES);
            }
        }
    }
}
