//! Rows of a run with everything known about their contacts, for display and for actions.

use std::collections::BTreeMap;

use probity_contract::error::ApiError;
use probity_store::Conn;
use probity_store::connections::contacts::{self, RunContact};
use probity_store::jobs::{self, Job, SettledResult};

use crate::lists::rows;

const BLOCK: i64 = 1_000;

/// Row with its contact. Without `Debug`, because it contains an address.
#[derive(Clone)]
pub struct ContactRow {
    pub contact: RunContact,
    pub email: String,
    pub outcome: SettledResult,
}

/// Returns these rows, given in ascending order. Erased rows, and rows without a result, are missing.
pub async fn contact_rows(conn: &mut Conn, job: &Job, wanted: &[i64]) -> Result<BTreeMap<i64, ContactRow>, ApiError> {
    let mut contacts = contacts::contacts(conn, job.org, job.no, wanted).await?;
    let mut found = BTreeMap::new();
    for of_block in wanted.chunk_by(|a, b| a / BLOCK == b / BLOCK) {
        let (first, end) = (of_block[0], of_block[of_block.len() - 1] + 1);
        let emails = rows::emails(conn, job, first, end).await?;
        let mut outcomes: BTreeMap<i64, SettledResult> =
            jobs::outcomes(conn, job.org, job.no, first, end).await?.into_iter().collect();
        for (idx, email) in (first..).zip(emails) {
            if of_block.binary_search(&idx).is_ok()
                && let Some((email, contact)) = email.zip(contacts.remove(&idx))
                && let Some(outcome) = outcomes.remove(&idx)
            {
                found.insert(idx, ContactRow { contact, email, outcome });
            }
        }
    }
    Ok(found)
}
