//! Secret that signs an organization's callbacks.

use probity_backend::webhooks::callback_secret::{OVERLAP_MS, of};
use probity_backend::webhooks::sign::Secret;
use probity_contract::error::ApiError;
use probity_contract::published::webhooks::callback_secret::CallbackSecret;
use probity_store::activity::events::{AccountChange, AccountEventKind};
use probity_store::work;

use crate::app::App;
use crate::callers::caller::Caller;
use crate::callers::once::Once;

/// Returns an organization's secret; the first call creates it.
pub async fn get_callback_secret(app: &App, caller: &Caller) -> Result<CallbackSecret, ApiError> {
    let known = of(&app.store, &app.secrets, caller.org()).await.map_err(ApiError::server_error)?;
    let previous_until = known.previous_at(app.now()).map(|(_, until)| (*until).into());
    Ok(CallbackSecret { secret: known.secret.text(), previous_until })
}

/// Replaces an organization's secret. The previous secret also signs until the overlap ends.
pub async fn rotate_callback_secret(app: &App, caller: &Caller, once: &Once) -> Result<CallbackSecret, ApiError> {
    let (fresh, now) = (Secret::fresh(), app.now());
    let rotated = app.store.write(work!(|tx| {
        let sealed = app.secrets.seal_callback_secret(caller.org(), fresh.bytes());
        let rotated =
            probity_store::webhooks::callback_secret::rotate(tx, caller.org(), &sealed, now, now + OVERLAP_MS).await?;
        let event = AccountChange::Account(AccountEventKind::CallbackSecretRotated, None);
        caller.note(tx, now, &[event]).await?;
        let previous_until = rotated.previous.map(|(_, until)| until.into());
        let shown = CallbackSecret { secret: fresh.text(), previous_until };
        once.keep(tx, &shown).await?;
        Ok(shown)
    }));
    Ok(rotated.await?)
}
