//! Platforms that can be connected.

use probity_contract::page::{List, OnePageQuery};
use probity_contract::parameters::IntegrationPath;
use probity_contract::published::connections::{Integration, IntegrationDetail};
use probity_service::connections::integrations;

use crate::handler::{Answer, Asking, Call, PathId, answer};

/// List integrations
///
/// Lists all platforms that can be connected, with the numbers of connections, the credentials to enter and the actions
/// that each has. The list has one page.
#[utoipa::path(
    get,
    path = "/v1/integrations",
    tag = "Integrations",
    params(OnePageQuery),
    security(("bearer" = ["read:integrations"])),
    responses((status = 200, description = "All platforms.", body = List<Integration>))
)]
pub(crate) async fn list_integrations(
    Call(app, caller): Call,
    Asking(OnePageQuery): Asking<OnePageQuery>,
) -> Answer<List<Integration>> {
    answer(integrations::list_integrations(&app, &caller).await)
}

/// Get an integration
///
/// Returns a platform with its connections. Keys see the connections of their mode: those created with live keys, or with
/// test keys.
#[utoipa::path(
    get,
    path = "/v1/integrations/{type}",
    tag = "Integrations",
    params(IntegrationPath),
    security(("bearer" = ["read:integrations"])),
    responses((status = 200, description = "The platform and its connections.", body = IntegrationDetail))
)]
pub(crate) async fn get_integration(
    Call(app, caller): Call,
    PathId(provider): PathId<String>,
) -> Answer<IntegrationDetail> {
    answer(integrations::get_integration(&app, &caller, &provider).await)
}
