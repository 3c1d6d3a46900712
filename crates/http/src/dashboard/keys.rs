//! `PATCH /app/keys/{id}` and `POST /app/keys/{id}/rotate`: another name for a key, and its successor.

use axum::Json;
use probity_account::id::KeyId;
use probity_contract::published::accounts::keys::ApiKey;
use probity_service::accounts::key_changes;
use probity_service::accounts::key_changes::{RenameKey, RotateKey, RotatedKey};

use crate::callers::caller::Call;
use crate::error::{Answer, Created, created};
use crate::request::body::JsonBody;
use crate::request::path::PathId;

/// Renames a key.
pub(crate) async fn patch_key(
    Call(app, caller): Call,
    PathId(id): PathId<KeyId>,
    JsonBody(wish): JsonBody<RenameKey>,
) -> Answer<ApiKey> {
    Ok(Json(key_changes::rename_key(&app, &caller, id, wish).await?))
}

/// Makes the successor of a key.
pub(crate) async fn rotate_key(
    Call(app, caller): Call,
    PathId(id): PathId<KeyId>,
    JsonBody(asked): JsonBody<RotateKey>,
) -> Created<RotatedKey> {
    Ok(created(key_changes::rotate_key(&app, &caller, id, asked).await?))
}
