//! Body of a chunk: rows of work, as stored between import, deferrals and workers.
//!
//! A body is a JSON list of each row's numbers (index, copies, tries), followed by a block of addresses
//! ([`probity_account::block`]). Only an erasure changes a body. Bits stored beside it mark the rows that are left.

use probity_account::block::{AddressBlock, BlockError, ERASED};
use probity_engine::PriorAttempts;
use probity_mail::time::Millis;
use probity_store::jobs::NewChunk;
use serde::{Deserialize, Serialize};

/// Maximum number of rows in a chunk.
pub(super) const ROWS_MAX: usize = probity_account::block::ROWS_MAX;

/// A row of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChunkRow {
    /// Index of the job's first row with this address.
    pub(super) idx: i64,
    /// Number of rows with this address.
    pub(super) copies: i64,
    pub(super) tries: PriorAttempts,
    /// Address as submitted; `None` if it was erased.
    pub(super) email: Option<Box<str>>,
}

/// A chunk's body cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableChunk {
    #[error("a chunk whose numbers cannot be read")]
    Numbers,
    #[error("a chunk whose addresses cannot be read")]
    Addresses(#[from] BlockError),
}

/// Index, copies, number of tries, time of the first one, and the source IP it used.
#[derive(Serialize, Deserialize)]
struct AddressNumbers(i64, i64, u32, Option<i64>, Option<Box<str>>);

/// Packs rows, at most [`ROWS_MAX`], into a chunk without a common destination.
pub(super) fn pack(rows: &[ChunkRow], ready_at: Millis) -> NewChunk {
    let numbers: Vec<AddressNumbers> = rows
        .iter()
        .map(|ChunkRow { idx, copies, tries, .. }| {
            AddressNumbers(
                *idx,
                *copies,
                tries.count,
                tries.since.map(|at| at.0),
                tries.source.as_deref().map(Into::into),
            )
        })
        .collect();
    let head = serde_json::to_vec(&numbers).expect("numbers are plain JSON");
    let addresses: Vec<&[u8]> = rows.iter().map(|row| row.email.as_deref().map_or(ERASED, str::as_bytes)).collect();
    let block = AddressBlock::encode(&addresses).expect("rows are as many and as long as a block takes");
    let mut body = u32::try_from(head.len()).expect("a thousand rows are short").to_le_bytes().to_vec();
    body.extend(head);
    body.extend(block);
    let size = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    NewChunk { ready_at, size, body, destination: String::new(), source: String::new() }
}

pub(super) fn unpack(body: &[u8]) -> Result<Vec<ChunkRow>, UnreadableChunk> {
    let (length, rest) = body.split_first_chunk::<4>().ok_or(UnreadableChunk::Numbers)?;
    let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| UnreadableChunk::Numbers)?;
    let (head, block) = rest.split_at_checked(length).ok_or(UnreadableChunk::Numbers)?;
    let numbers: Vec<AddressNumbers> = serde_json::from_slice(head).map_err(|_| UnreadableChunk::Numbers)?;
    let block = AddressBlock::decode(block)?;
    if block.len() != numbers.len() {
        return Err(UnreadableChunk::Numbers);
    }
    let row = |(AddressNumbers(idx, copies, count, since, source), email): (AddressNumbers, &[u8])| ChunkRow {
        idx,
        copies,
        tries: PriorAttempts { count, since: since.map(Millis), source: source.map(Into::into), last: false },
        // Submitted addresses are text; other bytes are no address anyway.
        email: (email != ERASED).then(|| String::from_utf8_lossy(email).into()),
    };
    Ok(numbers.into_iter().zip(block.iter()).map(row).collect())
}

/// Returns a body without erased addresses and their number; `None` if it has none. Positions and numbers stay.
pub fn erased(
    body: &[u8],
    is_erased: &(dyn Fn(&str) -> bool + Sync),
) -> Result<Option<(Vec<u8>, u64)>, UnreadableChunk> {
    let rows = unpack(body)?;
    let mut count = 0;
    let left = |mut row: ChunkRow| {
        if row.email.as_deref().is_some_and(is_erased) {
            row.email = None;
            count += 1;
        }
        row
    };
    let rows: Vec<ChunkRow> = rows.into_iter().map(left).collect();
    Ok((count > 0).then(|| (pack(&rows, Millis(0)).body, count)))
}

/// Marks the rows at these positions of a body, one bit each.
pub(super) fn left_rows(places: impl Iterator<Item = usize>) -> Vec<u8> {
    let mut bits = Vec::new();
    for place in places {
        if bits.len() <= place / 8 {
            bits.resize(place / 8 + 1, 0);
        }
        bits[place / 8] |= 1 << (place % 8);
    }
    bits
}

/// Whether the row at a position is left.
pub(super) fn is_left(bits: &[u8], place: usize) -> bool {
    bits.get(place / 8).is_some_and(|byte| byte >> (place % 8) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_out_as_they_went_in() {
        let tries = PriorAttempts { count: 2, since: Some(Millis(7)), source: Some("192.0.2.7".into()), last: false };
        let rows = vec![
            ChunkRow { idx: 5, copies: 1, tries: PriorAttempts::default(), email: Some("a@example.org".into()) },
            ChunkRow { idx: 999_999, copies: 12, tries, email: Some("ä\0 @".into()) },
        ];
        let packed = pack(&rows, Millis(9));
        assert_eq!((packed.size, packed.ready_at), (2, Millis(9)));
        assert_eq!(unpack(&packed.body).unwrap(), rows);
        let (erased, count) = erased(&packed.body, &|email| email == "a@example.org").unwrap().unwrap();
        let expected = vec![ChunkRow { email: None, ..rows[0].clone() }, rows[1].clone()];
        assert_eq!((unpack(&erased).unwrap(), count), (expected, 1));
        assert_eq!(super::erased(&erased, &|email| email == "a@example.org").unwrap(), None, "once");
        let left = left_rows([3, 0, 11].into_iter());
        assert_eq!((0..40).filter(|place| is_left(&left, *place)).collect::<Vec<_>>(), [0, 3, 11]);
        for cut in 0..packed.body.len() {
            assert!(unpack(&packed.body[..cut]).is_err(), "{cut}");
        }
    }
}
