//! `GET /v1/check-key`: what a key is good for. Also for organizations that are stopped.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_account::api_key::KeyKind;
use probity_service::app::App;
use probity_service::error::ApiError;
use probity_service::published::check_key::CheckedKey;
use probity_service::query::Query;
use probity_store::{credits, keys, organization};

use crate::api::organization::title;
use crate::asking::Asking;
use crate::auth::Caller;
use crate::error::Refusal;
use crate::openapi::parameters::CheckKeyParams;

/// Get a key's plan and credits
///
/// Returns the plan and credits of the calling key, or of another key of the same organization named in the query. It
/// also works while the organization is suspended, paused or banned. A `pub` key, which anybody can read in a page, gets
/// only its own name: the organization and plan are empty, and the credits are 0.
#[utoipa::path(
    get,
    path = "/v1/check-key",
    tag = "Account",
    params(CheckKeyParams),
    responses((status = 200, description = "Plan and credits of the key.", body = CheckedKey))
)]
pub(crate) async fn check_key(
    State(app): State<Arc<App>>,
    caller: Caller,
    Asking(query): Asking,
) -> Result<Json<CheckedKey>, Refusal> {
    let name = match named(&query)? {
        None => own(&caller)?,
        Some(text) => name_of(&app, &caller, &text).await?,
    };
    if is_public(&caller) {
        let (organization, plan_type) = (String::new(), String::new());
        return Ok(Json(CheckedKey { name, organization, plan_type, free_matches: 0, extra_credits: 0 }));
    }
    let mut conn = app.store.read().await?;
    let org = organization::by_no(&mut conn, caller.org()).await?;
    let available = credits::available(&mut conn, caller.org()).await?;
    Ok(Json(CheckedKey {
        name,
        organization: org.name.clone().unwrap_or_default(),
        plan_type: title(app.config.plans.of(&org.plan), &org),
        free_matches: available.subscription,
        extra_credits: available.prepaid,
    }))
}

/// Whether whoever asks may be anybody: the key stands in pages.
fn is_public(caller: &Caller) -> bool {
    caller.key().is_some_and(|key| key.kind == KeyKind::Pub)
}

/// The name of the key that asks. A person asks with none.
fn own(caller: &Caller) -> Result<String, Refusal> {
    let key = caller.key().ok_or_else(|| ApiError::invalid("api_key", "is required: the key to look up"))?;
    Ok(key.name.clone())
}

/// The key that the query asks about.
fn named(query: &Query) -> Result<Option<Cow<'_, str>>, Refusal> {
    let public = query.text("public_key")?.filter(|text| !text.is_empty());
    match public {
        Some(text) => Ok(Some(text)),
        None => Ok(query.text("api_key")?.filter(|text| !text.is_empty())),
    }
}

/// The name of a key of the caller's organization that opens something; any other is not found.
async fn name_of(app: &App, caller: &Caller, text: &str) -> Result<String, Refusal> {
    let hash = app.secrets.api_key(text);
    let known = keys::by_hash(&mut app.store.read().await?, &hash).await?;
    let known = known.filter(|known| known.key.org == caller.org() && known.key.is_valid(app.now()));
    Ok(known.map(|known| known.key.name).ok_or_else(ApiError::not_found)?)
}
