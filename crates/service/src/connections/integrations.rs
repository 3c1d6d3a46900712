//! Platforms that can be connected, each with the caller's connections.

use probity_account::connections::{ConnectionAction, ContactAction};
use probity_connectors::{ActionKind, ConnectorFile, CredentialField, CredentialKind};
use probity_contract::error::ApiError;
use probity_contract::page::List;
use probity_contract::published::connections::{
    CredentialForm, Integration, IntegrationDetail, PlatformAction, PlatformShown, PrimaryConnection,
};
use probity_store::connections::connection::{self, StoredConnection};

use super::{CONNECTIONS_MAX, platform};
use crate::app::App;
use crate::callers::caller::Caller;

/// Maximum number of disconnected connections that are listed.
const FORMER_SHOWN_MAX: i64 = 100;
/// Maximum number of disconnected connections that are counted, across all platforms.
const FORMER_COUNTED_MAX: i64 = 1_000;

/// Lists all platforms by name, with the caller's number of connections to each.
pub async fn list_integrations(app: &App, caller: &Caller) -> Result<List<Integration>, ApiError> {
    let mut conn = app.store.read().await?;
    let active = connection::active(&mut conn, caller.org(), caller.is_test(), CONNECTIONS_MAX).await?;
    let former = connection::former_providers(&mut conn, caller.org(), caller.is_test(), FORMER_COUNTED_MAX).await?;
    let shown = |file: &ConnectorFile| {
        let slug = &file.provider.slug;
        let own: Vec<&StoredConnection> = active.iter().filter(|one| one.provider == *slug).collect();
        Integration {
            provider: slug.clone(),
            connected: !own.is_empty(),
            connection_count: number(own.len()),
            // Connections are sorted newest first, so the oldest is the primary one.
            primary: own.last().map(|one| PrimaryConnection { id: one.id, name: one.name.clone() }),
            disconnected_count: number(former.iter().filter(|provider| *provider == slug).count()),
            platform: describe(file),
        }
    };
    Ok(List::whole(app.platforms.catalog().iter().map(shown).collect()))
}

/// Returns a platform and the caller's connections to it.
pub async fn get_integration(app: &App, caller: &Caller, provider: &str) -> Result<IntegrationDetail, ApiError> {
    let file = platform(app, provider)?;
    let (org, test, slug) = (caller.org(), caller.is_test(), file.provider.slug.as_str());
    let mut conn = app.store.read().await?;
    let active = connection::active_of(&mut conn, org, test, slug, CONNECTIONS_MAX).await?;
    let former = connection::former_of(&mut conn, org, test, slug, FORMER_SHOWN_MAX).await?;
    Ok(IntegrationDetail {
        provider: slug.to_owned(),
        connected: !active.is_empty(),
        connection_count: number(active.len()),
        connections: active.into_iter().map(Into::into).collect(),
        disconnected_connections: former.into_iter().map(Into::into).collect(),
        platform: describe(file),
    })
}

/// Maps an action of the contract to an action of the platform.
pub(super) fn kind_of(action: ConnectionAction) -> Option<ActionKind> {
    ContactAction::of(action).map(probity_backend::connections::kind_of)
}

/// Returns the actions that a platform supports.
pub(super) fn possible_actions(file: &ConnectorFile) -> impl Iterator<Item = ConnectionAction> {
    let has = |action: &ConnectionAction| kind_of(*action).is_none_or(|kind| file.actions.rule(kind).is_some());
    ConnectionAction::ALL.into_iter().filter(has)
}

fn describe(file: &ConnectorFile) -> PlatformShown {
    let action = |action| PlatformAction {
        action,
        note: kind_of(action).and_then(|kind| file.actions.rule(kind)?.note.clone()),
    };
    PlatformShown {
        name: file.provider.name.clone(),
        credentials: file.credentials.iter().map(form).collect(),
        actions: possible_actions(file).map(action).collect(),
        contacts: file.contacts.is_some(),
        lists: file.can_choose_lists(),
        fix_typos: file.actions.rule(ActionKind::Fix).is_some(),
        instafloss: file.hook_of_polls().is_some(),
        beta: file.is_beta(),
        docs: file.provider.docs.clone(),
        checked: file.provider.checked.clone(),
    }
}

fn form(field: &CredentialField) -> CredentialForm {
    CredentialForm {
        name: field.name.clone(),
        label: field.label.clone(),
        kind: match field.kind {
            CredentialKind::Url => "url",
            CredentialKind::Secret => "secret",
            CredentialKind::Text => "text",
            CredentialKind::Choice => "choice",
        },
        help: field.help.clone(),
        choices: field.choices.clone(),
        optional: field.optional,
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
