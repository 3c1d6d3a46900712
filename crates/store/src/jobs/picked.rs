//! Reads individual rows of a job: those that a webhook delivery reports.
//!
//! They are scattered over the list. In a job that is not packed, parts are searched from the last one back ([`super::sheet`]),
//! because the rows were mostly settled lately. Blocks are read and decoded one by one, so only one is in memory at a time.

use std::collections::BTreeMap;

use super::packing::BLOCK;
use super::results::{self, Standing};
use super::{JobNo, sheet};
use crate::db::Conn;
use crate::error::Result;
use crate::number::OrgNo;

/// Results of these rows, which must be the first rows of their addresses, in row order; rows without a result are omitted.
pub async fn picked(conn: &mut Conn, org: OrgNo, job: JobNo, rows: &[i64]) -> Result<Vec<(i64, Standing)>> {
    let mut standing: BTreeMap<i64, Standing> = sheet::picked(conn, org, job, rows).await?.into_iter().collect();
    let mut left: Vec<i64> = rows.iter().copied().filter(|idx| !standing.contains_key(idx)).collect();
    left.sort_unstable();
    for of_block in left.chunk_by(|a, b| a / BLOCK == b / BLOCK) {
        let (first, last) = (of_block[0], of_block[of_block.len() - 1]);
        let blocks = results::packed(conn, org, job, first, last + 1).await?.unwrap_or_default();
        standing.extend(blocks.into_iter().filter(|(idx, _)| of_block.binary_search(idx).is_ok()));
    }
    Ok(standing.into_iter().collect())
}
