//! Events of Amazon SES, posted by Amazon SNS: signed, in an envelope, after confirming that the subscriber owns the URL.

use probity_backend::outcomes::sns::{NoCertificate, SnsBody, SnsKind, SnsTopic};
use probity_contract::error::ApiError;
use serde_json::Value;

use crate::app::App;

/// Maximum size of the response to a confirmation, in bytes.
const CONFIRMED_MAX: u64 = 64 << 10;

/// Returns the event in a notification of the topic; `None` if there is none. Confirms a subscription.
pub(super) async fn opened(app: &App, topic: Option<&str>, raw: &[u8]) -> Result<Value, ApiError> {
    let topic = topic.and_then(SnsTopic::parse).ok_or_else(ApiError::not_found)?;
    let body: SnsBody = serde_json::from_slice(raw).map_err(|_| ApiError::not_found())?;
    let url = body.certificate_url(&topic).ok_or_else(ApiError::not_found)?;
    let certificate = app.sns_certificates.at(url, &app.platforms).await.map_err(|why| match why {
        NoCertificate::Unreached => ApiError::unavailable("Amazon SNS does not answer"),
        NoCertificate::Unknown => ApiError::not_found(),
    })?;
    if !body.is_signed_by(&certificate) {
        return Err(ApiError::not_found());
    }
    match body.kind {
        SnsKind::Notification => Ok(serde_json::from_str(&body.message).unwrap_or_default()),
        SnsKind::SubscriptionConfirmation => {
            confirm(app, &topic, body.token.as_deref().unwrap_or_default()).await?;
            Ok(Value::Null)
        }
        SnsKind::UnsubscribeConfirmation => Ok(Value::Null),
    }
}

/// Confirms a subscription. SNS retries its request after an error.
async fn confirm(app: &App, topic: &SnsTopic<'_>, token: &str) -> Result<(), ApiError> {
    let answer = app.platforms.fetch(&topic.confirmation(token), CONFIRMED_MAX).await;
    let is_confirmed = answer.is_ok_and(|answer| answer.status == 200);
    if is_confirmed { Ok(()) } else { Err(ApiError::unavailable("Amazon SNS does not answer")) }
}
