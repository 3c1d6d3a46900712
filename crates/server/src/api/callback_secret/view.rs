//! What `/v1/webhooks/callback-secret` shows.

use serde::Serialize;
use utoipa::ToSchema;

use crate::api::timestamp::Timestamp;

/// What the callbacks of batches are signed with.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CallbackSecret {
    /// The secret: `whsec_` and the base64 of its bytes.
    #[schema(examples("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))]
    pub secret: String,
    /// Until when callbacks are signed with the secret before this one too; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_until: Option<Timestamp>,
}
