//! Webhooks of connections: calls of platforms, and the state that customers see.
//!
//! The URL and the platform's proof identify the caller. An unknown connection, a wrong path and a wrong proof get the same
//! response. Nothing of a call's body is stored.

use std::sync::Arc;
use std::time::Duration;

use probity_account::id::ConnId;
use probity_backend::connections::access::ConnectionAccess;
use probity_backend::connections::hooks::{
    HASTE, HookCall, HookCallMeaning, HookKeys, KnownHook, remove_registrations,
};
use probity_connectors::ConnectorFile;
use probity_contract::error::ApiError;
use probity_contract::published::connections::{EventHookShown, EventHookState};
use probity_store::connections::connection::StoredConnection;
use probity_store::connections::hooks;
use probity_store::{Conn, ScopedFutureExt as _};
use probity_telemetry::metrics::PlatformEvent;

use super::live;
use crate::app::App;

/// Maximum time for finding the access token, and then for the platform to remove the webhook.
const REMOVAL_MAX: Duration = Duration::from_secs(15);

/// Handles a platform's call. Returns the response header that the platform requires, if any.
pub async fn take_event(
    app: &App,
    connection: ConnId,
    call: &HookCall<'_>,
) -> Result<Option<(String, String)>, ApiError> {
    let now = app.now();
    let known = known(app, connection).await?;
    let heard = |outcome| app.metrics.platforms().heard(Some(&known.provider), outcome);
    let file = app.platforms.catalog().get(&known.provider);
    let rule = file.and_then(ConnectorFile::hook_of_polls);
    let Some(meaning) = rule.and_then(|rule| known.keys.judge(rule, call, now)) else {
        heard(PlatformEvent::Refused);
        return Err(ApiError::not_found());
    };
    match meaning {
        HookCallMeaning::Handshake(name, value) => {
            heard(PlatformEvent::Other);
            return Ok(Some((name, value)));
        }
        HookCallMeaning::Other => heard(PlatformEvent::Other),
        HookCallMeaning::News if !app.hooks.reserve(connection, now) => heard(PlatformEvent::Covered),
        HookCallMeaning::News => {
            let place = (known.org, connection);
            let told = app.store.write(|tx| hooks::hasten(tx, place, HASTE, now).scope_boxed()).await;
            let due = told.inspect_err(|_| app.hooks.uncover(connection))?;
            app.hooks.cover(known.org, connection, (now, due));
            heard(PlatformEvent::Accepted);
        }
    }
    Ok(None)
}

/// Responds to a platform that checks whether the URL exists.
pub async fn find_hook(app: &App, connection: ConnId, secret: &str) -> Result<(), ApiError> {
    let known = known(app, connection).await?;
    if known.keys.has_path(secret) {
        return Ok(());
    }
    app.metrics.platforms().heard(Some(&known.provider), PlatformEvent::Refused);
    Err(ApiError::not_found())
}

async fn known(app: &App, connection: ConnId) -> Result<Arc<KnownHook>, ApiError> {
    let known = app.hooks.find(&app.store, &app.secrets, connection, app.now()).await?;
    known.ok_or_else(|| {
        app.metrics.platforms().heard(None, PlatformEvent::Refused);
        ApiError::not_found()
    })
}

/// Removal of a webhook whose connection is deleted or gets other credentials.
///
/// The database is changed between the two steps: until then, the connection's runs act, and the removal may take a while. A
/// deletion erases keys and credentials, and a change replaces the credentials, so both are read first.
pub(super) struct HookRemoval<'a> {
    connection: ConnId,
    keys: HookKeys,
    /// `None` if the account is not accessible.
    access: Option<ConnectionAccess<'a>>,
}

/// Prepares the removal of a connection's webhook; `None` if there is none.
pub(super) async fn removal<'a>(app: &'a App, of: &StoredConnection) -> Result<Option<HookRemoval<'a>>, ApiError> {
    let found = hooks::of_connection(&mut app.store.read().await?, of.org, of.id).await?;
    let Some(sealed) = found.and_then(|hook| hook.keys) else { return Ok(None) };
    let mut keys = HookKeys::open(&app.secrets, of.id, Some(&sealed));
    // IDs of another account may belong to someone else in this one.
    keys.keep_account(&of.account_tag);
    if of.disconnected.is_some() || keys.is_unregistered() {
        return Ok(None);
    }
    let opened = tokio::time::timeout(REMOVAL_MAX, live::opened(app, of)).await;
    let access = opened.ok().and_then(Result::ok).and_then(Result::ok);
    Ok(Some(HookRemoval { connection: of.id, keys, access }))
}

impl HookRemoval<'_> {
    /// Removes the webhook, as far as the platform allows now.
    pub(super) async fn carry_out(self, app: &App) {
        let Self { connection, mut keys, access } = self;
        app.hooks.forget(connection);
        let removal = async {
            if let Some(access) = &access {
                remove_registrations(&app.platforms, access, connection, &mut keys, app.now()).await;
            }
        };
        if tokio::time::timeout(REMOVAL_MAX, removal).await.is_err() || !keys.is_unregistered() {
            tracing::warn!(%connection, "the platform did not remove a webhook; its events are rejected");
        }
    }
}

/// Returns the state of a connection's webhook.
pub(super) async fn state(
    conn: &mut Conn,
    app: &App,
    file: &ConnectorFile,
    of: &StoredConnection,
) -> Result<EventHookShown, ApiError> {
    if file.hook_of_polls().is_none() {
        return Ok(EventHookShown::of(EventHookState::Unsupported));
    }
    // A test connection changes nothing at the platform.
    if of.test {
        return Ok(EventHookShown::of(EventHookState::Off));
    }
    if app.config.hooks_url.is_none() {
        return Ok(EventHookShown::of(EventHookState::NoPublicUrl));
    }
    let found = hooks::of_connection(conn, of.org, of.id).await?;
    Ok(found
        .filter(|hook| hook.is_wanted)
        .map_or_else(|| EventHookShown::of(EventHookState::Off), |hook| EventHookShown::stored(hook, app.now())))
}
