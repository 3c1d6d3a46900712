//! TXT records that prove domains: checked at the proof and daily, because a domain may change its owner.
//!
//! Only a response without the record counts against a domain, never a failed lookup. After the first such response, the domain
//! counts for another week, in which the organization sees that the record is missing. If it is still missing then, the proof
//! ends. Domains confirmed by the operator have no record and are not checked.

use std::time::Duration;

use futures_util::future::join_all;
use probity_mail::time::Millis;
use probity_store::accounts::sso::{self, DueDomain};
use probity_store::accounts::users;
use probity_store::activity::events::{self, AccountChange, AccountEventKind, EventActor};
use probity_store::{OrgNo, StoreError, work};

use crate::app::App;

/// Interval between lookups of a record, in milliseconds.
pub(super) const LOOK_EVERY_MS: i64 = 24 * 3_600_000;
/// Grace period after a record was found missing, in milliseconds.
const GRACE_MS: i64 = 7 * 24 * 3_600_000;
/// Maximum time of a lookup.
const LOOKUP_MAX: Duration = Duration::from_secs(10);
/// Maximum number of concurrent lookups.
const AT_ONCE_MAX: u32 = 20;

/// Returns the name of the TXT record that proves a domain.
pub(super) fn record_name(domain: &str) -> String {
    format!("_probity.{domain}")
}

/// Returns the record's text, which is unique to this organization.
pub(super) fn record_value(app: &App, org: OrgNo, domain: &str) -> String {
    format!("probity-domain={}", app.secrets.domain_proof(org, domain))
}

/// Returns the end of the grace period of a record that has been missing since a time.
pub(super) fn counts_until(missed_at: Millis) -> Millis {
    missed_at + GRACE_MS
}

/// Returns whether a domain has its record; `None` if the lookup failed.
pub(super) async fn has_record(app: &App, org: OrgNo, domain: &str) -> Option<bool> {
    let name = record_name(domain);
    let looked_up = tokio::time::timeout(LOOKUP_MAX, app.callbacks.guard().texts(&name)).await;
    let found = looked_up.ok()?.ok()?;
    let expected = record_value(app, org, domain);
    Some(found.iter().any(|text| text.trim() == expected))
}

/// Looks up records that are due.
pub(crate) async fn look_again(app: &App) -> Result<(), StoreError> {
    let due = sso::due(&mut app.store.read().await?, app.now(), AT_ONCE_MAX).await?;
    let looked_up = join_all(due.iter().map(|due| has_record(app, due.org, &due.domain))).await;
    for (due, is_there) in due.iter().zip(looked_up) {
        note(app, due, is_there).await?;
    }
    Ok(())
}

/// Records the result of a lookup, and applies its consequences.
async fn note(app: &App, due: &DueDomain, is_there: Option<bool>) -> Result<(), StoreError> {
    let now = app.now();
    let missed_at = match is_there {
        Some(true) => None,
        Some(false) => due.missed_at.or(Some(now)),
        None => due.missed_at,
    };
    let event = match (is_there, due.missed_at) {
        (Some(false), None) => Some(AccountEventKind::DomainRecordMissing),
        (Some(false), Some(since)) if now >= counts_until(since) => Some(AccountEventKind::DomainReleased),
        _ => None,
    };
    app.store
        .write(work!(|tx| {
            users::lock_team(tx, due.org).await?;
            if !sso::looked_up(tx, due, now + LOOK_EVERY_MS, missed_at).await? {
                return Ok(());
            }
            if event == Some(AccountEventKind::DomainReleased) {
                sso::unprove(tx, due.org, &due.domain).await?;
            }
            match event {
                Some(kind) => {
                    let what = [AccountChange::Account(kind, None)];
                    events::add(tx, due.org, now, Some(EventActor::System), &what).await
                }
                None => Ok(()),
            }
        }))
        .await
}
