//! Contacts of a run: read page by page, each stored as a row of the staged job with an entry in a parallel block.
//!
//! A page is stored in one transaction with the position after it ([`store_page`]), so after a crash no contact is missing
//! or duplicated. As in other jobs, every block but the last is full, so a page completes the last one. Marks, which are
//! keyed hashes, identify contacts that are rows already: platforms repeat contacts that move between pages, and list a
//! contact of several lists once per list.

mod blocks;
mod erasing;
mod marks;
mod picking;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use probity_account::id::ConnId;
use probity_mail::time::Millis;
use serde_json::json;

use super::runs::{RunAdvance, RunFence, RunState, advance, held};
use crate::db::error::{Result, StoreError};
use crate::db::hex::hex;
use crate::db::{Conn, Tx, args, statements};
use crate::jobs::{self, JobNo, JobState};
use crate::number::OrgNo;
use crate::privacy::sealing::{SealedField, seal, unseal};
use crate::privacy::suppressions::SuppressionTag;
use crate::records::{TypedStatements as _, damaged, listed};

pub use blocks::{RunContact, contacts};
pub(crate) use erasing::forget;
pub use erasing::{blocks_behind, erase_rows};
pub use marks::{ContactMark, DoneBefore, acted, marks};
pub use picking::forget_part;
pub(crate) use picking::{forget_reading, retire};

probity_mail::named! {
    /// Platform's report about a contact that is a finding.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ContactReport {
        Bounced = "bounced",
        Complained = "complained",
    }
}
crate::records::names!(ContactReport);

/// Contact that was read. Without `Debug`, because it contains an address.
#[derive(Clone, PartialEq, Eq)]
pub struct ReadContact {
    pub id: String,
    pub email: String,
    /// List from which it was read.
    pub list: Option<String>,
    pub report: Option<ContactReport>,
    /// Last change, by the platform's clock.
    pub changed_at: Option<Millis>,
    /// Keyed hash of the ID.
    pub mark: [u8; 16],
    /// Keyed hash of the address.
    pub address: SuppressionTag,
    /// When it was created, as the platform says.
    pub created_at: Option<Millis>,
}

/// Page of contacts. Without `Debug`, because it contains addresses.
#[derive(Clone)]
pub struct ContactPage<'a> {
    /// Contacts to verify.
    pub contacts: &'a [ReadContact],
    /// Number of contacts read so far, with those of the page.
    pub read: i64,
    /// Number of records so far without an address or an ID.
    pub skipped: i64,
    /// Reading position after the page.
    pub position: &'a [u8],
}

statements! {
    KNOWN = "SELECT contact, address, job_no, idx, verified_at FROM contact_mark WHERE org_no = $1 AND connection_id = $2 \
             AND contact IN (SELECT {unhex:each.value ->> 0} FROM {each:$3})";
    MARK = "INSERT INTO contact_mark (org_no, connection_id, contact, address, job_no, idx, changed_at, seen_at, verified_at) \
            SELECT CAST($2 AS BIGINT), CAST($3 AS TEXT), {unhex:each.value ->> 0}, {unhex:each.value ->> 1}, CAST($4 AS BIGINT), \
            CAST(each.value ->> 2 AS BIGINT), CAST(each.value ->> 3 AS BIGINT), CAST($5 AS BIGINT), CAST($5 AS BIGINT) \
            FROM {each:$1} WHERE 1 = 1 \
            ON CONFLICT (org_no, connection_id, contact) DO UPDATE SET address = excluded.address, job_no = excluded.job_no, \
            idx = excluded.idx, changed_at = excluded.changed_at, seen_at = excluded.seen_at, \
            verified_at = excluded.verified_at, \
            before_at = CASE WHEN contact_mark.address <> excluded.address THEN NULL \
            WHEN contact_mark.job_no = excluded.job_no THEN contact_mark.before_at ELSE contact_mark.verified_at END";
    ADD_LISTS = "INSERT INTO contact_list (org_no, job_no, idx, list_no) SELECT CAST($2 AS BIGINT), CAST($3 AS BIGINT), \
                 CAST(each.value ->> 0 AS BIGINT), CAST(each.value ->> 1 AS BIGINT) FROM {each:$1} WHERE 1 = 1 \
                 ON CONFLICT (org_no, job_no, idx, list_no) DO NOTHING";
    ADD_REPORTS = "INSERT INTO contact_report (org_no, job_no, idx, report) SELECT CAST($2 AS BIGINT), CAST($3 AS BIGINT), \
                   CAST(each.value ->> 0 AS BIGINT), each.value ->> 1 FROM {each:$1} WHERE 1 = 1 \
                   ON CONFLICT (org_no, job_no, idx) DO NOTHING";
    TAKE_BACK_REPORTS = "DELETE FROM contact_report WHERE org_no = $1 AND job_no = $2 \
                         AND idx IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$3})";
    REPORTS = "SELECT idx, report FROM contact_report WHERE org_no = $1 AND job_no = $2 \
               AND idx IN (SELECT CAST(each.value ->> 0 AS BIGINT) FROM {each:$3})";
    LISTS = "SELECT id, lists FROM connection_run WHERE org_no = $1 AND job_no = $2";
    [blocks, erasing, marks, picking]
}

/// Stores a page of a held run that is reading, and extends the lease. Skips contacts that are rows already, and those
/// whose addresses were erased since the run started. Returns the number of new rows.
pub async fn store_page(
    tx: &mut Tx,
    fence: &RunFence,
    page: &ContactPage<'_>,
    now: Millis,
    until: Millis,
) -> Result<i64> {
    let RunFence { org, job, .. } = *fence;
    // A run that was canceled while the page was under way has no job any more.
    let locked = jobs::lock(tx, org, job).await.map_err(|error| match error {
        StoreError::NotFound => StoreError::LeaseLost,
        other => other,
    })?;
    if locked.state != JobState::Unborn || locked.purged {
        return Err(StoreError::LeaseLost);
    }
    let run = held(tx, fence, RunState::Reading).await?;
    let id = run.id.to_string();
    let mut lists = ListNumbers::of(tx, org, job).await?;
    let known = picking::known(tx, (org, run.connection), page.contacts).await?;
    let tags: BTreeSet<SuppressionTag> = page.contacts.iter().map(|contact| contact.address).collect();
    let erased = jobs::erased_since(tx, org, job, &tags).await?;
    let left = page.contacts.iter().filter(|contact| !erased.contains(&contact.address));
    let left = left.filter(|contact| picking::picks(&run, contact, known.get(&contact.mark)));
    let rows_of =
        known.iter().filter(|(_, mark)| mark.job == job).map(|(mark, known)| (*mark, (known.idx, known.address)));
    let sorted = sort(left, rows_of.collect(), run.rows, &mut lists);
    blocks::append(tx, (org, job), run.rows, &sorted.new).await?;
    mark(tx, (org, run.connection, job), sorted.new.iter().chain(&sorted.readdressed), now).await?;
    let pairs = |pairs: &[(i64, i64)]| json!(pairs).to_string();
    if !sorted.memberships.is_empty() {
        tx.execute(&ADD_LISTS, args![pairs(&sorted.memberships), org, job]).await?;
    }
    report(tx, (org, job), &sorted).await?;
    let rows = i64::try_from(sorted.new.len()).unwrap_or(i64::MAX);
    let lists = lists.sealed(tx, org, &id).await?;
    let (position, contacts, skipped) = (page.position, page.read, page.skipped);
    let oldest = sorted.new.iter().filter_map(|new| new.contact.created_at).min();
    let advanced = RunAdvance { id: &id, position, lists, contacts, skipped, rows, oldest, until };
    advance(tx, fence, advanced).await?;
    Ok(rows)
}

/// Contact that becomes a row.
pub(super) struct NewContact<'a> {
    pub(super) contact: &'a ReadContact,
    pub(super) idx: i64,
    /// Number of its first list.
    pub(super) list: Option<i64>,
}

/// Additions of a page.
#[derive(Default)]
struct SortedPage<'a> {
    new: Vec<NewContact<'a>>,
    /// Contacts that are rows already, but had another address then.
    readdressed: Vec<NewContact<'a>>,
    /// Rows of contacts in further lists: row and list.
    memberships: Vec<(i64, i64)>,
    /// Reports about new rows.
    reports: BTreeMap<i64, ContactReport>,
    /// Rows whose contacts were read again without a report.
    unreported: BTreeSet<i64>,
}

/// Sorts the contacts of a page. A contact counts as reported only if it is in all of its lists: a report in one list must not
/// remove it from another one in which it receives mail.
fn sort<'a>(
    contacts: impl Iterator<Item = &'a ReadContact>,
    mut known: HashMap<[u8; 16], (i64, SuppressionTag)>,
    rows: i64,
    lists: &mut ListNumbers,
) -> SortedPage<'a> {
    let (mut sorted, mut next) = (SortedPage::default(), rows);
    for contact in contacts {
        let list = contact.list.as_deref().map(|list| lists.number(list));
        if let Some((idx, address)) = known.get_mut(&contact.mark) {
            sorted.memberships.extend(list.map(|list| (*idx, list)));
            if contact.report.is_none() {
                sorted.reports.remove(&*idx);
                sorted.unreported.insert(*idx);
            }
            if *address != contact.address {
                *address = contact.address;
                sorted.readdressed.push(NewContact { contact, idx: *idx, list: None });
            }
        } else {
            known.insert(contact.mark, (next, contact.address));
            sorted.reports.extend(contact.report.map(|report| (next, report)));
            sorted.new.push(NewContact { contact, idx: next, list });
            next += 1;
        }
    }
    sorted
}

async fn mark<'a>(
    tx: &mut Tx,
    (org, connection, job): (OrgNo, ConnId, JobNo),
    contacts: impl Iterator<Item = &'a NewContact<'a>>,
    now: Millis,
) -> Result<()> {
    // PostgreSQL refuses to update a row twice in one statement; the last address counts.
    let last: BTreeMap<_, _> = contacts.map(|one| (one.contact.mark, one)).collect();
    if last.is_empty() {
        return Ok(());
    }
    let row = |(mark, one): (&[u8; 16], &&NewContact<'_>)| {
        json!([hex(mark), hex(&one.contact.address), one.idx, one.contact.changed_at.map(|at| at.0)])
    };
    let rows: Vec<_> = last.iter().map(row).collect();
    tx.execute(&MARK, args![json!(rows).to_string(), org, connection, job, now]).await.map(drop)
}

/// Stores the reports of a page, and removes those of its contacts without a report.
async fn report(tx: &mut Tx, (org, job): (OrgNo, JobNo), page: &SortedPage<'_>) -> Result<()> {
    if !page.reports.is_empty() {
        let reports: Vec<_> = page.reports.iter().map(|(idx, report)| json!([idx, report.as_str()])).collect();
        tx.execute(&ADD_REPORTS, args![json!(reports).to_string(), org, job]).await?;
    }
    if !page.unreported.is_empty() {
        tx.execute(&TAKE_BACK_REPORTS, args![org, job, listed(&page.unreported)]).await?;
    }
    Ok(())
}

/// Returns the platform's reports about these rows of a run.
pub async fn reports(
    conn: &mut Conn,
    org: OrgNo,
    job: JobNo,
    rows: impl Iterator<Item = i64>,
) -> Result<BTreeMap<i64, ContactReport>> {
    conn.all(&REPORTS, args![org, job, listed(rows)]).await
}

/// Lists of a run, by number.
#[derive(Debug, Default)]
struct ListNumbers {
    ids: Vec<String>,
    has_new: bool,
}

impl ListNumbers {
    async fn of(conn: &mut Conn, org: OrgNo, job: JobNo) -> Result<Self> {
        let found: Option<(String, Option<Vec<u8>>)> = conn.find(&LISTS, args![org, job]).await?;
        let Some((id, Some(sealed))) = found else { return Ok(Self::default()) };
        let json = unseal(conn, org, Self::place(&id), sealed).await?;
        Ok(Self { ids: serde_json::from_slice(&json).map_err(damaged)?, has_new: false })
    }

    fn place(id: &str) -> SealedField<'_> {
        SealedField::named("connection_run.lists", id)
    }

    fn number(&mut self, list: &str) -> i64 {
        let known = self.ids.iter().position(|id| id == list);
        let place = known.unwrap_or_else(|| {
            self.ids.push(list.to_owned());
            self.has_new = true;
            self.ids.len() - 1
        });
        i64::try_from(place).unwrap_or(i64::MAX)
    }

    fn id(&self, number: i64) -> Result<&str> {
        let id = usize::try_from(number).ok().and_then(|number| self.ids.get(number));
        id.map(String::as_str).ok_or_else(|| StoreError::corrupt("a contact's list"))
    }

    /// Returns the encrypted lists if there are new ones.
    async fn sealed(self, tx: &mut Tx, org: OrgNo, id: &str) -> Result<Option<Vec<u8>>> {
        if !self.has_new {
            return Ok(None);
        }
        let json = json!(self.ids).to_string();
        Ok(Some(seal(tx, org, Self::place(id), json.as_bytes()).await?.into_owned()))
    }
}
