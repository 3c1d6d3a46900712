//! API keys of an organization. A secret is returned only by the act that creates it.

use probity_access::minting;
use probity_access::minting::KeyRequest;
use probity_account::api_key::KeyKind;
use probity_account::id::KeyId;
use probity_account::scope::Scope;
use probity_contract::asked_page::AskedPage;
use probity_contract::error::ApiError;
use probity_contract::page::{List, PageQuery};
use probity_contract::published::accounts::keys::{ApiKey, CreateKey, DeletedKey, NewKey};
use probity_contract::schema::ORIGINS_MAX;
use probity_mail::time::Millis;
use probity_store::accounts::keys;
use probity_store::activity::events::{AccountChange, AccountEventKind, EventSubject};
use probity_store::{StoreError, Tx, work};

use crate::app::App;
use crate::callers::admission::own_limit;
use crate::callers::caller::Caller;
use crate::callers::given::{above_zero, checked_name};
use crate::callers::once::Once;

pub use crate::accounts::check_key::check_key;

/// Name of the list in its cursors.
const LIST: &str = "/v1/api-keys";
/// Maximum keys of an organization that are neither revoked nor expired.
const KEYS_MAX: i64 = 1_000;

/// Lists an organization's keys, newest first, including revoked ones.
pub async fn list_keys(app: &App, caller: &Caller, query: PageQuery) -> Result<List<ApiKey>, ApiError> {
    let asked = AskedPage::of(&app.cursors, &query, caller.org_id().to_string(), LIST)?;
    let mut conn = app.store.read().await?;
    let rows = keys::page(&mut conn, caller.org(), asked.after, asked.at_most()).await?;
    Ok(asked.list(rows, |row| (row.created_at, row.id), ApiKey::from))
}

/// Creates a key and returns its secret, which is stored only if it is public.
pub async fn create_key(app: &App, caller: &Caller, once: &Once, asked: CreateKey) -> Result<NewKey, ApiError> {
    let now = app.now();
    let mut wanted = wanted(asked, now)?;
    no_more_than(caller, &wanted)?;
    wanted.rate_limit_per_minute = no_faster_than(app, caller, wanted.rate_limit_per_minute);
    let minted = minting::mint(&app.secrets, &app.config.brand, caller.org(), caller.user(), wanted, now);
    let shown = NewKey { key: minted.key.clone().into(), secret: minted.secret };
    let created = app.store.write(work!(|tx| {
        if let Err(full) = refuse_if_full(tx, caller, now).await? {
            return Ok(Err(full));
        }
        keys::insert(tx, &minted.key, &minted.hash).await?;
        let what = AccountChange::about(AccountEventKind::KeyCreated, EventSubject::Key(minted.key.id));
        caller.note(tx, now, &[what]).await?;
        once.keep(tx, &shown).await?;
        Ok::<_, StoreError>(Ok(()))
    }));
    created.await??;
    Ok(shown)
}

/// Locks the organization, and refuses another key if it has too many. The operator may always create one.
pub(super) async fn refuse_if_full(
    tx: &mut Tx,
    caller: &Caller,
    now: Millis,
) -> Result<Result<(), ApiError>, StoreError> {
    let has_room = keys::has_room(tx, caller.org(), now, KEYS_MAX).await?;
    if has_room || caller.is_staff() {
        return Ok(Ok(()));
    }
    let full = format!("an organization can have at most {KEYS_MAX} keys; revoke an unused one first");
    Ok(Err(ApiError::conflict(full)))
}

/// Revokes a key, immediately and permanently. Revoking it again changes nothing.
pub async fn revoke_key(app: &App, caller: &Caller, id: KeyId) -> Result<DeletedKey, ApiError> {
    let now = app.now();
    if caller.is_test() {
        let key = keys::by_id(&mut app.store.read().await?, caller.org(), id).await?;
        if key.kind != KeyKind::Test {
            return Err(ApiError::forbidden_scope(
                "only test keys can be revoked in test mode; switch to live mode or use a live key",
            ));
        }
    }
    let revoked = app.store.write(work!(|tx| {
        keys::revoke(tx, caller.org(), id, now).await?;
        caller.note(tx, now, &[AccountChange::about(AccountEventKind::KeyRevoked, EventSubject::Key(id))]).await
    }));
    match revoked.await {
        Ok(()) => {}
        // The key may be revoked already; an unknown key is an error.
        Err(StoreError::NotFound) => drop(keys::by_id(&mut app.store.read().await?, caller.org(), id).await?),
        Err(error) => return Err(error.into()),
    }
    app.keyring.forget();
    Ok(DeletedKey { id, deleted: true })
}

/// Validates the body of a request for a key.
fn wanted(asked: CreateKey, now: Millis) -> Result<KeyRequest, ApiError> {
    let kind = asked.kind;
    let expires_at = asked.expires_at.map(|at| at.0);
    if expires_at.is_some_and(|at| at <= now) {
        return Err(ApiError::invalid("expires_at", "must be in the future"));
    }
    let rate_limit_per_minute = above_zero("rate_limit_per_minute", asked.rate_limit_per_minute)?;
    let daily_cap = above_zero("daily_cap", asked.daily_cap)?;
    let scopes = match (kind, asked.scopes) {
        (KeyKind::Rk, Some(scopes)) if !scopes.is_empty() => Some(scopes),
        (KeyKind::Rk, _) => {
            return Err(ApiError::invalid("scopes", "must have at least 1 scope for a key of kind `rk`"));
        }
        (_, None) => None,
        (_, Some(_)) => return Err(ApiError::invalid("scopes", "is only for keys of kind `rk`")),
    };
    if kind == KeyKind::Pub && asked.allowed_origins.as_ref().is_none_or(Vec::is_empty) {
        return Err(ApiError::invalid("allowed_origins", "must have at least 1 origin for a key of kind `pub`"));
    }
    if asked.allowed_origins.is_some() && kind != KeyKind::Pub {
        return Err(ApiError::invalid("allowed_origins", "is only for keys of kind `pub`"));
    }
    if daily_cap.is_some() && kind != KeyKind::Pub {
        return Err(ApiError::invalid("daily_cap", "is only for keys of kind `pub`"));
    }
    Ok(KeyRequest {
        name: checked_name(&asked.name)?,
        kind,
        scopes,
        origins: origins(asked.allowed_origins.unwrap_or_default())?,
        expires_at,
        rate_limit_per_minute,
        daily_cap,
    })
}

/// Normalizes origins and removes duplicates.
fn origins(texts: Vec<String>) -> Result<Vec<String>, ApiError> {
    let read = |(index, text): (usize, String)| {
        let wrong = || {
            let field = format!("allowed_origins[{index}]");
            ApiError::invalid(&field, "must be an origin such as https://www.example.com, without a path")
        };
        minting::origin(&text).ok_or_else(wrong)
    };
    if texts.len() > ORIGINS_MAX {
        return Err(ApiError::invalid("allowed_origins", format!("may have at most {ORIGINS_MAX} origins")));
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

/// Refuses a key with more rights than its creator: test keys create test keys, and a chosen scope must be the creator's
/// own.
pub(super) fn no_more_than(caller: &Caller, wanted: &KeyRequest) -> Result<(), ApiError> {
    let beyond = |scope: &Scope| !caller.scopes().contains(*scope);
    if caller.is_test() && wanted.kind != KeyKind::Test {
        return Err(ApiError::forbidden_scope(
            "only test keys can be created in test mode; switch to live mode or use a live key",
        ));
    }
    if let Some(end) = caller.expires_at()
        && wanted.expires_at.is_none_or(|at| at > end)
    {
        return Err(ApiError::forbidden_scope(
            "an expiring key can create only keys that expire no later than it does",
        ));
    }
    // Widget keys have no scope, yet they spend credits on verdicts.
    let widget = (wanted.kind == KeyKind::Pub).then_some(Scope::Verify);
    if let Some(scope) = wanted.granted().iter().chain(widget).find(beyond) {
        return Err(ApiError::forbidden_scope(format!(
            "{} cannot grant the scope `{}` without having it",
            caller.noun(),
            scope.as_str()
        )));
    }
    Ok(())
}

/// Returns the rate limit of a new key: at most that of the creating key, to which a higher request is reduced. Only the
/// operator exceeds the installation's limit; such an extra limit is not inherited by default.
fn no_faster_than(app: &App, caller: &Caller, wanted: Option<i64>) -> Option<i64> {
    if caller.is_staff() {
        return wanted;
    }
    let most = i64::from(own_limit(app, caller).per_minute);
    match wanted {
        Some(wanted) => Some(wanted.min(most)),
        None => (most < i64::from(app.config.key_per_minute)).then_some(most),
    }
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
