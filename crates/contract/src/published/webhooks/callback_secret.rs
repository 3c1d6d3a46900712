//! Response type of `/v1/webhooks/callback-secret`.

use serde::Serialize;
use utoipa::ToSchema;

use crate::timestamp::Timestamp;

/// Secret that signs job callbacks.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CallbackSecret {
    /// The secret: `whsec_` and its bytes in base64.
    #[schema(examples("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))]
    pub secret: String,
    /// Time until which the previous secret also signs callbacks; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_until: Option<Timestamp>,
}
