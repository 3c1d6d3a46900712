//! `/v1/api-keys`: an organization's keys. A secret is shown once, in the answer that made it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use probity_account::api_key::KeyKind;
use probity_account::id::KeyId;
use probity_account::name::name;
use probity_account::scope::Scope;
use probity_mail::time::Millis;
use probity_service::app::App;
use probity_service::error::ApiError;
use probity_service::minting;
use probity_service::minting::Wanted;
use probity_service::page::{Asked, List};
use probity_service::published::keys::{ApiKey, CreateKey, DeletedKey, NewKey};
use probity_service::published::whole::Whole;
use probity_store::events::{self, AccountEvent, What};
use probity_store::keys::{self};
use probity_store::{ScopedFutureExt as _, StoreError};

use crate::asking::Asking;
use crate::auth;
use crate::auth::Caller;
use crate::body::JsonBody;
use crate::error::Refusal;
use crate::idempotency::{Answer, Once};
use crate::openapi::parameters::{KeyPath, PageParams};
use crate::path::PathId;

/// The list's name in its cursors.
const LIST: &str = "/v1/api-keys";
/// Keys of an organization that open something, at most: more than there are programs and websites to tell apart.
const KEYS_MAX: i64 = 1_000;

/// List API keys
///
/// Lists all keys of the organization, newest first, including revoked ones. Secrets are never shown again.
#[utoipa::path(
    get,
    path = "/v1/api-keys",
    tag = "Account",
    params(PageParams),
    security(("bearer" = ["write:keys"])),
    responses((status = 200, description = "A page of keys.", body = List<ApiKey>))
)]
pub(crate) async fn list_api_keys(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asking(query): Asking,
) -> Result<Json<List<ApiKey>>, Refusal> {
    let asked = Asked::of(&app.cursors, &query, caller.org_id().to_string(), LIST)?;
    let mut conn = app.store.read().await?;
    let rows = keys::page(&mut conn, caller.org(), asked.after, asked.at_most()).await?;
    Ok(Json(asked.list(rows, |row| (row.created_at, row.id), ApiKey::from)))
}

/// Create an API key
///
/// Returns the secret, shown only here. A key cannot create a key with more permissions than its own. An organization can
/// have 1,000 keys that are neither revoked nor expired.
#[utoipa::path(
    post,
    path = "/v1/api-keys",
    tag = "Account",
    request_body(content = CreateKey, description = "The key to create."),
    security(("bearer" = ["write:keys"])),
    responses((status = 201, description = "The key, with its secret.", body = NewKey))
)]
pub(crate) async fn create_api_key(
    State(app): State<Arc<App>>,
    caller: Caller,
    once: Once,
    JsonBody(asked): JsonBody<CreateKey>,
) -> Result<Answer, Refusal> {
    let now = app.now();
    let mut wanted = wanted(asked, now)?;
    no_more_than(&caller, &wanted)?;
    wanted.rate_limit_per_minute = no_faster_than(&app, &caller, wanted.rate_limit_per_minute);
    let minted = minting::mint(&app.secrets, &app.config.brand, caller.org(), caller.user(), wanted, now);
    let shown = NewKey { key: minted.key.clone().into(), secret: minted.secret };
    let kept = app.store.write(|tx| {
        async {
            if !keys::has_room(tx, caller.org(), now, KEYS_MAX).await? {
                return Ok(None);
            }
            keys::insert(tx, &minted.key, &minted.hash).await?;
            events::add(tx, caller.org(), now, Some(caller.actor()), &[What::Account(AccountEvent::KeyCreated)])
                .await?;
            once.keep(tx, StatusCode::CREATED, &shown).await.map(Some)
        }
        .scope_boxed()
    });
    let full = || format!("an organization can have at most {KEYS_MAX} keys; revoke an unused one first");
    Ok(kept.await?.ok_or_else(|| ApiError::conflict(full()))?)
}

/// What the body asks for, where it makes sense.
fn wanted(asked: CreateKey, now: Millis) -> Result<Wanted, Refusal> {
    let kind = asked.kind;
    let expires_at = asked.expires_at.map(|at| at.0);
    if expires_at.is_some_and(|at| at <= now) {
        return Err(ApiError::invalid("expires_at", "must be in the future").into());
    }
    let above_zero =
        |field: &str, number: Option<Whole>| number.map(|number| number.within(field, 1, u32::MAX, "")).transpose();
    let rate_limit_per_minute = above_zero("rate_limit_per_minute", asked.rate_limit_per_minute)?;
    let daily_cap = above_zero("daily_cap", asked.daily_cap)?;
    let scopes = match (kind, asked.scopes) {
        (KeyKind::Rk, Some(scopes)) if !scopes.is_empty() => Some(scopes),
        (KeyKind::Rk, _) => {
            return Err(ApiError::invalid("scopes", "must have at least 1 scope for a key of kind `rk`").into());
        }
        (_, None) => None,
        (_, Some(_)) => return Err(ApiError::invalid("scopes", "is only for keys of kind `rk`").into()),
    };
    if kind == KeyKind::Pub && asked.allowed_origins.as_ref().is_none_or(Vec::is_empty) {
        return Err(ApiError::invalid("allowed_origins", "must have at least 1 origin for a key of kind `pub`").into());
    }
    if asked.allowed_origins.is_some() && kind != KeyKind::Pub {
        return Err(ApiError::invalid("allowed_origins", "is only for keys of kind `pub`").into());
    }
    if daily_cap.is_some() && kind != KeyKind::Pub {
        return Err(ApiError::invalid("daily_cap", "is only for keys of kind `pub`").into());
    }
    Ok(Wanted {
        name: name(&asked.name).map_err(|fault| ApiError::invalid("name", fault.to_string()))?.to_owned(),
        kind,
        scopes,
        origins: origins(asked.allowed_origins.unwrap_or_default())?,
        expires_at,
        rate_limit_per_minute,
        daily_cap,
    })
}

/// Each origin once: two spellings of one are one.
fn origins(texts: Vec<String>) -> Result<Vec<String>, Refusal> {
    let read = |(index, text): (usize, String)| {
        let wrong = || {
            let field = format!("allowed_origins[{index}]");
            ApiError::invalid(&field, "must be an origin such as https://www.example.com, without a path")
        };
        minting::origin(&text).ok_or_else(wrong)
    };
    if texts.len() > minting::ORIGINS_MAX {
        let most = minting::ORIGINS_MAX;
        return Err(ApiError::invalid("allowed_origins", format!("may have at most {most} origins")).into());
    }
    let mut origins = Vec::with_capacity(texts.len());
    for origin in texts.into_iter().enumerate().map(read) {
        let origin = origin?;
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    }
    Ok(origins)
}

/// Nobody raises themselves: a test key makes test keys, and a chosen scope cannot make another.
fn no_more_than(caller: &Caller, wanted: &Wanted) -> Result<(), Refusal> {
    let beyond = |scope: &Scope| !caller.scopes().contains(*scope);
    if caller.is_test() && wanted.kind != KeyKind::Test {
        return Err(ApiError::forbidden_scope("a test key can create only test keys; use a live key").into());
    }
    if let Some(end) = caller.expires_at()
        && wanted.expires_at.is_none_or(|at| at > end)
    {
        return Err(ApiError::forbidden_scope(
            "an expiring key can create only keys that expire no later than it does",
        )
        .into());
    }
    // The widget's keys have no scope, and spend credits on verdicts all the same.
    let widget = (wanted.kind == KeyKind::Pub).then_some(Scope::Verify);
    if let Some(scope) = wanted.granted().iter().chain(widget).find(beyond) {
        return Err(ApiError::forbidden_scope(format!(
            "{} cannot grant the scope `{}` without having it",
            caller.noun(),
            scope.as_str()
        ))
        .into());
    }
    Ok(())
}

/// The new key's own limit: no higher than that of the key that makes it, as which a higher one is taken. Only the operator
/// gives more than the instance's value, and what a key was given beyond that is not handed on unasked.
fn no_faster_than(app: &App, caller: &Caller, wanted: Option<i64>) -> Option<i64> {
    let most = i64::from(auth::own_limit(app, caller).per_minute);
    match wanted {
        Some(wanted) => Some(wanted.min(most)),
        None => (most < i64::from(app.config.key_per_minute)).then_some(most),
    }
}

/// Revoke an API key
///
/// Revocation is immediate and permanent. The key stays in the list, with its revocation time. A test key can revoke only
/// test keys.
#[utoipa::path(
    delete,
    path = "/v1/api-keys/{id}",
    tag = "Account",
    params(KeyPath),
    security(("bearer" = ["write:keys"])),
    responses((status = 200, description = "The key is revoked.", body = DeletedKey))
)]
pub(crate) async fn delete_api_key(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<KeyId>,
) -> Result<Json<DeletedKey>, Refusal> {
    let now = app.now();
    if caller.is_test() {
        let key = keys::by_id(&mut app.store.read().await?, caller.org(), id).await?;
        if key.kind != KeyKind::Test {
            return Err(ApiError::forbidden_scope("a test key can revoke only test keys; use a live key").into());
        }
    }
    let revoked = app.store.write(|tx| {
        async {
            keys::revoke(tx, caller.org(), id, now).await?;
            events::add(tx, caller.org(), now, Some(caller.actor()), &[What::Account(AccountEvent::KeyRevoked)]).await
        }
        .scope_boxed()
    });
    match revoked.await {
        Ok(()) => {}
        // Revoked before: it is what was wanted. The look says whether there is such a key at all.
        Err(StoreError::NotFound) => drop(keys::by_id(&mut app.store.read().await?, caller.org(), id).await?),
        Err(error) => return Err(error.into()),
    }
    app.keyring.forget();
    Ok(Json(DeletedKey { id, deleted: true }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_kept_once_however_it_is_spelt() {
        let texts = ["https://b.example", "https://a.example/", "https://A.example:443", "http://a.example"];
        let kept = origins(texts.map(str::to_owned).to_vec()).unwrap();
        assert_eq!(kept, ["https://b.example", "https://a.example", "http://a.example"]);
        let refused = origins(vec!["https://a.example".into(), "a.example".into()]).unwrap_err();
        assert!(refused.message().starts_with("allowed_origins[1]: "), "{}", refused.message());
    }
}
