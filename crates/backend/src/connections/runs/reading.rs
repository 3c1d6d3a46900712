//! Reads the contacts of an account into the staged job of a run, page by page, and accepts the job after the last one.
//!
//! A page, the position after it and its contacts are stored in one transaction, so after a crash reading resumes with the
//! first page that is not stored. A page is stored while the next one is requested. An unreadable response ends the run after a
//! few retries, because the watermark must not pass unread contacts.

use probity_account::connections::RunCause;
use probity_connectors::{
    ContactRecord, ContactState, ContactsGoal, ErrorClass, ListRecord, ReadGoal, ReadPage, ReadPosition, ReadSince,
    ReadStep, Reading, SinceKind,
};
use probity_mail::time::Millis;
use probity_store::accounts::plans;
use probity_store::connections::contacts::{self, ContactPage, ContactReport, ReadContact};
use probity_store::connections::runs;
use probity_store::jobs::NewJob;
use probity_store::{Conn, ScopedFutureExt as _, StoreError, credits, work};

use super::account::RunAccount;
use super::held::{HeldRun, RunStep, RunStop};
use super::reported;
use crate::connections::access::ConnectionAccess;
use crate::connections::planning::settings_of;
use crate::jobs::import;
use crate::privacy::erasures;

/// Pause before checking again for open erasures, in milliseconds.
const ERASURE_MS: i64 = 2_000;
/// Time after which reading lets other runs go first, in milliseconds: slow platforms must not hold all places.
const TURN_MS: i64 = 20_000;
/// Time by which new contacts may be older than the start of a poll, in milliseconds: clocks differ, and platforms round.
const OVERLAP_MS: i64 = 24 * 3_600_000;
/// Interval of checks whether the connection still exists, in milliseconds.
const LOOK_MS: i64 = 1_000;
/// Mean number of contacts with the same address from which on a platform is taken to repeat itself, without credits for each.
const ROWS_OF_ADDRESS_MAX: i64 = 10;
/// Maximum number of contacts of a test connection, which needs no credits.
const TEST_CONTACTS_MAX: i64 = 1_000_000;

/// Reads from a position on, or from the start.
pub(super) async fn read(held: &HeldRun<'_>, position: Option<Vec<u8>>) -> Result<RunStep, RunStop> {
    let mut account = held.account().await?;
    held.authorize(&mut account, None).await?;
    let token = account.access.token_version;
    if position.is_none() {
        check_lists(held, &account).await?;
    }
    let mut is_resumed = position.is_some();
    let mut reading = begin(held, &account, position)?;
    let mut pages = ReadPages { held, unstored: None, looked_at: held.now(), counted_to: 0 };
    let turn_ends = held.now() + TURN_MS;
    loop {
        if held.now() >= turn_ends {
            pages.store().await?;
            return Ok(RunStep::At(held.now()));
        }
        let request = match reading.next(held.now()) {
            Ok(ReadStep::Send(request)) => request,
            Ok(ReadStep::Done) => {
                pages.store().await?;
                return accept(held, reading.position().watermark()).await;
            }
            Err(fault) => {
                pages.store().await?;
                return Err(RunStop::Call(fault, token));
            }
        };
        // The previous page is stored while the platform responds.
        let (sent, stored) = tokio::join!(held.runs.platforms.send(&account.access.budget, &request), pages.store());
        stored?;
        pages.look().await?;
        let answered = match sent {
            Ok(response) => reading.answer(&response),
            Err(call) => Err(call.fault(&account.access.file.provider.name)),
        };
        match answered {
            Ok(page) => {
                pages.unstored = Some((page, reading.position().clone()));
                is_resumed = false;
            }
            // Some platforms accept a cursor only once, and a crashed node has used it. Marks remove the repetitions.
            Err(fault) if is_resumed && is_about_the_request(fault.class) => {
                tracing::info!(run = %held.run.id, "the platform no longer knows where reading stood; it starts again");
                is_resumed = false;
                reading = begin(held, &account, None)?;
            }
            Err(fault) => return Err(RunStop::Call(fault, token)),
        }
    }
}

/// Pages on the way from the platform to the staged job.
struct ReadPages<'a> {
    held: &'a HeldRun<'a>,
    /// The last page, with the position behind it.
    unstored: Option<(ReadPage, ReadPosition)>,
    /// Time of the last check of the connection.
    looked_at: Millis,
    /// Number of rows from which on their distinct addresses are counted again.
    counted_to: i64,
}

impl ReadPages<'_> {
    /// Stores the last page.
    async fn store(&mut self) -> Result<(), RunStop> {
        let Some((page, position)) = self.unstored.take() else { return Ok(()) };
        // On an open connection, its task first writes the next request; the marks of a large page would delay it.
        tokio::task::yield_now().await;
        store(self.held, &page, &position).await
    }

    /// Checks that further pages may be read: the connection may have been deleted, or the platform may never end.
    async fn look(&mut self) -> Result<(), RunStop> {
        if self.held.now().since(self.looked_at) < LOOK_MS {
            return Ok(());
        }
        self.looked_at = self.held.now();
        self.held.account().await.map(drop)?;
        self.check_credits().await
    }

    /// Stops a run that has read more addresses than its organization can have verified. Some platforms never end, and what they
    /// give is stored.
    async fn check_credits(&mut self) -> Result<(), RunStop> {
        let (held, org) = (self.held, self.held.run.org);
        let mut conn = held.runs.store.read().await?;
        let run = runs::by_job(&mut conn, org, held.run.job).await?;
        let (rows, contacts) = run.map_or((0, 0), |run| (run.rows, run.contacts));
        if held.test && contacts > TEST_CONTACTS_MAX {
            return Err(RunStop::Unable(format!("a test connection reads at most {TEST_CONTACTS_MAX} contacts")));
        }
        if held.test || rows < self.counted_to || covers(held, &mut conn, rows).await? {
            return Ok(());
        }
        drop(conn);
        let distinct = distinct(held, rows).await?;
        let mut conn = held.runs.store.read().await?;
        if !covers(held, &mut conn, distinct).await? {
            let available = credits::available(&mut conn, org).await?.total();
            return Err(RunStop::Unable(format!(
                "the run needs at least {distinct} credits, and {available} are available"
            )));
        }
        if rows / ROWS_OF_ADDRESS_MAX > distinct {
            let why = format!("the platform gave {rows} contacts with {distinct} addresses, and may never end");
            return Err(RunStop::Unable(why));
        }
        // So that counting takes a share of the time at most.
        self.counted_to = rows + rows / 2;
        Ok(())
    }
}

async fn covers(held: &HeldRun<'_>, conn: &mut Conn, needed: i64) -> Result<bool, RunStop> {
    Ok(plans::would_cover(conn, held.run.org, &held.runs.plans, needed, held.now()).await?)
}

/// Returns how many addresses a run verifies. Contacts that share one cost one credit.
async fn distinct(held: &HeldRun<'_>, rows: i64) -> Result<i64, RunStop> {
    import::distinct(&held.runs.store, (held.run.org, held.run.job), rows).await.map_err(RunStop::Failed)
}

/// Stops a run of which a chosen list does not exist: some platforms then answer as if the list had no contacts.
async fn check_lists(held: &HeldRun<'_>, account: &RunAccount<'_>) -> Result<(), RunStop> {
    let ConnectionAccess { file, credentials, budget, .. } = &account.access;
    let chosen = settings_of(&held.run)?.lists;
    if chosen.is_empty() || !file.can_choose_lists() {
        return Ok(());
    }
    let there = held.runs.platforms.lists(file, credentials, budget).await;
    let there = there.map_err(|fault| RunStop::Call(fault, account.access.token_version))?;
    let Some(missing) = missing(&chosen, &there) else { return Ok(()) };
    let platform = &file.provider.name;
    Err(RunStop::Unable(format!("{platform} has no list {missing}; choose the lists of the connection again")))
}

fn missing<'a>(chosen: &'a [String], there: &[ListRecord]) -> Option<&'a String> {
    chosen.iter().find(|id| !there.iter().any(|list| list.id == **id))
}

fn is_about_the_request(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Invalid | ErrorClass::Refused | ErrorClass::Gone | ErrorClass::Taken)
}

fn begin<'a>(
    held: &HeldRun<'_>,
    account: &'a RunAccount<'_>,
    position: Option<Vec<u8>>,
) -> Result<Reading<'a>, RunStop> {
    let ConnectionAccess { file, credentials, .. } = &account.access;
    if let Some(position) = position {
        let position: ReadPosition =
            serde_json::from_slice(&position).map_err(|error| RunStop::Failed(error.into()))?;
        return Ok(Reading::resume(file, credentials, position));
    }
    let goal = ContactsGoal {
        lists: settings_of(&held.run)?.lists,
        since: held.run.since.map(|at| ReadSince { kind: SinceKind::Created, at: at.0 }),
        // Bounced and complained contacts are read too, because checks for them may be on. New contacts are verified at once
        // only if they receive mail; the night's run verifies the others.
        only_subscribed: held.run.cause == RunCause::Instafloss,
    };
    Reading::new(file, credentials, ReadGoal::Contacts(goal)).map_err(|fault| RunStop::Unable(fault.message))
}

/// Stores a page with the position after it.
async fn store(held: &HeldRun<'_>, page: &ReadPage, position: &ReadPosition) -> Result<(), RunStop> {
    let wanted: Vec<ReadContact> = page.contacts.iter().filter_map(|contact| wanted(held, contact)).collect();
    let counts = position.counts();
    let position = serde_json::to_vec(position).expect("a position is plain JSON");
    let [read, skipped] = <[u64; 2]>::from(counts).map(|count| i64::try_from(count).unwrap_or(i64::MAX));
    let (now, until) = (held.now(), held.lease_until());
    let states = reported::of_page(held, page, now);
    let page = ContactPage { contacts: &wanted, read, skipped, position: &position };
    let stored = held.runs.store.write_bulk(work!(|tx| {
        contacts::store_page(tx, &held.fence, &page, now, until).await?;
        reported::store(held, tx, &states, now).await
    }));
    stored.await?;
    held.succeed();
    Ok(())
}

/// Returns a contact that receives mail, or would if the platform did not suppress it. All others have left and are not
/// changed.
fn wanted(held: &HeldRun<'_>, contact: &ContactRecord) -> Option<ReadContact> {
    if held.run.cause == RunCause::Instafloss && !is_new(held, contact) {
        return None;
    }
    let report = match contact.state {
        ContactState::Unsubscribed | ContactState::Archived => return None,
        ContactState::Bounced => Some(ContactReport::Bounced),
        ContactState::Complained => Some(ContactReport::Complained),
        ContactState::Subscribed | ContactState::Pending | ContactState::Unknown => None,
    };
    let (secrets, org) = (&held.runs.secrets, held.run.org);
    Some(ReadContact {
        id: contact.id.clone(),
        email: contact.email.clone(),
        list: contact.list.clone(),
        report,
        changed_at: contact.updated,
        mark: secrets.contact_mark(org, held.run.connection, &contact.id),
        address: erasures::tag(secrets, org, &contact.email),
        created_at: contact.created,
    })
}

/// Returns whether a poll is about a contact. Some platforms give more contacts than those since a date.
fn is_new(held: &HeldRun<'_>, contact: &ContactRecord) -> bool {
    let since = held.run.since.map(|since| since - OVERLAP_MS);
    let is_older = contact.created.zip(since).is_some_and(|(created, since)| created < since);
    contact.state == ContactState::Subscribed && !is_older
}

/// Accepts the job of a run whose contacts are all read.
async fn accept(held: &HeldRun<'_>, newest: Option<Millis>) -> Result<RunStep, RunStop> {
    let run = runs::by_job(&mut held.runs.store.read().await?, held.run.org, held.run.job).await?;
    let rows = run.map_or(0, |run| run.rows);
    if rows == 0 {
        return finish_empty(held).await;
    }
    // Contacts created during the run may be on a page that was read earlier.
    let watermark = newest.map(|newest| newest.min(held.run.created_at));
    let mut accepted = try_accept(held, (watermark, None)).await;
    if matches!(accepted, Err(StoreError::InsufficientCredits { .. })) {
        accepted = try_accept(held, (watermark, Some(distinct(held, rows).await?))).await;
    }
    match accepted {
        Ok(true) => {
            held.runs.wake.import.notify_one();
            Ok(RunStep::Moved)
        }
        Ok(false) => Ok(RunStep::At(held.now() + ERASURE_MS)),
        Err(StoreError::InsufficientCredits { needed, available }) => {
            if refill(held, needed).await? {
                return Ok(RunStep::At(held.now()));
            }
            Err(RunStop::Unable(format!("the run needs {needed} credits, and {available} are available")))
        }
        Err(error) => Err(error.into()),
    }
}

/// Ends a run whose account has no contact to verify.
async fn finish_empty(held: &HeldRun<'_>) -> Result<RunStep, RunStop> {
    let now = held.now();
    held.runs.store.write(|tx| runs::finish_empty(tx, &held.fence, now).scope_boxed()).await?;
    Ok(RunStep::Moved)
}

/// Returns false if an erasure is open.
async fn try_accept(
    held: &HeldRun<'_>,
    (watermark, distinct): (Option<Millis>, Option<i64>),
) -> Result<bool, StoreError> {
    let (now, run) = (held.now(), &held.run);
    let new = NewJob {
        org: run.org,
        id: run.id,
        test: held.test,
        source: "integration",
        started_by: run.cause.as_str(),
        source_action: "",
        actor: None,
        at: now,
    };
    held.runs.store.write(|tx| runs::accept(tx, &held.fence, &new, (watermark, distinct), now).scope_boxed()).await
}

/// Refills credits if the plan says so.
async fn refill(held: &HeldRun<'_>, needed: i64) -> Result<bool, RunStop> {
    let (runs, org, now) = (held.runs, held.run.org, held.now());
    if !plans::would_cover(&mut runs.store.read().await?, org, &runs.plans, needed, now).await? {
        return Ok(false);
    }
    Ok(runs.store.write(|tx| plans::cover(tx, org, &runs.plans, needed, now).scope_boxed()).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_list_that_does_not_exist_is_named() {
        let list = |id: &str| ListRecord { id: id.to_owned(), name: "News".to_owned(), count: None };
        let there = [list("news"), list("offers")];
        let chosen = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        assert_eq!(missing(&chosen(&["offers", "news"]), &there), None);
        assert_eq!(missing(&chosen(&["news", "zzz999"]), &there).map(String::as_str), Some("zzz999"));
    }
}
