//! Submissions over HTTP: which form the headers name, and what the client is told of one that cannot be read.
//!
//! The reading itself is `probity_submission`'s.

use axum::http::{HeaderMap, header};
use probity_submission::{Fault, Format};

use crate::error::{ApiError, Code};

/// The form that the headers of a request name. 415 for any other, for none, and for two.
pub(crate) fn format_of(headers: &HeaderMap) -> Result<Format, ApiError> {
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let only = values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok());
    only.and_then(Format::named).ok_or_else(|| {
        ApiError::unsupported_media_type(
            "the body must be `application/json`, `text/csv` in UTF-8 or `application/x-ndjson`",
        )
    })
}

/// 413 for too many addresses, 400 for all else.
impl From<Fault> for ApiError {
    fn from(fault: Fault) -> Self {
        let code = match fault {
            Fault::TooMany(_) => Code::PayloadTooLarge,
            _ => Code::InvalidRequest,
        };
        Self::new(code, fault.to_string())
    }
}

#[cfg(test)]
mod tests {
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
            let read = format_of(&headers).map_err(|error| assert_eq!(error.code().status(), 415));
            assert_eq!(read.ok(), format, "{values:?}");
        }
    }

    #[test]
    fn too_many_addresses_are_413_and_all_else_is_400() {
        for (fault, status) in [(Fault::TooMany(2), 413), (Fault::NoRows, 400), (Fault::Utf16, 400)] {
            assert_eq!(ApiError::from(fault).code().status(), status);
        }
    }
}
