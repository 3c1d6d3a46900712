//! Provider of an organization: shown, set, tested and deleted.
//!
//! Only the owner changes it; the operator can delete it. Changes require the owner's password: a provider determines who is a
//! member, so a stolen session must not set or delete it, and the password remains if the provider fails.

use std::collections::BTreeSet;

use probity_account::role::MemberRole;
use probity_contract::error::ApiError;
use probity_contract::published::accounts::people::GivenPassword;
use probity_contract::published::accounts::sso::{DeletedSso, SetSso, SsoDomainShown, SsoShown, SsoTested};
use probity_mail::time::Millis;
use probity_sso::{IssuerUrl, SsoFault};
use probity_store::accounts::organization;
use probity_store::accounts::sso::{self, ClaimedDomain, StoredSso};
use probity_store::accounts::users;
use probity_store::activity::events::{AccountChange, AccountEventKind};
use probity_store::{Conn, OrgNo, StoreError, Tx, work};

use super::domains::parse_domain;
use super::provider::ProviderLink;
use super::records::{counts_until, record_name, record_value};
use super::{obstacle, operator_only, owner_only, redirect_uri};
use crate::accounts::people::password_change::prove_password;
use crate::accounts::people::sessions::OpenSession;
use crate::accounts::people::{Visitor, must_succeed, note_event, sign_in_failed};
use crate::app::App;
use crate::callers::caller::Caller;

/// Maximum number of domains of an organization.
const DOMAINS_MAX: usize = 20;
/// Maximum length of a client ID and of its secret, in bytes.
const CLIENT_MAX: usize = 1_000;

/// Returns the single sign-on of the caller's organization.
pub async fn get_sso(app: &App, caller: &Caller) -> Result<SsoShown, ApiError> {
    shown(app, &mut app.store.read().await?, caller.org()).await
}

pub(super) async fn shown(app: &App, conn: &mut Conn, org: OrgNo) -> Result<SsoShown, ApiError> {
    let record = organization::by_no(conn, org).await?;
    let domain = |ClaimedDomain { domain, proven_at, missed_at }| SsoDomainShown {
        record_name: record_name(&domain),
        record_value: record_value(app, org, &domain),
        proven_at: proven_at.map(Into::into),
        counts_until: missed_at.map(|since| counts_until(since).into()),
        domain,
    };
    Ok(SsoShown {
        obstacle: obstacle(app, &record),
        redirect_uri: redirect_uri(app),
        provider: sso::of(conn, org).await?.map(Into::into),
        domains: sso::domains(conn, org).await?.into_iter().map(domain).collect(),
    })
}

/// Sets the provider of the owner's organization, and claims its domains.
pub async fn set_sso(app: &App, visitor: &Visitor, session: &OpenSession, given: SetSso) -> Result<SsoShown, ApiError> {
    let org = owner_only(&session.caller(false))?;
    match obstacle(app, &organization::by_no(&mut app.store.read().await?, org).await?) {
        Some("plan") => return Err(ApiError::forbidden_scope("the organization's plan does not include `sso`")),
        Some(_) => {
            return Err(ApiError::conflict("single sign-on needs server.public_url; ask the operator to set it"));
        }
        None => {}
    }
    let (current, wish) = SsoWish::of(app, org, given)?;
    let proven = prove_password(app, visitor, session, &current).await?;
    let now = app.now();
    let set = app.store.write(work!(|tx| {
        if !proven.stands(tx).await? {
            return Ok(None);
        }
        if !wish.write(tx, now).await? {
            return Ok(Some(false));
        }
        note_event(tx, session.owner(), AccountEventKind::SsoChanged, now).await?;
        Ok(Some(true))
    }));
    match set.await? {
        None => Err(sign_in_failed(app)),
        Some(false) => Err(ApiError::invalid(
            "client_secret",
            "is required for a new provider or client; enter it as the provider shows it",
        )),
        Some(true) => shown(app, &mut app.store.read().await?, org).await,
    }
}

/// Validated settings.
struct SsoWish {
    sso: StoredSso,
    /// Whether the current secret stays.
    keeps_secret: bool,
    domains: BTreeSet<String>,
}

impl SsoWish {
    fn of(app: &App, org: OrgNo, given: SetSso) -> Result<(String, Self), ApiError> {
        let client = |field: &str, text: &str| {
            let is_fit =
                !text.is_empty() && text.len() <= CLIENT_MAX && text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
            let what = format_args!("must have 1 to {CLIENT_MAX} printable ASCII characters").to_string();
            if is_fit { Ok(text.to_owned()) } else { Err(ApiError::invalid(field, what)) }
        };
        let issuer = given.issuer.trim();
        IssuerUrl::parse(issuer, |host| app.platforms.hosts().has(host))
            .map_err(|fault| ApiError::invalid("issuer", fault))?;
        let client_id = client("client_id", given.client_id.trim())?;
        let secret = given.client_secret.as_deref().map(str::trim).filter(|secret| !secret.is_empty());
        let secret = secret.map(|secret| client("client_secret", secret)).transpose()?;
        let role = given.newcomer_role.as_deref().map(|name| {
            let wrong = || ApiError::invalid("newcomer_role", "must be administrator, contributor or null");
            MemberRole::from_name(name).ok_or_else(wrong)
        });
        let domains: BTreeSet<String> =
            given.domains.iter().map(|text| parse_domain(text)).collect::<Result<_, _>>()?;
        if domains.is_empty() || domains.len() > DOMAINS_MAX {
            return Err(ApiError::invalid("domains", format_args!("must have 1 to {DOMAINS_MAX} domains")));
        }
        let sso = StoredSso {
            org,
            issuer: issuer.to_owned(),
            client_id,
            client_secret: secret
                .as_ref()
                .map_or_else(Vec::new, |text| app.secrets.seal_sso_secret(org, text.as_bytes())),
            required: given.required,
            newcomer_role: role.transpose()?,
            believed: given.trusts_email,
            version: 0,
            changed_at: app.now(),
        };
        Ok((given.current, Self { sso, keeps_secret: secret.is_none(), domains }))
    }

    /// Writes the settings, in a transaction that has locked the team. Returns false if the secret would be that of another
    /// provider or client. Another provider or client drops the bindings of members, because some providers identify accounts
    /// per client.
    async fn write(&self, tx: &mut Tx, now: Millis) -> Result<bool, StoreError> {
        let mut sso = StoredSso { changed_at: now, ..self.sso.clone() };
        let before = sso::of(tx, sso.org).await?;
        let same = |known: &&StoredSso| known.issuer == sso.issuer && known.client_id == sso.client_id;
        if self.keeps_secret {
            match before.as_ref().filter(same) {
                Some(known) => sso.client_secret.clone_from(&known.client_secret),
                None => return Ok(false),
            }
        }
        if before.as_ref().is_some_and(|known| !same(&known)) {
            sso::forget_all(tx, sso.org).await?;
        }
        sso.version = before.map_or(0, |known| known.version) + 1;
        sso::write(tx, &sso).await?;
        for known in sso::domains(tx, sso.org).await? {
            if !self.domains.contains(&known.domain) {
                sso::release(tx, sso.org, &known.domain).await?;
            }
        }
        for domain in &self.domains {
            sso::claim(tx, sso.org, domain).await?;
        }
        Ok(true)
    }
}

/// Tests whether the provider of the caller's organization is reachable and supported.
pub async fn test_sso(app: &App, caller: &Caller) -> Result<SsoTested, ApiError> {
    let sso = sso::of(&mut app.store.read().await?, caller.org()).await?.ok_or_else(ApiError::not_found)?;
    let link = ProviderLink::of(app, &sso.issuer);
    let tested = async {
        let link = link.as_ref().map_err(|fault| *fault)?;
        link.forget().await;
        link.keys(&*link.document().await?, false).await
    };
    let Err(fault) = tested.await else {
        return Ok(SsoTested { works: true, fault: None, message: None, named: None });
    };
    let named = match &link {
        Ok(link) if fault == SsoFault::IssuerDiffers => link.named_issuer().await,
        _ => None,
    };
    Ok(SsoTested { works: false, fault: Some(fault.word()), message: Some(fault.to_string()), named })
}

/// Deletes the provider of the owner's organization, with its domains and bindings. Members stay.
pub async fn delete_sso(
    app: &App,
    visitor: &Visitor,
    session: &OpenSession,
    given: GivenPassword,
) -> Result<DeletedSso, ApiError> {
    let caller = session.caller(false);
    owner_only(&caller)?;
    let proven = prove_password(app, visitor, session, &given.current).await?;
    let now = app.now();
    let deleted = app.store.write(work!(|tx| {
        if !proven.stands(tx).await? {
            return Ok(false);
        }
        delete(tx, &caller, now).await?;
        Ok(true)
    }));
    must_succeed(app, deleted.await?)?;
    Ok(DeletedSso { deleted: true })
}

/// Deletes the provider of an organization for the operator, who needs no password.
pub async fn remove_sso(app: &App, caller: &Caller) -> Result<DeletedSso, ApiError> {
    let (org, now) = (operator_only(caller)?, app.now());
    let deleted = app.store.write(work!(|tx| {
        users::lock_team(tx, org).await?;
        delete(tx, caller, now).await
    }));
    deleted.await?;
    Ok(DeletedSso { deleted: true })
}

/// Deletes all data of single sign-on, in a transaction that has locked the team.
async fn delete(tx: &mut Tx, caller: &Caller, now: Millis) -> Result<(), StoreError> {
    sso::remove(tx, caller.org()).await?;
    caller.note(tx, now, &[AccountChange::Account(AccountEventKind::SsoDeleted, None)]).await
}
