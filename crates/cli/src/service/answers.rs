//! Requests of the command line, answered by the service's administration.

mod team;

use anyhow::{Context, Result, anyhow, bail};
use probity_core::api_key;
use probity_core::credits as core;
use probity_core::id::OrgId;
use probity_core::scope::Scope;
use probity_server::admin::{Admin, Listed, MakeError, NewKey, Plan};
use probity_server::store::{Content, Discrepancy, Key, Logged, Org, OrgStatus, State, StoreError, User};
use secrecy::ExposeSecret as _;

use crate::admin::{self, Answer, Balance, Bucket, DeliveryState, KeyKind, Moment, Request};
use crate::config::serve::{CreditSettings, ServeSettings};
use crate::exit::{Ends, Exit};

/// Answers a request.
pub(super) async fn answer(admin: &Admin, serve: &ServeSettings, request: Request) -> Result<Answer> {
    let credits = serve.credits;
    match request {
        Request::CreateOrg { name, plan } => {
            let plan = plan.map_or_else(|| super::plan(credits), |plan| named(plan, credits));
            Ok(Answer::Orgs(vec![org_view(&admin.create_org(&name, plan).await.map_err(unmade)?)]))
        }
        Request::ListOrgs => Ok(Answer::Orgs(all(admin).await?)),
        Request::SetStatus { org, status } => {
            let org = find(admin, Some(&org)).await?;
            Ok(Answer::Orgs(vec![org_view(&admin.set_status(&org, status_of(status)).await.map_err(failed)?)]))
        }
        Request::CreateKey { org, key } => {
            let org = find(admin, org.as_deref()).await?;
            let (key, secret) = admin.create_key(&org, wanted(key)?).await.map_err(unmade)?;
            Ok(Answer::NewKey(key_view(&org, key), secret.expose_secret().to_owned()))
        }
        Request::ListKeys { org } => {
            let org = find(admin, org.as_deref()).await?;
            let keys = admin.list_keys(&org).await.map_err(failed)?;
            Ok(Answer::Keys(keys.into_iter().map(|key| key_view(&org, key)).collect()))
        }
        Request::RevokeKey { org, key } => revoke(admin, org.as_deref(), &key).await,
        Request::Grant { org, bucket, amount, until } => {
            let org = find(admin, org.as_deref()).await?;
            let until = until.map(future).transpose()?;
            balance(&org, admin.grant(&org, bucket_of(bucket), amount, until).await)
        }
        Request::Balance { org } => {
            let org = find(admin, org.as_deref()).await?;
            balance(&org, admin.balance(&org).await)
        }
        Request::Adjust { org, bucket, amount } => {
            let org = find(admin, org.as_deref()).await?;
            balance(&org, admin.adjust(&org, bucket_of(bucket), amount).await)
        }
        Request::AuditCredits => Ok(audited(admin.audit_credits().await.map_err(failed)?)),
        Request::Audit => Ok(audited(admin.audit().await.map_err(failed)?)),
        Request::ListDeliveries { org, state, limit } => {
            let org = find(admin, org.as_deref()).await?;
            let found = admin.list_deliveries(&org, state.map(state_of), limit).await.map_err(failed)?;
            Ok(Answer::Deliveries(found.iter().map(|one| delivery_view(&org, one)).collect()))
        }
        Request::ShowDelivery { org, delivery } => {
            let org = find(admin, org.as_deref()).await?;
            let logged = admin.delivery(&org, &delivery).await.map_err(|error| missing(error, &delivery))?;
            Ok(Answer::Delivery(Box::new(detail_view(&org, &logged))))
        }
        Request::ResendDelivery { org, delivery } => {
            let org = find(admin, org.as_deref()).await?;
            let logged = admin.resend_delivery(&org, &delivery).await.map_err(|error| missing(error, &delivery))?;
            Ok(Answer::Deliveries(vec![delivery_view(&org, &logged)]))
        }
        Request::Nodes => {
            let found = admin.nodes().await.map_err(failed)?;
            Ok(Answer::Nodes(found.into_iter().map(node_view).collect()))
        }
        Request::ListUsers { org } => team::list(admin, &find(admin, org.as_deref()).await?).await,
        Request::InviteUser { org, email, name, role } => {
            let org = find(admin, org.as_deref()).await?;
            team::invite(admin, serve, &org, &email, name.as_deref(), &role).await
        }
        Request::ChangeUser { who, org, fate } => team::change(admin, &who, org.as_deref(), fate).await,
        Request::ResetLink { who, org, without_second_factor } => {
            let link = reset_link(admin, &who, org.as_deref(), without_second_factor).await?;
            Ok(Answer::Link(admin::Link { url: serve.link(&link.url), ..link }))
        }
    }
}

/// A link for the person who is meant; in the place of its URL stands its token.
async fn reset_link(admin: &Admin, who: &str, org: Option<&str>, without_second_factor: bool) -> Result<admin::Link> {
    let (user, organization) = person(admin, who, org).await?;
    let link = admin.reset_link(&user, without_second_factor).await.map_err(|error| unknown(error, who))?;
    Ok(admin::Link {
        user: user.id.to_string(),
        organization,
        url: link.token.expose_secret().to_owned(),
        expires_at: link.expires_at,
    })
}

/// The one person who is meant, with the id of their organization.
async fn person(admin: &Admin, who: &str, org: Option<&str>) -> Result<(User, String)> {
    let found = admin.people(who).await.map_err(|error| unknown(error, who))?;
    let named = found.into_iter().map(|(org, user)| (org.to_string(), (user, org.to_string())));
    admin::one_person(named.collect(), who, org)
}

fn unknown(error: StoreError, who: &str) -> anyhow::Error {
    match error {
        StoreError::NotFound => anyhow!("there is nobody who is called {who}"),
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

/// A key says whose it is, so without `--org` all organizations are looked through.
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
    bail!("there is no key {key}; `probity keys list` shows all")
}

async fn all(admin: &Admin) -> Result<Vec<admin::Org>> {
    Ok(admin.list_orgs().await.map_err(failed)?.iter().map(org_view).collect())
}

/// The organization with an id, or the only one that there is.
async fn find(admin: &Admin, id: Option<&str>) -> Result<Org> {
    let id = match id {
        Some(id) => id.to_owned(),
        None => admin::only(&all(admin).await?)?.id.clone(),
    };
    match admin.org(&id).await {
        Err(StoreError::NotFound) => bail!("there is no organization {id}; `probity orgs list` shows all"),
        found => found.map_err(failed),
    }
}

/// What the store could not do: usage where the request was wrong, this machine otherwise.
fn failed(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::InsufficientCredits { .. } => anyhow!("{error}"),
        other => anyhow::Error::new(other).context(Ends(Exit::Local)),
    }
}

fn unmade(error: MakeError) -> anyhow::Error {
    match error {
        MakeError::Name(_) => anyhow!("{error}"),
        MakeError::Store(error) => failed(error),
    }
}

fn missing(error: StoreError, delivery: &str) -> anyhow::Error {
    match error {
        StoreError::NotFound => {
            anyhow!("there is no delivery {delivery}; `probity deliveries list` shows the last ones")
        }
        other => failed(other),
    }
}

fn state_of(state: DeliveryState) -> State {
    match state {
        DeliveryState::Waiting => State::Waiting,
        DeliveryState::Delivered => State::Delivered,
        DeliveryState::Exhausted => State::Exhausted,
        DeliveryState::Cancelled => State::Cancelled,
    }
}

fn named(plan: admin::Plan, credits: CreditSettings) -> Plan {
    match plan {
        admin::Plan::Unlimited => Plan::Unlimited,
        admin::Plan::Metered => Plan::Metered { initial: credits.initial },
    }
}

fn status_of(status: admin::OrgStatus) -> OrgStatus {
    match status {
        admin::OrgStatus::Active => OrgStatus::Active,
        admin::OrgStatus::Suspended => OrgStatus::Suspended,
        admin::OrgStatus::Paused => OrgStatus::Paused,
        admin::OrgStatus::Banned => OrgStatus::Banned,
    }
}

fn bucket_of(bucket: Bucket) -> core::Bucket {
    match bucket {
        Bucket::Subscription => core::Bucket::Subscription,
        Bucket::Prepaid => core::Bucket::Prepaid,
    }
}

fn wanted(key: admin::NewKey) -> Result<NewKey> {
    let kind = match key.kind {
        KeyKind::Live => api_key::KeyKind::Live,
        KeyKind::Rk => api_key::KeyKind::Rk,
        KeyKind::Test => api_key::KeyKind::Test,
        KeyKind::Pub => api_key::KeyKind::Pub,
    };
    let scope = |name: &String| Scope::from_name(name).with_context(|| format!("no scope is called {name:?}"));
    let scopes = key.scopes.iter().map(scope).collect::<Result<_>>()?;
    let name = if key.name.is_empty() { format!("{} key", kind.as_str()) } else { key.name };
    Ok(NewKey {
        scopes: (kind == api_key::KeyKind::Rk).then_some(scopes),
        origins: key.origins,
        expires_at: key.expires.map(future).transpose()?,
        rate_limit_per_minute: key.per_minute.map(i64::from),
        ..NewKey::plain(&name, kind)
    })
}

fn future(moment: Moment) -> Result<probity_core::time::Millis> {
    let now = probity_engine::clock::Clock::system().now();
    moment.from(now).context("that point in time is over")
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
        created_at: key.created_at,
        expires_at: key.expires_at,
        last_used_at: key.last_used_at,
        revoked_at: key.revoked_at,
    }
}

fn delivery_view(org: &Org, logged: &Logged) -> admin::Delivery {
    admin::Delivery {
        id: logged.id.to_string(),
        organization: org.id.to_string(),
        event: logged.event.to_string(),
        kind: logged.kind.clone(),
        webhook: Some(logged.signer.clone()).filter(|signer| !signer.is_empty()),
        url: logged.url.clone(),
        state: logged.state.to_string(),
        attempts: logged.attempts,
        next_at: (logged.state == State::Waiting).then_some(logged.next_at),
        last_at: logged.last_at,
        last_status: logged.last_status,
        last_error: logged.last_error.clone(),
        last_took_ms: logged.last_took_ms,
        created_at: logged.created_at,
    }
}

fn detail_view(org: &Org, logged: &Logged) -> admin::Detail {
    let body = match (&logged.content, logged.job) {
        (Content::Bytes(bytes), _) => String::from_utf8_lossy(bytes).into_owned(),
        (Content::Rows(rows), Some(job)) => format!("rows {rows:?} of {job}"),
        (Content::Rows(rows), None) => format!("rows {rows:?}"),
    };
    admin::Detail {
        delivery: delivery_view(org, logged),
        first_at: logged.first_at,
        body,
        last_answer: String::from_utf8_lossy(&logged.last_answer).into_owned(),
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
    }
}

fn balance(org: &Org, balance: std::result::Result<core::Balance, StoreError>) -> Result<Answer> {
    let balance = balance.map_err(failed)?;
    let account = |bucket| admin::credits::Account {
        available: balance.available.of(bucket),
        held: balance.held.of(bucket),
        spent: balance.spent.of(bucket),
    };
    Ok(Answer::Balance(Balance {
        organization: org.id.to_string(),
        subscription: account(core::Bucket::Subscription),
        prepaid: account(core::Bucket::Prepaid),
        total: balance.available.total(),
    }))
}
