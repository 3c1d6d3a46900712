//! Reports the plan and credits of a key, even while its organization is restricted.

use probity_account::api_key::KeyKind;
use probity_contract::error::ApiError;
use probity_contract::published::accounts::check_key::{CheckKeyQuery, CheckedKey};
use probity_store::accounts::{keys, organization};
use probity_store::credits;

use crate::accounts::organization::plan_title;
use crate::app::App;
use crate::callers::caller::Caller;

/// Returns the plan and credits of the calling key, or of another key of the same organization.
pub async fn check_key(app: &App, caller: &Caller, query: CheckKeyQuery) -> Result<CheckedKey, ApiError> {
    let name = match query.key {
        None => own_name(caller)?,
        Some(text) => name_of(app, caller, &text).await?,
    };
    if is_public(caller) {
        let (organization, plan_type) = (String::new(), String::new());
        return Ok(CheckedKey { name, organization, plan_type, free_matches: 0, extra_credits: 0 });
    }
    let mut conn = app.store.read().await?;
    let org = organization::by_no(&mut conn, caller.org()).await?;
    let available = credits::available(&mut conn, caller.org()).await?;
    Ok(CheckedKey {
        name,
        organization: org.name.clone().unwrap_or_default(),
        plan_type: plan_title(app.config.plans.of(&org.plan), &org),
        free_matches: available.subscription,
        extra_credits: available.prepaid,
    })
}

/// Returns whether the caller uses a `pub` key, which is public because pages contain it.
fn is_public(caller: &Caller) -> bool {
    caller.key().is_some_and(|key| key.kind == KeyKind::Pub)
}

/// Returns the name of the calling key. Users call without one.
fn own_name(caller: &Caller) -> Result<String, ApiError> {
    let key = caller.key().ok_or_else(|| ApiError::invalid("api_key", "is required; send the key to look up"))?;
    Ok(key.name.clone())
}

/// Returns the name of a valid key of the caller's organization; any other key is not found.
async fn name_of(app: &App, caller: &Caller, text: &str) -> Result<String, ApiError> {
    let hash = app.secrets.api_key(text);
    let known = keys::by_hash(&mut app.store.read().await?, &hash).await?;
    let known = known.filter(|known| known.key.org == caller.org() && known.key.is_valid(app.now()));
    known.map(|known| known.key.name).ok_or_else(ApiError::not_found)
}
