//! The body of a part: results of one chunk that were settled together.
//!
//! ```text
//! body = 4byte-length *number results   ; the length of the numbers in bytes, little-endian
//! ```
//!
//! The numbers are the rows' indexes, ascending, each as its difference to the one before (LEB128: 7 bits per byte, lowest
//! first). The results are a block as in closed jobs ([`ResultBlock`]), with one entry for each index; shared fields are
//! stored once.

use std::collections::HashMap;
use std::sync::Arc;

use probity_account::block::ROWS_MAX;
use probity_account::block::results::{ResultBlock, StoredOutcome};
use probity_mail::time::Millis;

use super::RowResult;
use super::kind::OutcomeKind;
use crate::db::error::{Result, StoreError};
use crate::jobs::results;
use crate::records;

/// Maximum results of one part.
pub(in crate::jobs) const PART_MAX: usize = ROWS_MAX;

/// Decoded results; each refers to its kind by position.
pub(in crate::jobs) struct ResultPart {
    /// Each kind once, as written.
    pub(in crate::jobs) kinds: Vec<Arc<OutcomeKind>>,
    /// Row and result, ascending.
    pub(in crate::jobs) rows: Vec<(i64, StoredOutcome)>,
}

/// Encodes at most [`PART_MAX`] results with distinct rows.
pub(in crate::jobs) fn encode(results: &[&RowResult], at: Millis) -> Result<Vec<u8>> {
    let mut ordered = results.to_vec();
    ordered.sort_unstable_by_key(|result| result.idx);
    let (mut indexes, mut last) = (Vec::with_capacity(ordered.len() * 2), 0);
    let (mut block, mut places) = (ResultBlock::default(), HashMap::new());
    for result in ordered {
        put(&mut indexes, result.idx - last);
        last = result.idx;
        let kind = *places.entry(&result.kind).or_insert_with(|| {
            block.kinds.push(result.kind.to_bytes());
            block.kinds.len() - 1
        });
        let suggestion = result.suggestion.as_deref().unwrap_or_default().as_bytes().to_vec();
        let outcome =
            StoredOutcome { kind, back: 0, copies: positive(result.copies)?, at: positive(at.0)?, suggestion };
        block.rows.push(Some(outcome));
    }
    let length = u32::try_from(indexes.len()).map_err(|_| damaged())?;
    let mut body = length.to_le_bytes().to_vec();
    body.extend(indexes);
    body.extend(block.encode().map_err(records::damaged)?);
    Ok(body)
}

pub(in crate::jobs) fn decode(body: &[u8]) -> Result<ResultPart> {
    let (indexes, block) = split(body)?;
    let block = ResultBlock::decode(block).map_err(records::damaged)?;
    if indexes.len() != block.rows.len() {
        return Err(damaged());
    }
    let kinds = block.kinds.iter().map(|kind| OutcomeKind::from_bytes(kind).map(Arc::new)).collect::<Result<_>>()?;
    let mut rows = Vec::with_capacity(block.rows.len());
    for (idx, outcome) in indexes.into_iter().zip(block.rows) {
        rows.push((idx, outcome.ok_or_else(damaged)?));
    }
    Ok(ResultPart { kinds, rows })
}

/// Rewrites a body's results; returns it with its number of changes, `None` if 0. The rows stay the same.
pub(in crate::jobs) fn rewritten(
    body: &[u8],
    change: impl Fn(&[i64], &mut ResultBlock) -> Result<u64>,
) -> Result<Option<(Vec<u8>, u64)>> {
    let (indexes, block) = split(body)?;
    let head = body.len() - block.len();
    let mut block = ResultBlock::decode(block).map_err(records::damaged)?;
    if indexes.len() != block.rows.len() {
        return Err(damaged());
    }
    let changed = change(&indexes, &mut block)?;
    if changed == 0 {
        return Ok(None);
    }
    let mut rewritten = body[..head].to_vec();
    rewritten.extend(block.encode().map_err(records::damaged)?);
    Ok(Some((rewritten, changed)))
}

/// Rows that have results in a body.
pub(in crate::jobs) fn indexes(body: &[u8]) -> Result<Vec<i64>> {
    split(body).map(|(indexes, _)| indexes)
}

fn split(body: &[u8]) -> Result<(Vec<i64>, &[u8])> {
    let (length, rest) = body.split_first_chunk().ok_or_else(damaged)?;
    let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| damaged())?;
    let (mut numbers, block) = rest.split_at_checked(length).ok_or_else(damaged)?;
    let (mut indexes, mut last) = (Vec::new(), 0_i64);
    while !numbers.is_empty() {
        let (more, after) = number(numbers).ok_or_else(damaged)?;
        last = last.checked_add(more).ok_or_else(damaged)?;
        indexes.push(last);
        numbers = after;
    }
    Ok((indexes, block))
}

fn positive(number: i64) -> Result<u64> {
    u64::try_from(number).map_err(|_| damaged())
}

fn damaged() -> StoreError {
    results::damaged()
}

/// Appends a number, which must not be negative.
fn put(bytes: &mut Vec<u8>, number: i64) {
    let mut left = u64::try_from(number).unwrap_or(0);
    loop {
        let [low, ..] = left.to_le_bytes();
        left >>= 7;
        if left == 0 {
            bytes.push(low & 0x7f);
            return;
        }
        bytes.push(low | 0x80);
    }
}

/// Decodes the leading number; returns it and the rest.
fn number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut value = 0_i64;
    for (place, byte) in bytes.iter().enumerate().take(9) {
        value |= i64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[place + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use probity_mail::verdict::Reason;
    use proptest::prelude::*;

    use super::*;

    fn result(idx: i64, kind: u8, copies: i64, suggestion: &str) -> RowResult {
        let kind = OutcomeKind {
            reason: Reason::Valid,
            findings: Vec::new(),
            meta: String::new(),
            rule: format!("rule {kind}"),
            smtp_code: None,
            enhanced: None,
            host: None,
            provider: None,
            source: "smtp".into(),
            flags: 0,
            charged: true,
        };
        let suggestion = Some(suggestion.to_owned()).filter(|text| !text.is_empty());
        RowResult { idx, copies, kind: Arc::new(kind), suggestion }
    }

    #[test]
    fn a_common_result_is_short() {
        let results: Vec<_> = (0..1_000).map(|nth| result(nth * 997, u8::from(nth % 3 == 0), 1, "")).collect();
        let body = encode(&results.iter().collect::<Vec<_>>(), Millis(1_800_000_000_000)).unwrap();
        assert!(body.len() < 3_000, "{}", body.len());
    }

    proptest! {
        #[test]
        fn results_come_out_in_the_order_of_their_rows(
            rows in prop::collection::btree_map(0..=i64::MAX / 2, (any::<u8>(), 0..=i64::MAX, "[a-z@]{0,9}"), 0..40),
            at in 0..=i64::MAX,
        ) {
            let results: Vec<_> = rows.iter().map(|(idx, (kind, copies, text))| result(*idx, *kind, *copies, text)).collect();
            let body = encode(&results.iter().rev().collect::<Vec<_>>(), Millis(at)).unwrap();
            let part = decode(&body).unwrap();
            prop_assert_eq!(indexes(&body).unwrap(), rows.keys().copied().collect::<Vec<_>>());
            let read: Vec<_> = part.rows.iter().map(|(idx, outcome)| {
                prop_assert_eq!(outcome.at, u64::try_from(at).unwrap());
                let copies = i64::try_from(outcome.copies).unwrap();
                let text = str::from_utf8(&outcome.suggestion).unwrap();
                let kind = part.kinds[outcome.kind].clone();
                let suggestion = Some(text.to_owned()).filter(|text| !text.is_empty());
                Ok(RowResult { idx: *idx, copies, kind, suggestion })
            }).collect::<std::result::Result<_, _>>()?;
            prop_assert_eq!(read, results);
        }

        #[test]
        fn no_more_is_read_than_stands_there(length in 0..40_u32, bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let body = [&length.to_le_bytes()[..], &bytes].concat();
            if let Ok(indexes) = indexes(&body) {
                prop_assert!(indexes.len() <= bytes.len() && indexes.is_sorted() && indexes.iter().all(|index| *index >= 0));
            }
            if let Ok(part) = decode(&body) {
                prop_assert!(part.rows.len() <= PART_MAX && part.rows.len() <= bytes.len());
            }
        }
    }
}
