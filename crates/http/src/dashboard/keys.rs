//! `PATCH /app/keys/{id}` and `POST /app/keys/{id}/rotate`: another name for a key, and its successor.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use probity_account::id::KeyId;
use probity_contract::published::accounts::keys::ApiKey;
use probity_service::accounts::key_changes;
use probity_service::accounts::key_changes::{RenameKey, RotateKey, RotatedKey};
use probity_service::app::App;

use crate::callers::auth::CalledBy;
use crate::error::Refusal;
use crate::request::body::JsonBody;
use crate::request::path::PathId;

/// Renames a key.
pub(crate) async fn patch_key(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    PathId(id): PathId<KeyId>,
    JsonBody(wish): JsonBody<RenameKey>,
) -> Result<Json<ApiKey>, Refusal> {
    Ok(Json(key_changes::rename_key(&app, &caller, id, wish).await?))
}

/// Makes the successor of a key.
pub(crate) async fn rotate_key(
    State(app): State<Arc<App>>,
    CalledBy(caller): CalledBy,
    PathId(id): PathId<KeyId>,
    JsonBody(asked): JsonBody<RotateKey>,
) -> Result<(StatusCode, Json<RotatedKey>), Refusal> {
    Ok((StatusCode::CREATED, Json(key_changes::rotate_key(&app, &caller, id, asked).await?)))
}
