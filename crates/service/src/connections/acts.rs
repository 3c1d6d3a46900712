//! Creates, reads, changes, tests and deletes connections.

use probity_account::id::ConnId;
use probity_account::name;
use probity_backend::connections::access::SealedCredentials;
use probity_backend::connections::runs::parts::{drop_in_parts, forget_in_parts};
use probity_connectors::{ConnectorFile, ListRecord};
use probity_contract::error::ApiError;
use probity_contract::page::List;
use probity_contract::published::connections::{
    ConnectionPatch, ConnectionShown, ConnectionStatus, ConnectionTest, CreateConnection, DisconnectedConnection,
    PlatformList,
};
use probity_mail::time::Millis;
use probity_store::activity::events::{AccountChange, ConnectionEventKind};
use probity_store::activity::letters;
use probity_store::connections::connection::{self, AccountTag, Disconnection, StoredConnection};
use probity_store::connections::hooks as stored_hooks;
use probity_store::connections::runs::{self, ConnectionRun};
use probity_store::{ScopedFutureExt as _, StoreError, Tx, work};

use super::change::ConnectionSettingsChange;
use super::live::{self, AcceptedCredentials};
use super::runs::cancel_going;
use super::{CONNECTIONS_MAX, ConnectionPlace, platform, require, unlisted, visible};
use super::{hooks, schedule};
use crate::app::App;
use crate::callers::caller::Caller;
use crate::callers::given::{changed_settings, checked_name};
use crate::callers::once::Once;

/// Creates a connection, live or test like its caller, once the platform accepts the credentials.
pub async fn create_connection(
    app: &App,
    caller: &Caller,
    provider: &str,
    once: &Once,
    asked: CreateConnection,
) -> Result<ConnectionShown, ApiError> {
    let file = platform(app, provider)?;
    if file.contacts.is_none() {
        return Err(unlisted(file));
    }
    let given = asked.name.as_deref().map(checked_name).transpose()?;
    let id: ConnId = probity_access::secrets::random::id(app.now());
    let AcceptedCredentials { stored, account } = live::accept(app, caller, file, id, &asked.credentials).await?;
    let name = given.unwrap_or_else(|| usual_name(file, account.as_deref()));
    let new = fresh(app, caller, file, (id, name, stored.tag));
    let shown = ConnectionShown::from(new.clone());
    let made = app.store.write(work!(|tx| {
        if !connection::insert(tx, &new, &stored.sealed, CONNECTIONS_MAX).await? {
            return Ok(false);
        }
        note(tx, caller, &new, ConnectionEventKind::Connected, new.created_at).await?;
        once.keep(tx, &shown).await?;
        Ok::<_, StoreError>(true)
    }));
    if made.await? { Ok(shown) } else { Err(full()) }
}

fn fresh(
    app: &App,
    caller: &Caller,
    file: &ConnectorFile,
    (id, name, account_tag): (ConnId, String, AccountTag),
) -> StoredConnection {
    StoredConnection {
        org: caller.org(),
        id,
        test: caller.is_test(),
        provider: file.provider.slug.clone(),
        name,
        disconnected: None,
        account_tag,
        settings: ConnectionSettingsChange::initial(file),
        blacklist_count: 0,
        whitelist_count: 0,
        watermark: None,
        trusted_at: None,
        created_at: app.now(),
        last_synced_at: None,
    }
}

/// Returns a connection.
pub async fn get_connection(app: &App, caller: &Caller, place: &ConnectionPlace) -> Result<ConnectionShown, ApiError> {
    let (_, found) = visible(&mut app.store.read().await?, app, caller, place).await?;
    Ok(found.into())
}

/// Changes the fields of the patch. New credentials are tried first; if the platform refuses them, nothing changes.
pub async fn change_connection(
    app: &App,
    caller: &Caller,
    place: &ConnectionPlace,
    patch: ConnectionPatch,
) -> Result<ConnectionShown, ApiError> {
    let (file, before) = visible(&mut app.store.read().await?, app, caller, place).await?;
    let name = patch.name.as_deref().map(checked_name).transpose()?;
    let entered = patch.credentials.clone();
    let settings = ConnectionSettingsChange::of(patch, file, &before.settings)?;
    require(app, caller, &settings.newly_needed(&before.settings)).await?;
    let credentials = match &entered {
        Some(entered) => Some(live::accept(app, caller, file, before.id, entered).await?.stored),
        None => None,
    };
    // The new credentials may be of another account, which has no webhook with this ID.
    let is_other = credentials.as_ref().is_some_and(|new| new.tag != before.account_tag);
    let removal = if is_other { hooks::removal(app, &before).await? } else { None };
    let change = ConnectionChange { name, settings, credentials };
    let now = app.now();
    let going = if is_other { going(app, &before).await? } else { None };
    let changed = app.store.write_bulk(work!(|tx| {
        if is_other {
            // Nothing that was read can be acted upon in the other account.
            cancel_going(tx, &before, "the connection got credentials of another account", now).await?;
        }
        change.make(tx, caller, &before, now).await
    }));
    let changed = changed.await?.ok_or_else(full)?;
    ended(app, going, now).await?;
    if let Some(removal) = removal {
        removal.carry_out(app).await;
    }
    Ok(changed.into())
}

/// Validated change, with credentials that the platform accepts.
struct ConnectionChange {
    name: Option<String>,
    settings: ConnectionSettingsChange,
    credentials: Option<SealedCredentials>,
}

impl ConnectionChange {
    /// Applies the change and records it. Returns `None` if the organization has too many connections.
    async fn make(
        &self,
        tx: &mut Tx,
        caller: &Caller,
        of: &StoredConnection,
        now: Millis,
    ) -> Result<Option<StoredConnection>, StoreError> {
        let before = connection::lock(tx, of.org, of.id, of.test).await?;
        let mut after = before.clone();
        self.settings.apply(&mut after.settings);
        after.name.clone_from(self.name.as_ref().unwrap_or(&before.name));
        if after.settings.lists != before.settings.lists || self.credentials.is_some() {
            // Contacts of a list that is chosen later, or of another account, may be older.
            after.watermark = None;
        }
        if after.settings.ask_for_more_than(&before.settings) || self.credentials.is_some() {
            // The next run waits, because nobody has seen its effects.
            after.trusted_at = None;
        }
        if let Some(new) = &self.credentials {
            // First: if it is refused, nothing is written.
            if !connection::reconnect(tx, &before, &new.sealed, &new.tag, CONNECTIONS_MAX).await? {
                return Ok(None);
            }
            letters::remove_repaired(tx, of.org).await?;
            note(tx, caller, &after, ConnectionEventKind::Reconnected, now).await?;
        }
        if after != before {
            connection::write(tx, &after).await?;
            schedule::follow_settings(tx, &after, now).await?;
        }
        if after.settings.lists != before.settings.lists {
            stored_hooks::renew(tx, (after.org, after.id), now).await?;
        }
        if after.name != before.name {
            note(tx, caller, &after, ConnectionEventKind::Renamed, now).await?;
        }
        let differences = changed_settings("connection", &before.settings, &after.settings, Some(after.id));
        caller.note(tx, now, &differences).await?;
        connection::lock(tx, after.org, after.id, after.test).await.map(Some)
    }
}

/// Deletes a connection and erases its credentials. Deleting it again changes nothing.
pub async fn delete_connection(
    app: &App,
    caller: &Caller,
    place: &ConnectionPlace,
) -> Result<DisconnectedConnection, ApiError> {
    let (_, before) = visible(&mut app.store.read().await?, app, caller, place).await?;
    // While the credentials are stored.
    let removal = hooks::removal(app, &before).await?;
    let now = app.now();
    let going = going(app, &before).await?;
    let deleted = app.store.write_bulk(work!(|tx| {
        cancel_going(tx, &before, "the connection was deleted", now).await?;
        let locked = connection::lock(tx, before.org, before.id, before.test).await?;
        if let Some((at, Disconnection::Deleted)) = locked.disconnected {
            return Ok(at);
        }
        connection::delete(tx, locked.org, locked.id, now).await?;
        letters::remove_repaired(tx, locked.org).await?;
        if locked.disconnected.is_none() {
            note(tx, caller, &locked, ConnectionEventKind::Disconnected, now).await?;
        }
        Ok::<_, StoreError>(now)
    }));
    let at = deleted.await?;
    ended(app, going, now).await?;
    if let Some(removal) = removal {
        removal.carry_out(app).await;
    }
    let status = ConnectionStatus::Disconnected;
    Ok(DisconnectedConnection { id: before.id, provider: before.provider, status, disconnected_at: at.into() })
}

/// Returns the run in progress that is about to be canceled with its connection.
async fn going(app: &App, of: &StoredConnection) -> Result<Option<ConnectionRun>, ApiError> {
    let going = runs::going(&mut app.store.read().await?, of.org, of.id).await?;
    if let Some(run) = &going {
        forget_in_parts(&app.store, run).await?;
    }
    Ok(going)
}

/// Does what is left to do after a run was canceled with its connection.
async fn ended(app: &App, run: Option<ConnectionRun>, now: Millis) -> Result<(), ApiError> {
    let Some(run) = run else { return Ok(()) };
    app.callbacks.wake();
    Ok(drop_in_parts(&app.store, &run, now).await?)
}

/// Tries a connection's credentials at the platform.
pub async fn test_connection(
    app: &App,
    caller: &Caller,
    place: &ConnectionPlace,
    once: &Once,
) -> Result<ConnectionTest, ApiError> {
    let (_, found) = visible(&mut app.store.read().await?, app, caller, place).await?;
    let reason = match live::opened_to_try(app, &found).await? {
        Ok(access) => {
            live::count(app, caller).await?;
            live::try_stored(app, &found, access).await?
        }
        Err(why) => Some(why),
    };
    let shown = ConnectionTest {
        id: found.id,
        provider: found.provider,
        credential_valid: reason.is_none(),
        tested_at: app.now().into(),
        reason,
    };
    app.store.write(|tx| once.keep(tx, &shown).scope_boxed()).await?;
    Ok(shown)
}

/// Lists the contact lists that a connection can choose from; empty if its platform's contacts are read together.
pub async fn list_platform_lists(
    app: &App,
    caller: &Caller,
    place: &ConnectionPlace,
) -> Result<List<PlatformList>, ApiError> {
    let (file, found) = visible(&mut app.store.read().await?, app, caller, place).await?;
    if !file.can_choose_lists() {
        return Ok(List::whole(Vec::new()));
    }
    // Opening the account may require a call, too.
    live::count(app, caller).await?;
    let access = live::opened(app, &found).await?.map_err(|why| ApiError::conflict(format!("{why}; reconnect it")))?;
    let lists = live::lists(app, &found, access).await?;
    let shown = |list: ListRecord| PlatformList { id: list.id, name: list.name, count: list.count };
    Ok(List::whole(lists.into_iter().map(shown).collect()))
}

async fn note(
    tx: &mut Tx,
    caller: &Caller,
    of: &StoredConnection,
    change: ConnectionEventKind,
    at: Millis,
) -> Result<(), StoreError> {
    let what = AccountChange::ConnectionChange { connection: of.id, provider: of.provider.clone(), change, run: None };
    caller.note(tx, at, &[what]).await
}

fn full() -> ApiError {
    ApiError::conflict(format!("an organization can have at most {CONNECTIONS_MAX} connections; delete one first"))
}

/// Returns the name of the account, or that of the platform if the account's is an address or not valid.
fn usual_name(file: &ConnectorFile, account: Option<&str>) -> String {
    let account = account.filter(|account| !account.contains('@')).and_then(|account| name::name(account).ok());
    account.unwrap_or(&file.provider.name).to_owned()
}
