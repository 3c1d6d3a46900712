//! `/v1/api-keys`.

use probity_account::id::KeyId;
use probity_contract::page::{List, PageQuery};
use probity_contract::parameters::KeyPath;
use probity_contract::published::accounts::keys::{ApiKey, CreateKey, DeletedKey, NewKey};
use probity_service::accounts::keys;

use crate::handler::{Answer, Asking, Call, Created, JsonBody, PathId, RunOnce, answer, created};

/// List API keys
///
/// Lists all keys of the organization, newest first, including revoked ones. Secrets are never shown again.
#[utoipa::path(
    get,
    path = "/v1/api-keys",
    tag = "Account",
    params(PageQuery),
    security(("bearer" = ["write:keys"])),
    responses((status = 200, description = "A page of keys.", body = List<ApiKey>))
)]
pub(crate) async fn list_api_keys(Call(app, caller): Call, Asking(query): Asking<PageQuery>) -> Answer<List<ApiKey>> {
    answer(keys::list_keys(&app, &caller, query).await)
}

/// Create an API key
///
/// Returns the secret, shown only here. A key cannot create a key with more permissions than its own. An organization can
/// have 1,000 keys that are neither revoked nor expired.
#[utoipa::path(
    post,
    path = "/v1/api-keys",
    tag = "Account",
    request_body(content = CreateKey, description = "The key to create."),
    security(("bearer" = ["write:keys"])),
    responses((status = 201, description = "The key, with its secret.", body = NewKey))
)]
pub(crate) async fn create_api_key(
    Call(app, caller): Call,
    RunOnce(once): RunOnce,
    JsonBody(asked): JsonBody<CreateKey>,
) -> Created<NewKey> {
    created(keys::create_key(&app, &caller, &once.created(), asked).await)
}

/// Revoke an API key
///
/// Revocation is immediate and permanent. The key stays in the list, with its revocation time. A test key can revoke only
/// test keys.
#[utoipa::path(
    delete,
    path = "/v1/api-keys/{id}",
    tag = "Account",
    params(KeyPath),
    security(("bearer" = ["write:keys"])),
    responses((status = 200, description = "The key is revoked.", body = DeletedKey))
)]
pub(crate) async fn delete_api_key(Call(app, caller): Call, PathId(id): PathId<KeyId>) -> Answer<DeletedKey> {
    answer(keys::revoke_key(&app, &caller, id).await)
}
