//! Schedules of automatic runs: they follow the settings of a connection and the time zone of its organization.

use probity_account::connections::{AccountZone, ConnectionSettings, RunCause};
use probity_contract::error::ApiError;
use probity_contract::published::connections::{NewContactPromise, ScheduleShown};
use probity_mail::time::{DAY_MS, Millis};
use probity_store::accounts::settings;
use probity_store::connections::connection::StoredConnection;
use probity_store::connections::{hooks, schedule};
use probity_store::{OrgNo, StoreError, Tx};

use super::{ConnectionPlace, visible};
use crate::app::App;
use crate::callers::caller::Caller;

/// Time over which delays are measured, in milliseconds.
const MEASURED_MS: i64 = 7 * DAY_MS;
const MEASURED_MAX: i64 = 1_000;

/// Returns when a connection's automatic runs start.
pub async fn get_schedule(app: &App, caller: &Caller, place: &ConnectionPlace) -> Result<ScheduleShown, ApiError> {
    let mut conn = app.store.read().await?;
    let (file, of) = visible(&mut conn, app, caller, place).await?;
    let zone = settings::read(&mut conn, of.org).await?.time_zone;
    let found = schedule::of_connection(&mut conn, of.org, of.id).await?;
    let since = app.now() - MEASURED_MS;
    let delays = schedule::delays(&mut conn, (of.org, of.id), since, MEASURED_MAX).await?;
    let every_ms = file.contacts.as_ref().map_or(DAY_MS, |contacts| contacts.poll);
    Ok(ScheduleShown {
        time_zone: AccountZone::stored(zone.as_deref()).name().to_owned(),
        runs: found.into_iter().map(Into::into).collect(),
        instafloss: NewContactPromise::new(every_ms, delays, super::hooks::state(&mut conn, app, file, &of).await?),
    })
}

fn is_on(settings: &ConnectionSettings, cause: RunCause) -> bool {
    match cause {
        RunCause::Manual => false,
        RunCause::Autofloss => settings.autofloss,
        RunCause::Instafloss => settings.instafloss,
        RunCause::DecayProtection => settings.decay_protection,
    }
}

/// Switches the schedules of a locked connection on and off.
pub(super) async fn follow_settings(tx: &mut Tx, of: &StoredConnection, now: Millis) -> Result<(), StoreError> {
    let zone = settings::read(tx, of.org).await?.time_zone;
    let zone = AccountZone::stored(zone.as_deref());
    for cause in RunCause::ALL {
        let place = (of.org, of.id, cause);
        if !is_on(&of.settings, cause) {
            schedule::remove(tx, place).await?;
            continue;
        }
        let polls = cause == RunCause::Instafloss;
        let first = if polls { now } else { zone.next_night(of.id, cause, now) };
        schedule::add(tx, place, first, now).await?;
    }
    hooks::want(tx, (of.org, of.id), of.settings.instafloss && !of.test, now).await
}

/// Moves the nights of an organization's connections to another time zone.
pub(crate) async fn follow_zone(tx: &mut Tx, org: OrgNo, zone: Option<&str>, now: Millis) -> Result<(), StoreError> {
    let zone = AccountZone::stored(zone);
    for of in schedule::of_org(tx, org).await? {
        if of.cause != RunCause::Instafloss {
            let next = zone.next_night(of.connection, of.cause, now);
            schedule::reschedule(tx, (org, of.connection, of.cause), next, now).await?;
        }
    }
    Ok(())
}
