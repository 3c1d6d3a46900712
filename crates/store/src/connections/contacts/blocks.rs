//! Blocks of a run: 1,000 addresses, with a parallel block of the contacts' IDs.
//!
//! ```text
//! entry = *DIGIT ":" id     ; number of the first list, if any, and the contact's ID
//! ```
//!
//! Entries are stored like addresses ([`AddressBlock`]); an erased one leaves [`ERASED`].

use std::collections::BTreeMap;

use probity_account::block::{AddressBlock, ERASED, Filling};

use super::{ListNumbers, NewContact};
use crate::db::error::{Result, StoreError};
use crate::db::{Conn, Tx, args, statements};
use crate::jobs::JobNo;
use crate::number::OrgNo;
use crate::privacy::sealing::{SealedField, seal, unseal};
use crate::records::{TypedStatements as _, damaged};

const BLOCK: i64 = 1_000;

statements! {
    ADDRESSES = "SELECT body FROM job_block WHERE org_no = $1 AND job_no = $2 AND first_idx = $3";
    SET_ADDRESSES = "INSERT INTO job_block (org_no, job_no, first_idx, body) VALUES ($1, $2, $3, $4) \
                     ON CONFLICT (org_no, job_no, first_idx) DO UPDATE SET body = excluded.body";
    CONTACTS = "SELECT body FROM contact_block WHERE org_no = $1 AND job_no = $2 AND first_idx = $3";
    SET_CONTACTS = "INSERT INTO contact_block (org_no, job_no, first_idx, body) VALUES ($1, $2, $3, $4) \
                    ON CONFLICT (org_no, job_no, first_idx) DO UPDATE SET body = excluded.body";
    OTHER_LISTS = "SELECT idx, list_no FROM contact_list WHERE org_no = $1 AND job_no = $2 AND idx >= $3 AND idx < $4 \
                   ORDER BY idx, list_no";
}

/// Contact of a run. Without `Debug`, because its ID may be an address.
#[derive(Clone, PartialEq, Eq)]
pub struct RunContact {
    pub id: String,
    /// Lists from which it was read.
    pub lists: Vec<String>,
}

fn addresses_of(job: JobNo, first: i64) -> SealedField<'static> {
    SealedField::numbered("job_block.body", job.0, first)
}

pub(super) fn contacts_of(job: JobNo, first: i64) -> SealedField<'static> {
    SealedField::numbered("contact_block.body", job.0, first)
}

/// Appends contacts after the `rows` of a staged job, whose row is locked.
pub(super) async fn append(tx: &mut Tx, (org, job): (OrgNo, JobNo), rows: i64, new: &[NewContact<'_>]) -> Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    let first = rows - rows % BLOCK;
    let (mut addresses, mut contacts) = if rows > first {
        let addresses = tx.find(&ADDRESSES, args![org, job, first]).await?.ok_or_else(missing)?;
        let contacts = tx.find(&CONTACTS, args![org, job, first]).await?.ok_or_else(missing)?;
        let addresses = unseal(tx, org, addresses_of(job, first), addresses).await?;
        let contacts = unseal(tx, org, contacts_of(job, first), contacts).await?;
        (filling(&addresses)?, filling(&contacts)?)
    } else {
        (Filling::default(), Filling::default())
    };
    let mut at = first;
    for contact in new {
        addresses.push(contact.contact.email.as_bytes()).map_err(damaged)?;
        contacts.push(&entry(contact.list, &contact.contact.id)).map_err(damaged)?;
        if addresses.is_full() {
            write(tx, (org, job, at), &mut addresses, &mut contacts).await?;
            at += BLOCK;
        }
    }
    write(tx, (org, job, at), &mut addresses, &mut contacts).await
}

fn missing() -> StoreError {
    StoreError::corrupt("a block of a run is missing")
}

fn filling(body: &[u8]) -> Result<Filling> {
    let mut filling = Filling::default();
    for entry in AddressBlock::decode(body).map_err(damaged)?.iter() {
        filling.push(entry).map_err(damaged)?;
    }
    Ok(filling)
}

async fn write(
    tx: &mut Tx,
    (org, job, first): (OrgNo, JobNo, i64),
    addresses: &mut Filling,
    contacts: &mut Filling,
) -> Result<()> {
    let (Some(addresses), Some(contacts)) = (addresses.take(), contacts.take()) else { return Ok(()) };
    let body = seal(tx, org, addresses_of(job, first), &addresses.bytes).await?;
    tx.execute(&SET_ADDRESSES, args![org, job, first, body]).await?;
    let body = seal(tx, org, contacts_of(job, first), &contacts.bytes).await?;
    tx.execute(&SET_CONTACTS, args![org, job, first, body]).await.map(drop)
}

fn entry(list: Option<i64>, id: &str) -> Vec<u8> {
    let list = list.map(|list| list.to_string()).unwrap_or_default();
    format!("{list}:{id}").into_bytes()
}

/// Returns the number of the first list and the ID; `None` if the entry was erased.
fn parsed(entry: &[u8]) -> Result<Option<(Option<i64>, &str)>> {
    if entry == ERASED {
        return Ok(None);
    }
    let text = str::from_utf8(entry).map_err(damaged)?;
    let (list, id) = text.split_once(':').ok_or_else(|| StoreError::corrupt("a contact's entry"))?;
    let list = if list.is_empty() { None } else { Some(list.parse().map_err(damaged)?) };
    Ok(Some((list, id)))
}

/// Returns the contacts of these rows, given in ascending order; erased ones are omitted.
pub async fn contacts(conn: &mut Conn, org: OrgNo, job: JobNo, rows: &[i64]) -> Result<BTreeMap<i64, RunContact>> {
    let mut found = BTreeMap::new();
    let Some((lowest, highest)) = rows.first().zip(rows.last()) else { return Ok(found) };
    let lists = ListNumbers::of(conn, org, job).await?;
    for of_block in rows.chunk_by(|a, b| a / BLOCK == b / BLOCK) {
        let first = of_block[0] - of_block[0] % BLOCK;
        let body = conn.find(&CONTACTS, args![org, job, first]).await?.ok_or_else(missing)?;
        let body = unseal(conn, org, contacts_of(job, first), body).await?;
        let block = AddressBlock::decode(&body).map_err(damaged)?;
        for (idx, entry) in (first..).zip(block.iter()) {
            if of_block.binary_search(&idx).is_ok()
                && let Some((list, id)) = parsed(entry)?
            {
                let list = list.map(|list| lists.id(list).map(str::to_owned)).transpose()?;
                found.insert(idx, RunContact { id: id.to_owned(), lists: list.into_iter().collect() });
            }
        }
    }
    let others: Vec<(i64, i64)> = conn.all(&OTHER_LISTS, args![org, job, lowest, highest + 1]).await?;
    for (idx, list) in others {
        let list = lists.id(list)?;
        if let Some(contact) = found.get_mut(&idx)
            && !contact.lists.iter().any(|known| known == list)
        {
            contact.lists.push(list.to_owned());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_name_list_and_contact() {
        for (list, id) in [(None, "1"), (Some(0), "a:b"), (Some(9_999), ""), (None, "jo@example.org")] {
            assert_eq!(parsed(&entry(list, id)).unwrap(), Some((list, id)));
        }
        assert_eq!(parsed(ERASED).unwrap(), None);
        assert!(parsed(b"12").is_err() && parsed(b"x:1").is_err() && parsed(&[b':', 0xfe]).is_err());
    }
}
