//! The operations as their handlers describe them.

use axum::Json;
use probity_server::api::api_keys::view::{ApiKey, CreateKey, DeletedKey, NewKey};
use probity_server::api::check_key::view::CheckedKey;
use probity_server::api::organization::view::Organization;
use probity_server::openapi::parameters::{CheckKeyParams, KeyPath, PageParams, VerifyParams};
use probity_server::openapi::verdict::VerdictSchema;
use probity_server::page::List;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// What the router collects.
pub(super) fn api() -> OpenApi {
    let router: OpenApiRouter = OpenApiRouter::new()
        .routes(routes!(verify_email))
        .routes(routes!(check_key))
        .routes(routes!(get_organization))
        .routes(routes!(list_api_keys, create_api_key))
        .routes(routes!(delete_api_key));
    router.into_openapi()
}

/// Verify one address
///
/// Says whether mail to the address would be delivered. Costs one credit, unless the reason is `unverified` or
/// `failed_exchange`: what could not be found out is free. This is the raw verdict; settings of the organization do not
/// change it.
#[utoipa::path(
    get,
    path = "/v1/verify",
    tag = "Verification",
    params(VerifyParams),
    security(("bearer" = ["verify"])),
    responses((status = 200, description = "The verdict.", body = VerdictSchema))
)]
async fn verify_email() {}

/// Look at a key
///
/// What the key of this call is good for, or another key of the same organization that the query names. Suspended, paused
/// and banned organizations are answered too.
#[utoipa::path(
    get,
    path = "/v1/check-key",
    tag = "Account",
    params(CheckKeyParams),
    responses((status = 200, description = "What the key is good for.", body = CheckedKey))
)]
async fn check_key() {}

/// Look at the organization
///
/// The plan, the credits and the state of the organization that the key belongs to.
#[utoipa::path(
    get,
    path = "/v1/organization",
    tag = "Account",
    security(("bearer" = ["read:account"])),
    responses((status = 200, description = "The organization.", body = Organization))
)]
async fn get_organization() {}

/// List the keys
///
/// All keys of the organization, newest first, revoked ones included. Secrets are never shown again.
#[utoipa::path(
    get,
    path = "/v1/api-keys",
    tag = "Account",
    params(PageParams),
    security(("bearer" = ["write:keys"])),
    responses((status = 200, description = "One page of keys.", body = List<ApiKey>))
)]
async fn list_api_keys() {}

/// Make a key
///
/// The answer shows the secret, this once. A key cannot be given more than the key that makes it has.
#[utoipa::path(
    post,
    path = "/v1/api-keys",
    tag = "Account",
    request_body(content = CreateKey, description = "The key to make."),
    security(("bearer" = ["write:keys"])),
    responses((status = 201, description = "The key with its secret.", body = NewKey))
)]
async fn create_api_key(Json(_): Json<CreateKey>) {}

/// Revoke a key
///
/// It stops working at once and for good. It stays in the list, with the time at which it was revoked.
#[utoipa::path(
    delete,
    path = "/v1/api-keys/{id}",
    tag = "Account",
    params(KeyPath),
    security(("bearer" = ["write:keys"])),
    responses((status = 200, description = "The key is revoked.", body = DeletedKey))
)]
async fn delete_api_key() {}
