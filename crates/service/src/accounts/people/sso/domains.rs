//! Domains of an organization, each proven by a DNS record or by the operator.
//!
//! A domain is proven for one organization only, so that no other can take over its users. Domains of mail providers are refused,
//! because anyone can get an address there.

use probity_contract::error::{ApiError, Code};
use probity_contract::published::accounts::sso::SsoShown;
use probity_mail::domain::{Domain, SpecialUse};
use probity_mail::facts::lists::Lists;
use probity_mail::time::Millis;
use probity_store::accounts::sso;
use probity_store::accounts::users;
use probity_store::activity::events::{AccountChange, AccountEventKind};
use probity_store::{OrgNo, StoreError, work};

use super::records::{LOOK_EVERY_MS, has_record};
use super::setup::shown;
use super::{operator_only, owner_only};
use crate::app::App;
use crate::callers::caller::Caller;
use crate::callers::given::in_conflict;

/// Returns a domain in the form in which addresses are compared, if it can be an organization's own.
pub(super) fn parse_domain(text: &str) -> Result<String, ApiError> {
    let domain = normalize(text)?;
    let lists = Lists::embedded();
    if lists.free(&domain) || lists.relay(&domain) || lists.disposable(&domain) {
        return Err(ApiError::invalid("domains", "must be domains of your own; mail providers' are not"));
    }
    Ok(domain)
}

fn normalize(text: &str) -> Result<String, ApiError> {
    let wrong = || ApiError::invalid("domains", "must be domains such as example.com");
    let text = text.trim().trim_start_matches('@');
    let domain = Domain::parse_with(text, &SpecialUse::all_allowed()).map_err(|_| wrong())?;
    let ascii = domain.ascii();
    ascii.contains('.').then(|| ascii.to_owned()).ok_or_else(wrong)
}

/// Proves a domain of the caller's organization by its DNS record.
pub async fn prove_domain(app: &App, caller: &Caller, domain: &str) -> Result<SsoShown, ApiError> {
    let org = owner_only(caller)?;
    let domain = claimed(app, org, parse_domain(domain)?).await?;
    if has_record(app, org, &domain).await != Some(true) {
        return Err(ApiError::conflict("the TXT record was not found; it can take an hour until a new one is seen"));
    }
    record(app, caller, &domain, Some(app.now() + LOOK_EVERY_MS)).await
}

/// Confirms a domain of the caller's organization without a record; the operator has verified its ownership.
pub async fn confirm_domain(app: &App, caller: &Caller, domain: &str) -> Result<SsoShown, ApiError> {
    let org = operator_only(caller)?;
    let domain = claimed(app, org, parse_domain(domain)?).await?;
    record(app, caller, &domain, None).await
}

/// Ends the proof of a domain that now belongs to another organization, as the operator has verified. The claim stays, so the
/// organization sees the change, and another one can prove the domain.
pub async fn release_domain(app: &App, caller: &Caller, domain: &str) -> Result<SsoShown, ApiError> {
    let org = operator_only(caller)?;
    // Includes domains that have since become those of a mail provider.
    let domain = claimed(app, org, normalize(domain)?).await?;
    let now = app.now();
    let released = app.store.write(work!(|tx| {
        users::lock_team(tx, org).await?;
        if sso::unprove(tx, org, &domain).await? {
            caller.note(tx, now, &[AccountChange::Account(AccountEventKind::DomainReleased, None)]).await?;
        }
        Ok::<_, StoreError>(())
    }));
    released.await?;
    shown(app, &mut app.store.read().await?, org).await
}

async fn claimed(app: &App, org: OrgNo, domain: String) -> Result<String, ApiError> {
    let domains = sso::domains(&mut app.store.read().await?, org).await?;
    let unclaimed = || {
        ApiError::new(Code::NotFound, "the organization does not claim this domain; its owner adds it in the settings")
    };
    domains.iter().any(|claimed| claimed.domain == domain).then_some(domain).ok_or_else(unclaimed)
}

async fn record(app: &App, caller: &Caller, domain: &str, look_at: Option<Millis>) -> Result<SsoShown, ApiError> {
    let (org, now) = (caller.org(), app.now());
    let proven = app.store.write(work!(|tx| {
        users::lock_team(tx, org).await?;
        if sso::prove(tx, org, domain, now, look_at).await? {
            caller.note(tx, now, &[AccountChange::Account(AccountEventKind::DomainProven, None)]).await?;
        }
        Ok(())
    }));
    let taken = "the domain belongs to another organization; ask the operator";
    proven.await.map_err(|error| in_conflict(error, taken))?;
    shown(app, &mut app.store.read().await?, org).await
}
