//! Sources of outcomes: URLs to which an organization's sending services post events.
//!
//! The URL has a secret, which only the act that creates the source returns. Services that sign also need their key. A source that
//! a test key created stores its events as those of test keys, and only test keys see it.

use std::collections::HashMap;

use probity_access::limits::{LimitBucket, RequestLimit};
use probity_account::id::OutcomeSourceId;
use probity_account::outcome::OutcomeSource;
use probity_backend::outcomes::{OutcomeRecorder, TakenOutcomes, proof};
use probity_contract::error::ApiError;
use probity_contract::page::List;
use probity_contract::published::outcomes::sources::{
    CreateOutcomeSource, DeletedOutcomeSource, NewOutcomeSource, OutcomeSourceShown, SIGNING_KEY_MAX_BYTES,
};
use probity_lists::outcomes::events;
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::activity::events::EventActor;
use probity_store::outcomes::sources::{self, OutcomeSourceRecord, OutcomeSourceSecrets};
use probity_store::{ScopedFutureExt as _, StoreError, work};
use serde_json::Value;

use crate::app::App;
use crate::callers::admission;
use crate::callers::caller::Caller;
use crate::callers::given::checked_name;
use crate::callers::once::Once;

use super::ses;

/// Maximum number of sources per organization.
const SOURCES_MAX: i64 = 20;

/// Lists the caller's sources of outcomes, newest first.
pub async fn list_sources(app: &App, caller: &Caller) -> Result<List<OutcomeSourceShown>, ApiError> {
    let mut conn = app.store.read().await?;
    let all = sources::all(&mut conn, caller.org(), caller.is_test(), SOURCES_MAX).await?;
    Ok(List::whole(all.into_iter().map(OutcomeSourceShown::from).collect()))
}

/// Creates a source of outcomes, and returns its URL, which no other response contains.
pub async fn create_source(
    app: &App,
    caller: &Caller,
    once: &Once,
    asked: CreateOutcomeSource,
) -> Result<NewOutcomeSource, ApiError> {
    let name = checked_name(&asked.name)?;
    let key = asked.signing_key.as_deref().map(str::trim);
    if key.is_some_and(|key| key.is_empty() || key.len() > SIGNING_KEY_MAX_BYTES) {
        return Err(ApiError::invalid("signing_key", format_args!("must have 1 to {SIGNING_KEY_MAX_BYTES} bytes")));
    }
    proof::check_key(asked.service, key).map_err(|refused| ApiError::invalid("signing_key", refused))?;
    let now = app.now();
    let secret = probity_access::secrets::hex(&probity_access::secrets::random::bytes::<32>());
    let source = OutcomeSourceRecord {
        org: caller.org(),
        id: probity_access::secrets::random::id(now),
        test: caller.is_test(),
        service: asked.service,
        name,
        created_at: now,
        last_event_at: None,
    };
    let secrets = OutcomeSourceSecrets {
        hash: app.secrets.outcome_source(&secret).to_vec(),
        signing_key: key.map(|key| app.secrets.seal_outcome_key(source.id, key.as_bytes())),
    };
    let path = format!("/hooks/outcomes/{}/{secret}", source.id);
    let url = format!("{}{path}", app.config.public_url.as_deref().unwrap_or_default().trim_end_matches('/'));
    let shown = NewOutcomeSource { source: source.clone().into(), url };
    let has_room = app.store.write(work!(|tx| {
        if !sources::insert(tx, &source, &secrets, SOURCES_MAX).await? {
            return Ok(false);
        }
        once.keep(tx, &shown).await?;
        Ok::<_, StoreError>(true)
    }));
    if has_room.await? {
        return Ok(shown);
    }
    let full = format!("an organization can have at most {SOURCES_MAX} sources of outcomes; delete one first");
    Err(ApiError::conflict(full))
}

/// Deletes a source of outcomes; its URL stops working. Outcomes that it reported stay.
pub async fn delete_source(app: &App, caller: &Caller, id: OutcomeSourceId) -> Result<DeletedOutcomeSource, ApiError> {
    let (org, test) = (caller.org(), caller.is_test());
    app.store.write(|tx| sources::remove(tx, org, id, test).scope_boxed()).await?;
    Ok(DeletedOutcomeSource { id, deleted: true })
}

/// Request of a sending service.
pub struct PostedEvents<'a> {
    pub id: OutcomeSourceId,
    /// Secret in the URL.
    pub secret: &'a str,
    /// Body as received.
    pub raw: &'a [u8],
    /// Headers by lower-case name; of a repeated one, the last.
    pub headers: HashMap<String, String>,
}

/// Stores the events that a sending service has posted. An unknown source, a wrong secret and a wrong signature get the same 404,
/// a restricted organization 403, and too many requests 429.
pub async fn take_events(app: &App, posted: PostedEvents<'_>) -> Result<(), ApiError> {
    let mut conn = app.store.read().await?;
    let found = sources::by_id(&mut conn, posted.id).await?;
    let hash = app.secrets.outcome_source(posted.secret);
    let (source, secrets) = found.filter(|(_, secrets)| secrets.hash == hash).ok_or_else(ApiError::not_found)?;
    let org = organization::by_no(&mut conn, source.org).await?;
    drop(conn);
    admit(app, &org, source.id).await?;
    let key = match &secrets.signing_key {
        None => None,
        Some(sealed) => Some(app.secrets.open_outcome_key(source.id, sealed).map_err(ApiError::server_error)?),
    };
    if source.service == OutcomeSource::Ses {
        let event = ses::opened(app, key.as_deref(), posted.raw).await?;
        return store_events(app, &source, &event).await;
    }
    let json: Value = serde_json::from_slice(posted.raw).map_err(|_| ApiError::not_found())?;
    let header = |name: &str| posted.headers.get(name).map(String::as_str);
    let body = proof::SignedBody {
        raw: posted.raw,
        json: &json,
        signature: header(proof::SENDGRID_SIGNATURE),
        timestamp: header(proof::SENDGRID_TIMESTAMP),
    };
    if !proof::is_proven(source.service, key.as_deref(), &body) {
        return Err(ApiError::not_found());
    }
    store_events(app, &source, &json).await
}

/// Refuses requests of restricted organizations, and those beyond the limit. Services retry after a 429.
async fn admit(app: &App, org: &OrgRecord, source: OutcomeSourceId) -> Result<(), ApiError> {
    admission::refuse_stopped(org.status)?;
    let all = admission::operators_limit(app, org.rate_limit_per_minute, &org.plan);
    // Half of the limit for one source, so that it leaves some to the others.
    let limits = [
        RequestLimit { bucket: LimitBucket::OutcomeSource(org.no, source), per_minute: (all / 2).max(1) },
        RequestLimit { bucket: LimitBucket::OutcomeSources(org.no), per_minute: all },
    ];
    admission::count_act(app, &limits).await
}

async fn store_events(app: &App, source: &OutcomeSourceRecord, json: &Value) -> Result<(), ApiError> {
    let now = app.now();
    let mut taken = TakenOutcomes::default();
    for event in events::read(source.service, json) {
        // A future time comes from a wrong clock.
        let at = event.at.filter(|at| *at <= now).unwrap_or(now);
        taken.take((&app.secrets, source.org), &event.email, (event.class, at), now);
    }
    let recorder = OutcomeRecorder {
        org: source.org,
        test: source.test,
        source: source.service,
        actor: EventActor::System,
        at: now,
    };
    let stored = app.store.write(work!(|tx| {
        if !sources::touch(tx, source.org, source.id, now).await? {
            return Err(StoreError::NotFound);
        }
        recorder.record(tx, &taken).await.map(drop)
    }));
    Ok(stored.await?)
}
