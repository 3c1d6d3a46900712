//! Marks: facts about a contact from runs, and the last action on it.

use std::collections::{BTreeMap, HashMap};

use probity_account::connections::ContactAction;
use probity_account::id::ConnId;
use probity_mail::time::Millis;

use crate::connections::actions::TAKEN;
use crate::db::error::Result;
use crate::db::hex::hex;
use crate::db::{Conn, args, statements};
use crate::jobs::JobNo;
use crate::number::OrgNo;
use crate::privacy::suppressions::SuppressionTag;
use crate::records::{FromColumn, ReadColumns as _, listed, records};

/// Last action on a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoneBefore {
    Done(ContactAction),
    /// It could not be fixed: another contact had the suggested address, or it already had that address itself.
    Taken,
}

/// Known facts about a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContactMark {
    /// Keyed hash of the address that was read last.
    pub address: SuppressionTag,
    /// Run that read it last, and the time.
    pub job: JobNo,
    pub seen_at: Millis,
    /// Last change, by the platform's clock.
    pub changed_at: Option<Millis>,
    pub done: Option<(DoneBefore, Millis)>,
    /// Keyed hash of the last action.
    pub effect: Option<[u8; 16]>,
}

/// Columns of a [`ContactMark`].
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

/// Returns the marks of these contacts, by any run of the connection.
pub async fn marks(
    conn: &mut Conn,
    org: OrgNo,
    connection: ConnId,
    contacts: impl Iterator<Item = [u8; 16]>,
) -> Result<HashMap<[u8; 16], ContactMark>> {
    let contacts = listed(contacts.map(|contact| hex(&contact)));
    let rows = conn.rows(&MARKS, args![org, connection, contacts]).await?;
    rows.iter().map(|row| Ok((row.read("contact")?, row.record::<ContactMark>()?))).collect()
}

/// Returns the marks of those contacts of a run that an action has changed, by row.
pub async fn acted(conn: &mut Conn, org: OrgNo, job: JobNo, rows: &[i64]) -> Result<BTreeMap<i64, ContactMark>> {
    let found = conn.rows(&ACTED, args![org, job, listed(rows)]).await?;
    found.iter().map(|row| Ok((row.get("idx")?, row.record::<ContactMark>()?))).collect()
}

records!(row => ContactMark {
    address, job = "job_no", seen_at, changed_at, effect;
    done: row.read::<Option<DoneBefore>>("acted")?.zip(row.read("acted_at")?),
});

impl FromColumn for DoneBefore {
    type Stored = String;

    fn from_stored(stored: String) -> Option<Self> {
        if stored == TAKEN { Some(Self::Taken) } else { ContactAction::from_name(&stored).map(Self::Done) }
    }
}
