//! Removes registrations at the platform.

use probity_account::id::ConnId;
use probity_connectors::{ConnectorFile, ErrorClass, HookEndpoint, HookRegistration, Response, removal};
use probity_mail::time::Millis;

use super::keys::{HookGeneration, HookKeys, KeptRegistration};
use crate::connections::Platforms;
use crate::connections::access::ConnectionAccess;

/// Removes all registrations of a webhook, as far as the platform does so now. The keys keep the others.
pub async fn remove_registrations(
    platforms: &Platforms,
    access: &ConnectionAccess<'_>,
    connection: ConnId,
    keys: &mut HookKeys,
    now: Millis,
) {
    for generation in &mut keys.generations {
        remove_generation(platforms, access, connection, generation, now).await;
    }
}

/// Removes the registrations of a generation, and keeps those that the platform did not remove.
pub(super) async fn remove_generation(
    platforms: &Platforms,
    access: &ConnectionAccess<'_>,
    connection: ConnId,
    generation: &mut HookGeneration,
    now: Millis,
) {
    generation.is_spoiled = true;
    let url = generation.url(connection);
    let mut left = Vec::new();
    for kept in std::mem::take(&mut generation.registrations) {
        if !is_removed(platforms, access, (&url, &kept), now).await {
            left.push(kept);
        }
    }
    generation.registrations = left;
}

async fn is_removed(
    platforms: &Platforms,
    access: &ConnectionAccess<'_>,
    (url, kept): (&str, &KeptRegistration),
    now: Millis,
) -> bool {
    let ConnectionAccess { file, credentials, budget, .. } = access;
    let endpoint = HookEndpoint { url: url.to_owned(), secret: kept.secret.clone(), list: kept.list.clone() };
    let registration = HookRegistration { id: kept.id.clone(), secret: kept.secret.clone() };
    // A file that has no webhooks any more cannot remove one.
    let Ok(request) = removal(file, credentials, (&endpoint, &registration), now) else { return true };
    platforms.send(budget, &request).await.is_ok_and(|response| says_removed(file, &response))
}

fn says_removed(file: &ConnectorFile, response: &Response) -> bool {
    matches!(response.status, 404 | 410) || matches!(file.assess(response).0, None | Some(ErrorClass::Gone))
}
