//! The body of a chunk: rows of work, as they are stored between import, put-offs and workers.
//!
//! A block of addresses ([`probity_account::block`]) behind a JSON list with a row's numbers: index, copies, tries. A body never
//! changes; which of its rows are left is said beside it, a bit each.

use probity_account::block::{Block, BlockError, ERASED};
use probity_engine::Tries;
use probity_mail::time::Millis;
use probity_store::jobs::NewChunk;
use serde::{Deserialize, Serialize};

/// The most rows of a chunk.
pub(super) const ROWS_MAX: usize = probity_account::block::ROWS_MAX;

/// A row of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The first row of the job with this address.
    pub(super) idx: i64,
    /// How many rows have it.
    pub(super) copies: i64,
    /// Earlier tries.
    pub(super) tries: Tries,
    /// The address as it was submitted; none where it was erased.
    pub(super) email: Option<Box<str>>,
}

/// A chunk's body cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The numbers.
    #[error("a chunk whose numbers cannot be read")]
    Numbers,
    /// The addresses.
    #[error("a chunk whose addresses cannot be read")]
    Addresses(#[from] BlockError),
}

/// Index, copies, count of tries, when the first one was, and from which source.
#[derive(Serialize, Deserialize)]
struct Numbers(i64, i64, u32, Option<i64>, Option<Box<str>>);

/// The chunk of these rows, at most [`ROWS_MAX`], which go to many places.
pub(super) fn pack(rows: &[Row], ready_at: Millis) -> NewChunk {
    let numbers: Vec<Numbers> = rows
        .iter()
        .map(|Row { idx, copies, tries, .. }| {
            Numbers(*idx, *copies, tries.count, tries.since.map(|at| at.0), tries.source.as_deref().map(Into::into))
        })
        .collect();
    let head = serde_json::to_vec(&numbers).expect("numbers are plain JSON");
    let addresses: Vec<&[u8]> = rows.iter().map(|row| row.email.as_deref().map_or(ERASED, str::as_bytes)).collect();
    let block = Block::encode(&addresses).expect("rows are as many and as long as a block takes");
    let mut body = u32::try_from(head.len()).expect("a thousand rows are short").to_le_bytes().to_vec();
    body.extend(head);
    body.extend(block);
    let size = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    NewChunk { ready_at, size, body, destination: String::new(), source: String::new() }
}

/// The rows of a chunk.
pub(super) fn unpack(body: &[u8]) -> Result<Vec<Row>, Unreadable> {
    let (length, rest) = body.split_first_chunk::<4>().ok_or(Unreadable::Numbers)?;
    let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| Unreadable::Numbers)?;
    let (head, block) = rest.split_at_checked(length).ok_or(Unreadable::Numbers)?;
    let numbers: Vec<Numbers> = serde_json::from_slice(head).map_err(|_| Unreadable::Numbers)?;
    let block = Block::decode(block)?;
    if block.len() != numbers.len() {
        return Err(Unreadable::Numbers);
    }
    let row = |(Numbers(idx, copies, count, since, source), email): (Numbers, &[u8])| Row {
        idx,
        copies,
        tries: Tries { count, since: since.map(Millis), source: source.map(Into::into) },
        // Addresses come in as text; what is none is no address either.
        email: (email != ERASED).then(|| String::from_utf8_lossy(email).into()),
    };
    Ok(numbers.into_iter().zip(block.iter()).map(row).collect())
}

/// A body in which addresses are erased, and how many; nothing where there is none to be erased. Places and numbers stay.
pub fn erased(body: &[u8], is_erased: &(dyn Fn(&str) -> bool + Sync)) -> Result<Option<(Vec<u8>, u64)>, Unreadable> {
    let rows = unpack(body)?;
    let mut count = 0;
    let left = |mut row: Row| {
        if row.email.as_deref().is_some_and(is_erased) {
            row.email = None;
            count += 1;
        }
        row
    };
    let rows: Vec<Row> = rows.into_iter().map(left).collect();
    Ok((count > 0).then(|| (pack(&rows, Millis(0)).body, count)))
}

/// The rows at these places of a body, a bit each.
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

/// Whether the row at a place is left.
pub(super) fn is_left(bits: &[u8], place: usize) -> bool {
    bits.get(place / 8).is_some_and(|byte| byte >> (place % 8) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_out_as_they_went_in() {
        let tries = Tries { count: 2, since: Some(Millis(7)), source: Some("192.0.2.7".into()) };
        let rows = vec![
            Row { idx: 5, copies: 1, tries: Tries::default(), email: Some("a@example.org".into()) },
            Row { idx: 999_999, copies: 12, tries, email: Some("ä\0 @".into()) },
        ];
        let packed = pack(&rows, Millis(9));
        assert_eq!((packed.size, packed.ready_at), (2, Millis(9)));
        assert_eq!(unpack(&packed.body).unwrap(), rows);
        let (erased, count) = erased(&packed.body, &|email| email == "a@example.org").unwrap().unwrap();
        let expected = vec![Row { email: None, ..rows[0].clone() }, rows[1].clone()];
        assert_eq!((unpack(&erased).unwrap(), count), (expected, 1));
        assert_eq!(super::erased(&erased, &|email| email == "a@example.org").unwrap(), None, "once");
        let left = left_rows([3, 0, 11].into_iter());
        assert_eq!((0..40).filter(|place| is_left(&left, *place)).collect::<Vec<_>>(), [0, 3, 11]);
        for cut in 0..packed.body.len() {
            assert!(unpack(&packed.body[..cut]).is_err(), "{cut}");
        }
    }
}
