//! Connections to a platform.

use probity_contract::page::{List, OnePageQuery};
use probity_contract::parameters::{ConnectionPath, IntegrationPath};
use probity_contract::published::connections::{
    ConnectionPatch, ConnectionShown, ConnectionTest, CreateConnection, DisconnectedConnection, PlatformList,
    ScheduleShown,
};
use probity_service::connections::{ConnectionPlace, acts, schedule};

use crate::handler::{Answer, Asking, Call, Created, JsonBody, NoBody, PathId, RunOnce, answer, answer_whole, created};

/// Create a connection
///
/// Tries the credentials at the platform, for at most 15 s, and creates the connection if it accepts them. Refused
/// credentials get 400. If the platform is busy or does not answer, the response is 503. A new connection changes nothing
/// at the platform: it has no `action`.
#[utoipa::path(
    post,
    path = "/v1/integrations/{type}/connections",
    tag = "Integrations",
    params(IntegrationPath),
    request_body(content = CreateConnection, description = "The connection to create."),
    security(("bearer" = ["write:integrations"])),
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 201, description = "The connection.", body = ConnectionShown))
)]
pub(crate) async fn create_connection(
    Call(app, caller): Call,
    PathId(provider): PathId<String>,
    RunOnce(once): RunOnce,
    JsonBody(asked): JsonBody<CreateConnection>,
) -> Created<ConnectionShown> {
    created(acts::create_connection(&app, &caller, &provider, &once.created(), asked).await)
}

/// Get a connection
///
/// Returns the connection with its settings. Credentials are never returned.
#[utoipa::path(
    get,
    path = "/v1/integrations/{type}/connections/{id}",
    tag = "Integrations",
    params(ConnectionPath),
    security(("bearer" = ["read:integrations"])),
    responses((status = 200, description = "The connection.", body = ConnectionShown))
)]
pub(crate) async fn get_connection(
    Call(app, caller): Call,
    PathId(place): PathId<ConnectionPlace>,
) -> Answer<ConnectionShown> {
    answer(acts::get_connection(&app, &caller, &place).await)
}

/// Update a connection
///
/// Omitted fields stay. Settings apply to the next run, which waits for confirmation if they ask for more than was
/// confirmed: another `action` or `field`, more `checks` or `lists`, or `fix_typos` switched on or off. New credentials are
/// tried first; they also reconnect a disconnected connection, whose next run then reads all contacts and waits for
/// confirmation. An `action` that the platform does not have gets 400. A setting that the plan does not include gets 403.
#[utoipa::path(
    patch,
    path = "/v1/integrations/{type}/connections/{id}",
    tag = "Integrations",
    params(ConnectionPath),
    request_body(content = ConnectionPatch, description = "Fields to change."),
    security(("bearer" = ["write:integrations"])),
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 200, description = "The updated connection.", body = ConnectionShown))
)]
pub(crate) async fn patch_connection(
    Call(app, caller): Call,
    PathId(place): PathId<ConnectionPlace>,
    JsonBody(patch): JsonBody<ConnectionPatch>,
) -> Answer<ConnectionShown> {
    answer_whole(async move { acts::change_connection(&app, &caller, &place, patch).await }).await
}

/// Delete a connection
///
/// Disconnects the connection and erases its credentials. Settings and rules are kept for 90 days: new credentials
/// reconnect it. The platform is not changed.
#[utoipa::path(
    delete,
    path = "/v1/integrations/{type}/connections/{id}",
    tag = "Integrations",
    params(ConnectionPath),
    security(("bearer" = ["write:integrations"])),
    responses((status = 200, description = "The connection is disconnected.", body = DisconnectedConnection))
)]
pub(crate) async fn delete_connection(
    Call(app, caller): Call,
    PathId(place): PathId<ConnectionPlace>,
) -> Answer<DisconnectedConnection> {
    answer_whole(async move { acts::delete_connection(&app, &caller, &place).await }).await
}

/// Test a connection
///
/// Tries the stored credentials at the platform. The response is 200 also if they fail, and 503 if the platform is busy or
/// does not answer. The test changes nothing.
#[utoipa::path(
    post,
    path = "/v1/integrations/{type}/connections/{id}/test",
    tag = "Integrations",
    params(ConnectionPath),
    security(("bearer" = ["write:integrations"])),
    responses((status = 200, description = "Outcome of the test.", body = ConnectionTest))
)]
pub(crate) async fn test_connection(
    Call(app, caller): Call,
    PathId(place): PathId<ConnectionPlace>,
    RunOnce(once): RunOnce,
    _: NoBody,
) -> Answer<ConnectionTest> {
    answer(acts::test_connection(&app, &caller, &place, &once).await)
}

/// Get a connection's schedule
///
/// When automatic runs start, why they wait, and how soon new contacts are verified.
#[utoipa::path(
    get,
    path = "/v1/integrations/{type}/connections/{id}/schedule",
    tag = "Integrations",
    params(ConnectionPath),
    security(("bearer" = ["read:integrations"])),
    responses((status = 200, description = "The schedule.", body = ScheduleShown))
)]
pub(crate) async fn get_connection_schedule(
    Call(app, caller): Call,
    PathId(place): PathId<ConnectionPlace>,
) -> Answer<ScheduleShown> {
    answer(schedule::get_schedule(&app, &caller, &place).await)
}

/// List a connection's lists
///
/// Asks the platform for the lists of contacts in the account; their IDs go into `lists` of the connection. Empty if the
/// platform has no lists. The response has one page.
#[utoipa::path(
    get,
    path = "/v1/integrations/{type}/connections/{id}/lists",
    tag = "Integrations",
    params(ConnectionPath, OnePageQuery),
    security(("bearer" = ["read:integrations"])),
    extensions(("x-errors" = json!(["conflict"]))),
    responses((status = 200, description = "All lists.", body = List<PlatformList>))
)]
pub(crate) async fn list_connection_lists(
    Call(app, caller): Call,
    PathId(place): PathId<ConnectionPlace>,
    Asking(OnePageQuery): Asking<OnePageQuery>,
) -> Answer<List<PlatformList>> {
    answer(acts::list_platform_lists(&app, &caller, &place).await)
}
