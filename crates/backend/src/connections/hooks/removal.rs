//! Removes registrations at the platform, and looks whether they stand.

use probity_account::id::ConnId;
use probity_connectors::{ConnectorFile, ErrorClass, HookEndpoint, HookRegistration, Response, look, removal};
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
    let (endpoint, registration) = named(url, kept);
    // A file that has no webhooks any more cannot remove one.
    let Ok(request) = removal(file, credentials, (&endpoint, &registration), now) else { return true };
    platforms.send(budget, &request).await.is_ok_and(|response| says_removed(file, &response))
}

fn named(url: &str, kept: &KeptRegistration) -> (HookEndpoint, HookRegistration) {
    let endpoint = HookEndpoint { url: url.to_owned(), secret: kept.secret.clone(), list: kept.list.clone() };
    (endpoint, HookRegistration { id: kept.id.clone(), secret: kept.secret.clone() })
}

/// What a platform shows of a generation's registrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegistrationsShown {
    All,
    /// One of them is removed.
    Removed,
    Unclear,
}

/// Looks whether somebody has removed one of a generation's registrations at the platform.
pub(super) async fn shown(
    platforms: &Platforms,
    access: &ConnectionAccess<'_>,
    connection: ConnId,
    generation: &HookGeneration,
    now: Millis,
) -> RegistrationsShown {
    let ConnectionAccess { file, credentials, budget, .. } = access;
    let url = generation.url(connection);
    for kept in &generation.registrations {
        let (endpoint, registration) = named(&url, kept);
        let Some(Ok(request)) = look(file, credentials, (&endpoint, &registration), now) else {
            return RegistrationsShown::Unclear;
        };
        // An error says nothing about the registration.
        let Ok(response) = platforms.send(budget, &request).await else { return RegistrationsShown::Unclear };
        let text = String::from_utf8_lossy(&response.body);
        if text.contains(&generation.path) {
            continue;
        }
        // A web page, or a response without content, is of something before the platform.
        let is_foreign =
            text.trim_start().starts_with('<') || response.status < 300 && matches!(text.trim(), "" | "{}");
        let is_removed = !is_foreign && says_removed(file, &response);
        return if is_removed { RegistrationsShown::Removed } else { RegistrationsShown::Unclear };
    }
    RegistrationsShown::All
}

fn says_removed(file: &ConnectorFile, response: &Response) -> bool {
    matches!(response.status, 404 | 410) || matches!(file.assess(response).0, None | Some(ErrorClass::Gone))
}
