//! Rows of a job that are picked one by one: those that a message to a webhook tells of.
//!
//! They lie scattered over the list. Of a job that is not packed its parts are looked through, the last one first
//! ([`super::sheet`]): mostly they were settled lately. Of blocks each is read and opened by itself, so one is in memory at a time.

use std::collections::BTreeMap;

use super::packing::BLOCK;
use super::results::{self, Standing};
use super::{JobNo, sheet};
use crate::db::Conn;
use crate::error::Result;
use crate::number::OrgNo;

/// What stands in these rows, which are the first ones with their addresses; rows that have no result are left out. In the
/// order of the rows.
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
