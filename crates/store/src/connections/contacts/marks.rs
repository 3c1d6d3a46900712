//! Marks: what runs have learned of a contact, and what they did to it last.

use std::collections::{BTreeMap, HashMap};

use probity_account::connections::ContactAction;
use probity_account::id::ConnId;
use probity_mail::time::Millis;

use super::hashes;
use crate::connections::actions::TAKEN;
use crate::db::error::Result;
use crate::db::{Conn, ResultRow, args, statements};
use crate::jobs::JobNo;
use crate::number::OrgNo;
use crate::privacy::suppressions::SuppressionTag;
use crate::records::{ReadColumns as _, record};

/// What was done to a contact last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoneBefore {
    Done(ContactAction),
    /// It could not be fixed: another contact had the suggested address, or it had that address itself by then.
    Taken,
}

/// What is known of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContactMark {
    /// Keyed hash of the address that was read last.
    pub address: SuppressionTag,
    /// Run that read it last, and when.
    pub job: JobNo,
    pub seen_at: Millis,
    /// Last change, by the platform's clock.
    pub changed_at: Option<Millis>,
    pub done: Option<(DoneBefore, Millis)>,
    /// Keyed hash of what was done.
    pub effect: Option<[u8; 16]>,
}

/// Columns that [`read`] needs.
macro_rules! columns {
    () => {
        "address, job_no, seen_at, changed_at, acted, acted_at, effect"
    };
}

statements! {
    MARKS = concat!("SELECT contact, ", columns!(), " FROM contact_mark WHERE org_no = $1 AND connection_id = $2 \
            AND contact IN (SELECT {unhex:each.value ->> 0} FROM {each:$3})");
    ACTED = concat!("SELECT idx, ", columns!(), " FROM contact_mark WHERE org_no = $1 AND job_no = $2 AND acted IS NOT NULL \
            AND idx IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$3})");
}

/// The marks of these contacts, by any run of the connection.
pub async fn marks(
    conn: &mut Conn,
    org: OrgNo,
    connection: ConnId,
    contacts: impl Iterator<Item = [u8; 16]>,
) -> Result<HashMap<[u8; 16], ContactMark>> {
    let rows = conn.rows(&MARKS, args![org, connection.to_string(), hashes(contacts)]).await?;
    rows.iter().map(|row| Ok((row.read("contact")?, read(row)?))).collect()
}

/// The marks of those contacts of a run to which something was done, by row.
pub async fn acted(conn: &mut Conn, org: OrgNo, job: JobNo, rows: &[i64]) -> Result<BTreeMap<i64, ContactMark>> {
    let rows: Vec<[i64; 1]> = rows.iter().map(|idx| [*idx]).collect();
    let found = conn.rows(&ACTED, args![org, job, serde_json::json!(rows).to_string()]).await?;
    found.iter().map(|row| Ok((row.get("idx")?, read(row)?))).collect()
}

fn read(row: &ResultRow) -> Result<ContactMark> {
    let acted: Option<String> = row.get("acted")?;
    let done = match acted.as_deref() {
        Some(TAKEN) => Some(DoneBefore::Taken),
        Some(_) => Some(DoneBefore::Done(row.read("acted")?)),
        None => None,
    };
    Ok(record!(row => ContactMark {
        address, job = "job_no", seen_at, changed_at, effect;
        done: done.zip(row.read("acted_at")?),
    }))
}
