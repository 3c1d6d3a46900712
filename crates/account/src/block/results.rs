//! Blocks of results: storage of the results of a closed job, up to 1,000 rows per block.
//!
//! Every row has its own entry, including repeated addresses, so a page is read from its blocks alone. Content is stored by
//! column, because similar values compress well: most rows differ from the previous one only in their time. The common part of
//! outcomes is stored once per block, as bytes that only the writer interprets.
//!
//! ```text
//! block    = %x01 size lz4            ; packed as blocks of addresses
//! content  = rows kinds since kind-column repeats copies times suggestions
//! rows     = number                   ; 0 to 1,000
//! kinds    = number *(number bytes)   ; their number, then each with its length
//! since    = number                   ; the earliest time, in milliseconds since 1970
//! ```
//!
//! Columns are numbers. The first is the kind of each row, counted from 1 (0: no outcome). For each row with an outcome follow:
//! the distance to the first row with its address (0: this is the first), the number of rows that share the outcome, the
//! milliseconds after `since`, and the suggestion as a length and its bytes. Numbers are LEB128, seven bits per byte, lowest
//! first.
//!
//! Decoding does not trust its input: damaged bytes are a [`BlockError`].

use super::{ADDRESS_MAX_BYTES, BlockError, Content, ROWS_MAX, UnfitBlock, pack, put, put_bytes, put_length, unpack};

/// Maximum unpacked size of a block of results: 1,000 rows with a kind, a time and a suggestion each.
pub const CONTENT_MAX_BYTES: usize = 8 << 20;

/// The outcomes of a range of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultBlock {
    /// Common parts of outcomes, as their writer encodes them.
    pub kinds: Vec<Vec<u8>>,
    /// One entry per row of the range; `None` if the row has no outcome.
    pub rows: Vec<Option<StoredOutcome>>,
}

/// The outcome of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredOutcome {
    /// Index in [`ResultBlock::kinds`].
    pub kind: usize,
    /// Distance in rows to the first row with this address; 0 for that row.
    pub back: u64,
    /// Number of rows with this address.
    pub copies: u64,
    /// Settlement time, in milliseconds since 1970; not negative.
    pub at: u64,
    /// Suggested address; empty if there is none.
    pub suggestion: Vec<u8>,
}

impl ResultBlock {
    /// Encodes the block. Numbers over 63 bits are truncated.
    ///
    /// # Errors
    /// [`UnfitBlock::Full`]: more than [`ROWS_MAX`] rows or kinds, or too much content. [`UnfitBlock::TooLong`]: a suggestion
    /// longer than an address.
    ///
    /// # Panics
    /// If the kind of an outcome is not in the block.
    pub fn encode(&self) -> Result<Vec<u8>, UnfitBlock> {
        let outcomes = || self.rows.iter().flatten();
        if self.rows.len() > ROWS_MAX || self.kinds.len() > ROWS_MAX {
            return Err(UnfitBlock::Full);
        }
        if outcomes().any(|outcome| outcome.suggestion.len() > ADDRESS_MAX_BYTES) {
            return Err(UnfitBlock::TooLong);
        }
        assert!(outcomes().all(|outcome| outcome.kind < self.kinds.len()), "every kind is in the block");
        let mut content = Vec::with_capacity(self.rows.len() * 8);
        put_length(&mut content, self.rows.len());
        put_length(&mut content, self.kinds.len());
        self.kinds.iter().for_each(|kind| put_bytes(&mut content, kind));
        let since = outcomes().map(|outcome| outcome.at).min().unwrap_or(0);
        put(&mut content, since);
        for row in &self.rows {
            put_length(&mut content, row.as_ref().map_or(0, |outcome| outcome.kind + 1));
        }
        outcomes().for_each(|outcome| put(&mut content, outcome.back));
        outcomes().for_each(|outcome| put(&mut content, outcome.copies));
        outcomes().for_each(|outcome| put(&mut content, outcome.at - since));
        outcomes().for_each(|outcome| put_bytes(&mut content, &outcome.suggestion));
        if content.len() > CONTENT_MAX_BYTES { Err(UnfitBlock::Full) } else { Ok(pack(&content)) }
    }

    /// Unpacks a block. Uses at most twice [`CONTENT_MAX_BYTES`], and 100 bytes for each of [`ROWS_MAX`] rows.
    pub fn decode(bytes: &[u8]) -> Result<Self, BlockError> {
        let content = unpack(bytes, CONTENT_MAX_BYTES)?;
        Self::read(Content(&content)).ok_or(BlockError::Content)
    }

    fn read(mut content: Content<'_>) -> Option<Self> {
        let rows = content.length().filter(|rows| *rows <= ROWS_MAX)?;
        let kinds = content.length().filter(|kinds| *kinds <= ROWS_MAX)?;
        let kinds = (0..kinds).map(|_| content.bytes().map(<[u8]>::to_vec)).collect::<Option<Vec<_>>>()?;
        let since = content.number()?;
        let column = (0..rows).map(|_| content.length().filter(|kind| *kind <= kinds.len()));
        let column = column.collect::<Option<Vec<_>>>()?;
        let answered = column.iter().filter(|kind| **kind > 0).count();
        let mut numbers = || (0..answered).map(|_| content.number()).collect::<Option<Vec<_>>>();
        let (backs, copies, times) = (numbers()?, numbers()?, numbers()?);
        let mut rest = backs.into_iter().zip(copies).zip(times);
        let mut rows = Vec::with_capacity(rows);
        for kind in column {
            let Some(kind) = kind.checked_sub(1) else {
                rows.push(None);
                continue;
            };
            let ((back, copies), after) = rest.next()?;
            let suggestion = content.bytes().filter(|text| text.len() <= ADDRESS_MAX_BYTES)?.to_vec();
            rows.push(Some(StoredOutcome { kind, back, copies, at: since.checked_add(after)?, suggestion }));
        }
        content.0.is_empty().then_some(Self { kinds, rows })
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const NUMBER_MAX: u64 = u64::MAX >> 1;

    fn outcome(kind: usize, at: u64) -> StoredOutcome {
        StoredOutcome { kind, back: 0, copies: 1, at, suggestion: Vec::new() }
    }

    fn block(rows: usize) -> ResultBlock {
        let kinds = vec![b"valid".to_vec(), b"nonexistent by mx.example.org".to_vec()];
        let row = |(row, at): (usize, u64)| Some(outcome(row % 2, 1_800_000_000_000 + at % 90));
        ResultBlock { kinds, rows: (0..rows).zip(0..).map(row).collect() }
    }

    fn blocks() -> impl Strategy<Value = ResultBlock> {
        vec(vec(any::<u8>(), 0..40), 1..10).prop_flat_map(|kinds| {
            let numbers = (0..kinds.len(), 0..=NUMBER_MAX, 0..=NUMBER_MAX, 0..=NUMBER_MAX);
            let row = (numbers, vec(any::<u8>(), 0..30)).prop_map(|((kind, back, copies, at), suggestion)| {
                StoredOutcome { kind, back, copies, at, suggestion }
            });
            vec(prop::option::of(row), 0..60).prop_map(move |rows| ResultBlock { kinds: kinds.clone(), rows })
        })
    }

    #[test]
    fn a_full_block_is_small() {
        let block = block(ROWS_MAX);
        let bytes = block.encode().unwrap();
        assert!(bytes.len() < 2 * ROWS_MAX, "{}", bytes.len());
        assert_eq!(ResultBlock::decode(&bytes), Ok(block));
    }

    #[test]
    fn a_block_has_its_bounds() {
        assert_eq!(block(ROWS_MAX + 1).encode(), Err(UnfitBlock::Full));
        let mut long = block(1);
        long.rows[0].as_mut().unwrap().suggestion = vec![b'x'; ADDRESS_MAX_BYTES + 1];
        assert_eq!(long.encode(), Err(UnfitBlock::TooLong));
        let vast = ResultBlock { kinds: vec![vec![0; CONTENT_MAX_BYTES]], rows: vec![] };
        assert_eq!(vast.encode(), Err(UnfitBlock::Full));
    }

    #[test]
    fn what_is_no_block_is_refused() {
        let table: [&[u8]; 11] = [
            &[],
            &[0],
            &[0, 0],
            // A row without its kind, with an unknown kind, and with nothing after it.
            &[1, 0, 0],
            &[1, 0, 0, 1],
            &[1, 1, 1, b'k', 0, 1],
            // Too many rows, kinds, bytes and digits.
            &[0xe9, 7, 0, 0],
            &[0, 9, 0],
            &[0, 1, 9, b'k', 0],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0],
            // Trailing bytes.
            &[0, 0, 0, 0],
        ];
        for (at, content) in table.into_iter().enumerate() {
            assert_eq!(ResultBlock::decode(&pack(content)), Err(BlockError::Content), "row {at}");
        }
        assert_eq!(ResultBlock::decode(&pack(&[0, 0, 0])), Ok(ResultBlock::default()));
        assert_eq!(ResultBlock::decode(b""), Err(BlockError::Packing));
        assert_eq!(ResultBlock::decode(&[2, 0, 0, 0, 0]), Err(BlockError::Version));
        assert_eq!(ResultBlock::decode(&[1, 0xff, 0xff, 0xff, 0xff]), Err(BlockError::Size));
    }

    proptest! {
        #[test]
        fn any_outcomes_come_back(block in blocks()) {
            prop_assert_eq!(ResultBlock::decode(&block.encode().unwrap()), Ok(block));
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in vec(any::<u8>(), 0..200)) {
            for input in [bytes.clone(), pack(&bytes)] {
                if let Ok(block) = ResultBlock::decode(&input) {
                    prop_assert!(block.rows.iter().flatten().all(|outcome| outcome.kind < block.kinds.len()));
                }
            }
        }

        #[test]
        fn a_damaged_block_is_read_without_harm(at in 0..400_usize, flip in 1..=255_u8) {
            let mut bytes = block(50).encode().unwrap();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            if let Ok(block) = ResultBlock::decode(&bytes) {
                prop_assert!(block.rows.len() <= ROWS_MAX);
            }
        }
    }
}
