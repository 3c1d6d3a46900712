//! Command-line requests, answered by the service's administration.

mod deliveries;
mod desk;
mod erasures;
mod plans;
mod suppressions;
mod users;
mod webhooks;

use anyhow::{Context, Result, anyhow, bail};
use probity_account::api_key;
use probity_account::credits;
use probity_account::id::OrgId;
use probity_account::scope::Scope;
use probity_service::admin::{Admin, Listed, MakeError, NewKey};
use probity_service::instance::Instance;
use probity_service::store::{Discrepancy, Key, Org, OrgStatus, StoreError, User};
use secrecy::ExposeSecret as _;

use crate::admin::{self, Answer, Balance, Bucket, KeyKind, Moment, Request};
use crate::config::Settings;
use crate::config::serve::ServeSettings;
use crate::exit::{Ends, Exit};

pub(super) async fn answer(
    instance: &Instance,
    admin: &Admin,
    settings: &Settings,
    request: Request,
) -> Result<Answer> {
    let serve = &settings.serve;
    match request {
        Request::CreateOrg { name, plan } => {
            let plan = admin.plan(plan.as_deref()).map_err(unmade)?.clone();
            Ok(Answer::Orgs(vec![org_view(&admin.create_org(&name, plan).await.map_err(unmade)?)]))
        }
        Request::ListOrgs => Ok(Answer::Orgs(all(admin).await?)),
        Request::Plans => Ok(Answer::Plans(admin.catalog())),
        Request::ShowOrg { org } => plans::show(admin, &find(admin, Some(&org)).await?).await,
        Request::ChangeOrg { org, change } => plans::change(admin, &find(admin, Some(&org)).await?, &change).await,
        Request::SetStatus { org, status, reason } => {
            let org = find(admin, Some(&org)).await?;
            let held = admin.hold(&org, status_of(status), reason.as_deref()).await.map_err(failed)?;
            Ok(Answer::Orgs(vec![org_view(&held)]))
        }
        Request::CreateKey { org, key } => {
            let org = find(admin, org.as_deref()).await?;
            let (key, secret) = admin.create_key(&org, wanted(key)?).await.map_err(unmade)?;
            Ok(Answer::NewKey(Box::new(key_view(&org, key)), secret.expose_secret().to_owned()))
        }
        Request::ListKeys { org } => {
            let org = find(admin, org.as_deref()).await?;
            let keys = admin.list_keys(&org).await.map_err(failed)?;
            Ok(Answer::Keys(keys.into_iter().map(|key| key_view(&org, key)).collect()))
        }
        Request::RevokeKey { org, key } => revoke(admin, org.as_deref(), &key).await,
        Request::Book(booking) => plans::book(admin, booking).await,
        Request::Ledger { org, limit } => plans::ledger(admin, &find(admin, org.as_deref()).await?, limit).await,
        Request::Balance { org } => balance_of(admin, &find(admin, org.as_deref()).await?).await,
        Request::AuditCredits => Ok(audited(admin.audit_credits().await.map_err(failed)?)),
        Request::Audit => Ok(audited(admin.audit(serve.deliveries_keep_ms).await.map_err(failed)?)),
        Request::ListDeliveries { org, state, limit } => {
            deliveries::list(admin, &find(admin, org.as_deref()).await?, state, limit).await
        }
        Request::ShowDelivery { org, delivery } => {
            deliveries::show(admin, &find(admin, org.as_deref()).await?, &delivery).await
        }
        Request::ResendDelivery { org, delivery } => {
            deliveries::resend(admin, &find(admin, org.as_deref()).await?, &delivery).await
        }
        Request::Erasures(wish) => erasures::answer(admin, serve, wish).await,
        Request::Webhooks { org, wish } => {
            webhooks::answer(admin, settings, &find(admin, org.as_deref()).await?, wish).await
        }
        Request::Suppressions { org, wish } => {
            suppressions::answer(admin, &find(admin, org.as_deref()).await?, wish).await
        }
        Request::Desk { org, wish } => {
            desk::answer(instance, settings, &find(admin, org.as_deref()).await?, wish).await
        }
        Request::Nodes => Ok(Answer::Nodes(admin.nodes().await.map_err(failed)?.into_iter().map(node_view).collect())),
        Request::ListUsers { org } => users::list(admin, &find(admin, org.as_deref()).await?).await,
        Request::InviteUser { org, email, name, role } => {
            let org = find(admin, org.as_deref()).await?;
            users::invite(admin, serve, &org, &email, name.as_deref(), &role).await
        }
        Request::ChangeUser { who, org, fate } => users::change(admin, &who, org.as_deref(), fate).await,
        Request::Sessions { who, org } => users::sessions(admin, serve, &who, org.as_deref()).await,
        Request::SignOut { who, org, session } => {
            users::sign_out(admin, &who, org.as_deref(), session.as_deref()).await
        }
        Request::Identify { who, org, identity } => users::identify(admin, &who, org.as_deref(), identity).await,
        Request::ResetLink { who, org, without_second_factor } => {
            reset_link(admin, serve, &who, org.as_deref(), without_second_factor).await
        }
    }
}

/// Creates a link for the matching user.
async fn reset_link(
    admin: &Admin,
    serve: &ServeSettings,
    who: &str,
    org: Option<&str>,
    without_second_factor: bool,
) -> Result<Answer> {
    let (user, organization) = person(admin, who, org).await?;
    let link = admin.reset_link(&user, without_second_factor).await.map_err(|error| unknown(error, who))?;
    let url = serve.link(link.token.expose_secret());
    Ok(Answer::Link(admin::Link { user: user.id.to_string(), organization, url, expires_at: link.expires_at }))
}

/// Returns the one matching user, with the organization's ID.
async fn person(admin: &Admin, who: &str, org: Option<&str>) -> Result<(User, String)> {
    let found = admin.people(who).await.map_err(|error| unknown(error, who))?;
    let named = found.into_iter().map(|(org, user)| (org.to_string(), (user, org.to_string())));
    admin::one_person(named.collect(), who, org)
}

fn unknown(error: StoreError, who: &str) -> anyhow::Error {
    match error {
        StoreError::NotFound => anyhow!("there is no member {who}"),
        other => failed(other),
    }
}

fn audited(found: Vec<(Option<OrgId>, Discrepancy)>) -> Answer {
    let view = |(org, at): (Option<OrgId>, Discrepancy)| admin::Discrepancy {
        organization: org.map(|org| org.to_string()).unwrap_or_default(),
        invariant: at.invariant.name().to_owned(),
        rule: at.invariant.rule().to_owned(),
        subject: at.subject,
        said: at.said,
        found: at.found,
    };
    Answer::Audit(found.into_iter().map(view).collect())
}

/// Revokes a key. Key IDs are unique, so without `--org`, all organizations are searched.
async fn revoke(admin: &Admin, org: Option<&str>, key: &str) -> Result<Answer> {
    let orgs = match org {
        Some(org) => vec![find(admin, Some(org)).await?],
        None => admin.list_orgs().await.map_err(failed)?,
    };
    for org in &orgs {
        match admin.revoke_key(org, key).await {
            Ok(key) => return Ok(Answer::Keys(vec![key_view(org, key)])),
            Err(StoreError::NotFound) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    bail!("there is no key {key}; to list all keys: `probity keys list`")
}

async fn all(admin: &Admin) -> Result<Vec<admin::Org>> {
    Ok(admin.list_orgs().await.map_err(failed)?.iter().map(org_view).collect())
}

/// Returns the organization with an ID, or the only one.
async fn find(admin: &Admin, id: Option<&str>) -> Result<Org> {
    let id = match id {
        Some(id) => id.to_owned(),
        None => admin::only(&all(admin).await?)?.id.clone(),
    };
    match admin.org(&id).await {
        Err(StoreError::NotFound) => bail!("there is no organization {id}; to list all: `probity orgs list`"),
        found => found.map_err(failed),
    }
}

/// Maps a store error: wrong requests are usage errors, others are local failures.
fn failed(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::InsufficientCredits { .. } => anyhow!("{error}"),
        StoreError::CreditsHeld => anyhow!("{error}; pause the organization, or retry when the holds have ended"),
        other => anyhow::Error::new(other).context(Ends(Exit::Local)),
    }
}

fn unmade(error: MakeError) -> anyhow::Error {
    match error {
        MakeError::Name(_) => anyhow!("{error}"),
        MakeError::Plan(_) => anyhow!("{error}; `probity plans` lists them"),
        MakeError::Store(error) => failed(error),
    }
}

fn status_of(status: admin::OrgStatus) -> OrgStatus {
    match status {
        admin::OrgStatus::Active => OrgStatus::Active,
        admin::OrgStatus::Suspended => OrgStatus::Suspended,
        admin::OrgStatus::Paused => OrgStatus::Paused,
        admin::OrgStatus::Banned => OrgStatus::Banned,
        admin::OrgStatus::UnderReview => OrgStatus::UnderReview,
    }
}

fn bucket_of(bucket: Bucket) -> credits::Bucket {
    match bucket {
        Bucket::Subscription => credits::Bucket::Subscription,
        Bucket::Prepaid => credits::Bucket::Prepaid,
    }
}

fn wanted(key: admin::NewKey) -> Result<NewKey> {
    let kind = match key.kind {
        KeyKind::Live => api_key::KeyKind::Live,
        KeyKind::Rk => api_key::KeyKind::Rk,
        KeyKind::Test => api_key::KeyKind::Test,
        KeyKind::Pub => api_key::KeyKind::Pub,
    };
    let scope = |name: &String| Scope::from_name(name).with_context(|| format!("there is no scope {name:?}"));
    let scopes = key.scopes.iter().map(scope).collect::<Result<_>>()?;
    let name = if key.name.is_empty() { format!("{} key", kind.as_str()) } else { key.name };
    Ok(NewKey {
        scopes: (kind == api_key::KeyKind::Rk).then_some(scopes),
        origins: key.origins,
        daily_cap: key.daily_cap,
        expires_at: key.expires.map(future).transpose()?,
        rate_limit_per_minute: key.per_minute.map(i64::from),
        ..NewKey::plain(&name, kind)
    })
}

fn future(moment: Moment) -> Result<probity_mail::time::Millis> {
    let now = probity_engine::clock::Clock::system().now();
    moment.from(now).context("this time is in the past")
}

fn org_view(org: &Org) -> admin::Org {
    admin::Org {
        id: org.id.to_string(),
        name: org.name.clone().unwrap_or_default(),
        plan: org.plan.clone(),
        status: org.status.as_str().to_owned(),
        created_at: org.created_at,
    }
}

fn key_view(org: &Org, key: Key) -> admin::Key {
    admin::Key {
        id: key.id.to_string(),
        organization: org.id.to_string(),
        name: key.name,
        kind: key.kind.as_str().to_owned(),
        prefix: key.prefix,
        last4: key.last4,
        scopes: key.scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        origins: key.origins,
        daily_cap: key.daily_cap,
        created_at: key.created_at,
        expires_at: key.expires_at,
        last_used_at: key.last_used_at,
        revoked_at: key.revoked_at,
    }
}

fn node_view(listed: Listed) -> admin::Node {
    let Listed { node, alive, leases } = listed;
    let parts = |text: &str| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    admin::Node {
        id: node.id.to_string(),
        roles: parts(&node.roles),
        sources: parts(&node.sources),
        hostname: node.hostname,
        version: node.version,
        started_at: node.started_at,
        seen_at: node.seen_at,
        alive,
        leases,
        chunks: node.chunks,
        imports: node.imports,
        clock_ahead_ms: node.ahead_ms,
    }
}

async fn balance_of(admin: &Admin, org: &Org) -> Result<Answer> {
    balance(org, admin.balance(org).await)
}

fn balance(org: &Org, balance: std::result::Result<credits::Balance, StoreError>) -> Result<Answer> {
    let balance = balance.map_err(failed)?;
    let account = |bucket| admin::credits::Account {
        available: balance.available.of(bucket),
        held: balance.held.of(bucket),
        spent: balance.spent.of(bucket),
    };
    Ok(Answer::Balance(Balance {
        organization: org.id.to_string(),
        subscription: account(credits::Bucket::Subscription),
        prepaid: account(credits::Bucket::Prepaid),
        total: balance.available.total(),
    }))
}
