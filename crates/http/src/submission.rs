//! Submissions over HTTP: which form the headers name, and what the client is told of one that cannot be read.
//!
//! The reading itself is `probity_lists::submission`'s.

use axum::extract::Request;
use axum::http::{HeaderMap, header};
use probity_lists::submission::Format;
use probity_service::error::{ApiError, Code};

use crate::body::pieces;
use crate::error::Refusal;

/// The format that the headers of a request name, with the request. 415 for any other, for none, and for two; but a body that
/// is empty needs no content type, so it is a 400 for the addresses that it lacks.
pub(crate) async fn format_of(request: Request) -> Result<(Format, Request), Refusal> {
    match named(request.headers()) {
        Some(format) => Ok((format, request)),
        None => Err(unnamed(request).await),
    }
}

fn named(headers: &HeaderMap) -> Option<Format> {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let only = values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok());
    only.and_then(Format::named)
}

/// Without a declared length only reading shows whether the body is empty; the first byte is enough.
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
        let table: [(&[&str], Option<Format>); 5] = [
            (&["application/json"], Some(Format::Json)),
            (&["text/csv; charset=utf-8"], Some(Format::Csv)),
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
