//! Mails links for resetting a forgotten password.
//!
//! The response and the work are the same for every address: the request is stored, and the address is looked up when the mail is
//! sent ([`probity_access::mail::forgotten`]). Requests are limited by address and by network.

use probity_access::mail::forgotten::LIFE_MS;
use probity_access::people::attempts::{self, AttemptSubject};
use probity_contract::error::ApiError;
use probity_contract::published::accounts::people::{AskForLink, AskedForLink, SignInOptions};
use probity_mail::address::trimmed;
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::people::forgotten::{self, ForgottenPassword};
use probity_store::accounts::{sso, users};

use crate::accounts::people::Visitor;
use crate::accounts::people::sign_in::who;
use crate::app::App;

/// Returns the ways to sign in that the page offers.
pub async fn get_sign_in_options(app: &App) -> Result<SignInOptions, ApiError> {
    let sso = app.config.hooks_url.is_some() && sso::any(&mut app.store.read().await?).await?;
    let https_url = app.config.public_url.clone().filter(|url| url.starts_with("https://"));
    Ok(SignInOptions { sends_mail: app.sends_mail, sso, https_url })
}

/// Mails a link for resetting the password, if the address is a member's.
pub async fn ask_for_link(app: &App, visitor: &Visitor, given: AskForLink) -> Result<AskedForLink, ApiError> {
    if !app.sends_mail {
        return Err(ApiError::conflict("this server sends no email; ask its operator for a link"));
    }
    if users::email_key(trimmed(&given.email)).is_none() {
        return Err(ApiError::invalid("email", "must be an email address"));
    }
    let (who, asked_at) = (who(app, &given.email), app.now());
    attempts::begin(app.attempts(), AttemptSubject::Forgotten(&who), visitor.network).await?;
    let asked = ForgottenPassword { who, language: given.language, asked_at };
    app.store.write(|tx| forgotten::ask(tx, &asked).scope_boxed()).await?;
    Ok(AskedForLink { asked: true, works_minutes: LIFE_MS / 60_000 })
}
