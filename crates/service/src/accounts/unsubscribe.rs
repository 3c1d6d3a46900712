//! Unsubscribes members from reports by the link in a report. The link is sufficient proof, without sign-in.

use probity_account::language::PageLanguage;
use probity_account::reports::ReportKind;
use probity_contract::error::ApiError;
use probity_store::accounts::users::profile::{self, UserProfile};
use probity_store::activity::events::{self, AccountChange, EventActor};
use probity_store::{ScopedFutureExt as _, StoreError};

use crate::app::App;

/// Reports that a link turns off, and the language of their reader.
#[derive(Clone, Copy, Debug)]
pub struct UnsubscribeLink {
    pub kind: ReportKind,
    pub language: PageLanguage,
}

/// Returns the reports of a link without turning them off: mail scanners open links.
pub async fn get_unsubscribe_link(app: &App, token: &str) -> Result<UnsubscribeLink, ApiError> {
    let (org, user, kind) = app.secrets.open_unsubscribe_token(token).ok_or_else(ApiError::not_found)?;
    match profile::read(&mut app.store.read().await?, org, user).await {
        Err(StoreError::NotFound) => Ok(UnsubscribeLink { kind, language: PageLanguage::default() }),
        read => Ok(UnsubscribeLink { kind, language: read?.language.unwrap_or_default() }),
    }
}

/// Turns off reports of a kind for the member of a link. Repeating it changes nothing.
pub async fn redeem_unsubscribe_link(app: &App, token: &str) -> Result<UnsubscribeLink, ApiError> {
    let (org, user, kind) = app.secrets.open_unsubscribe_token(token).ok_or_else(ApiError::not_found)?;
    let now = app.now();
    let changed = app.store.write(|tx| {
        async move {
            profile::lock(tx, org, user).await?;
            let profile = profile::read(tx, org, user).await?;
            let language = profile.language.unwrap_or_default();
            if !profile.notifications.has(kind) {
                return Ok(language);
            }
            let notifications = profile.notifications.without(kind);
            profile::write(tx, org, user, &UserProfile { notifications, ..profile }).await?;
            let change = AccountChange::of_person("notifications");
            events::add(tx, org, now, Some(EventActor::User(user)), &[change]).await?;
            Ok(language)
        }
        .scope_boxed()
    });
    match changed.await {
        Ok(language) => Ok(UnsubscribeLink { kind, language }),
        // Members who have left get no reports.
        Err(StoreError::NotFound) => Ok(UnsubscribeLink { kind, language: PageLanguage::default() }),
        Err(error) => Err(error.into()),
    }
}
