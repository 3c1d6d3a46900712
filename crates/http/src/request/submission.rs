//! Submissions over HTTP: content types, and errors for unsupported ones. `probity_lists::submission` parses the body.

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use probity_contract::error::{ApiError, Code};
use probity_lists::submission::SubmissionFormat;
use probity_service::callers::incoming::IncomingBody;

use crate::error::Refusal;
use crate::request::body::{BodyChunks, pieces};

impl IncomingBody for BodyChunks {
    async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        Self::next(self).await.map_err(|Refusal(error)| error)
    }
}

/// Returns a function that starts reading the request's body, with a maximum size in bytes.
pub(crate) fn opener(request: Request) -> impl FnOnce(usize) -> Result<BodyChunks, ApiError> {
    move |bytes_max| pieces(request, bytes_max).map_err(|Refusal(error)| error)
}

/// Returns the format that the request's headers name, with the request.
///
/// # Errors
/// Fails with 415 for an unknown, missing or repeated content type. An empty body needs no content type and gets 400 for its
/// missing addresses.
pub(crate) async fn format_of(request: Request) -> Result<(SubmissionFormat, Request), Refusal> {
    match named(request.headers()) {
        Some(format) => Ok((format, request)),
        None => Err(unnamed(request).await),
    }
}

fn named(headers: &HeaderMap) -> Option<SubmissionFormat> {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let only = values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok());
    only.and_then(SubmissionFormat::named)
}

/// Returns the error for a request without a known format. If the length is not declared, only reading shows whether the body
/// is empty; the first byte suffices.
async fn unnamed(request: Request) -> Refusal {
    let first = match pieces(request, 0) {
        Ok(mut pieces) => pieces.next().await,
        Err(error) => Err(error),
    };
    match first {
        Ok(None) => ApiError::invalid("emails", "is required").into(),
        Err(error) if error.code() != Code::PayloadTooLarge => error,
        Ok(Some(_)) | Err(_) => ApiError::unsupported_media_type(
            "the body must be `application/json`, `text/csv` in UTF-8 or `application/x-ndjson`",
        )
        .into(),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn one_content_type_that_is_known_is_taken() {
        let table: [(&[&str], Option<SubmissionFormat>); 5] = [
            (&["application/json"], Some(SubmissionFormat::Json)),
            (&["text/csv; charset=utf-8"], Some(SubmissionFormat::Csv)),
            (&["text/plain"], None),
            (&[], None),
            (&["application/json", "text/csv"], None),
        ];
        for (values, format) in table {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::CONTENT_TYPE, HeaderValue::from_str(value).unwrap());
            }
            assert_eq!(named(&headers), format, "{values:?}");
        }
    }

    #[tokio::test]
    async fn without_a_content_type_only_an_empty_body_is_judged_by_its_content() {
        let chunks = |chunks: &'static [&'static str]| {
            Body::from_stream(futures_util::stream::iter(chunks.iter().map(|chunk| Ok::<_, std::io::Error>(*chunk))))
        };
        let cases = [
            (Body::empty(), "emails: is required"),
            (chunks(&[]), "emails: is required"),
            (chunks(&["", ""]), "emails: is required"),
            (Body::from("{}"), "the body must be `application/json`"),
            (chunks(&["", "{}"]), "the body must be `application/json`"),
        ];
        for (body, message) in cases {
            let refused = format_of(Request::new(body)).await.unwrap_err();
            assert!(refused.message().starts_with(message), "{}: {message}", refused.message());
            let status = if message.starts_with("emails") { 400 } else { 415 };
            assert_eq!(refused.code().status(), status, "{message}");
        }
    }
}
