//! Reads query parameters one by one.
//!
//! - A raw `+` is a plus, not a space: `a+b@example.com` arrives as typed. Everything else is percent-decoded as UTF-8.
//! - A raw `+` at the start or end of a value with an encoded at sign is a space: only form encoders write `+ann%40example.com`.
//! - If a parameter is repeated, the first value counts. Unknown parameters are ignored, even malformed ones.
//! - Errors are a 400 that names the parameter.
//! - Values may contain any character, including U+0000. Parse them before storing them.

use std::borrow::Cow;
use std::fmt;

use http::Uri;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::error::ApiError;

/// Query parameters of an operation. `IntoParams` of the same type describes them.
pub trait FromQuery: Sized {
    /// Parses the parameters.
    ///
    /// # Errors
    /// Fails with a 400 that names the invalid parameter.
    fn from_query(query: &Query) -> Result<Self, ApiError>;
}

impl FromQuery for Query {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(query.clone())
    }
}

/// Defers the error of a query. An operation that must return 404 first can then report it after it has found the resource.
impl<T: FromQuery> FromQuery for Result<T, ApiError> {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(T::from_query(query))
    }
}

#[derive(Clone, Default)]
pub struct Query(Uri);

/// Never shows the query, which may contain an address or a key.
impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Query(..)")
    }
}

impl Query {
    /// Takes the query of a URI.
    pub fn of(uri: &Uri) -> Self {
        Self(uri.clone())
    }

    /// The query with these parameters, for callers that send no request. Fails if it is too long for one.
    pub fn of_pairs(pairs: &[(&str, &str)]) -> Result<Self, ApiError> {
        let pair = |(name, value): &(&str, &str)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC));
        let text = pairs.iter().map(pair).collect::<Vec<_>>().join("&");
        let uri = format!("/?{text}").parse().map_err(|_| ApiError::invalid_request("the parameters are too long"))?;
        Ok(Self(uri))
    }

    /// Returns the parameter as text; `None` if it is absent.
    pub fn text(&self, name: &str) -> Result<Option<Cow<'_, str>>, ApiError> {
        let pairs =
            self.0.query().unwrap_or_default().split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let raw = pairs.into_iter().find(|(key, _)| percent_decode_str(key).eq(name.bytes()));
        let Some((_, value)) = raw else { return Ok(None) };
        let text = match form_blanks(value) {
            None => decoded(name, value)?,
            Some(spaced) => decoded(name, &spaced)?.into_owned().into(),
        };
        Ok(Some(text))
    }

    /// Returns the parameter as text; `None` if it is absent or empty.
    pub fn filled(&self, name: &str) -> Result<Option<String>, ApiError> {
        Ok(self.text(name)?.filter(|text| !text.is_empty()).map(Cow::into_owned))
    }

    /// Returns the parameter as a finite decimal number: `20`, `2.5`, `1e3`.
    pub fn number(&self, name: &str) -> Result<Option<f64>, ApiError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        // Rust would also parse `inf` and `nan`.
        let digits = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        let number = text.parse().ok().filter(|number: &f64| digits && number.is_finite());
        number.map(Some).ok_or_else(|| ApiError::invalid(name, "must be a number"))
    }

    /// Returns the parameter as a whole number. A number beyond 64 bits is capped.
    pub fn whole(&self, name: &str) -> Result<Option<i64>, ApiError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(&text)),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(ApiError::invalid(name, "must be a whole number"));
        }
        let outermost = if negative { i64::MIN } else { i64::MAX };
        Ok(Some(text.parse().unwrap_or(outermost)))
    }

    /// Returns the parameter as a whole number within the bounds (minimum, default, maximum).
    pub fn whole_within(&self, name: &str, (least, usual, most): (i64, i64, i64)) -> Result<i64, ApiError> {
        let refused = || ApiError::invalid(name, format_args!("must be a whole number from {least} to {most}"));
        let wish = self.whole(name).map_err(|_| refused())?.unwrap_or(usual);
        if (least..=most).contains(&wish) { Ok(wish) } else { Err(refused()) }
    }

    /// Returns the parameter as one of these names; `None` if it is absent or empty.
    pub fn one_of(&self, name: &str, names: &[&str]) -> Result<Option<String>, ApiError> {
        let given = self.filled(name)?;
        if given.as_deref().is_none_or(|text| names.contains(&text)) {
            return Ok(given);
        }
        Err(ApiError::invalid(name, format_args!("must be one of {}", names.join(", "))))
    }

    /// Returns the parameter as a flag: `true`, `1`, `false` or `0`; false if it is absent.
    pub fn flag(&self, name: &str) -> Result<bool, ApiError> {
        match self.text(name)?.as_deref() {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(_) => Err(ApiError::invalid(name, "must be true, false, 1 or 0")),
        }
    }
}

/// Returns the value with `%20` for each `+` at its start and end, if a form encoder wrote it; otherwise `None`.
fn form_blanks(value: &str) -> Option<String> {
    let core = value.trim_matches('+');
    let before = value.len() - value.trim_start_matches('+').len();
    let after = value.len() - before - core.len();
    (core.len() < value.len() && core.contains("%40"))
        .then(|| format!("{}{core}{}", "%20".repeat(before), "%20".repeat(after)))
}

fn decoded<'a>(name: &str, value: &'a str) -> Result<Cow<'a, str>, ApiError> {
    // RFC 3986 §2.1. If a bare `%` stood for itself, two different texts could mean the same value.
    let mut escapes = value.split('%').skip(1);
    let hex = |text: &str| text.len() >= 2 && text.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    if !escapes.all(hex) {
        return Err(ApiError::invalid(name, "has a `%` that is not followed by two hexadecimal digits"));
    }
    percent_decode_str(value).decode_utf8().map_err(|_| ApiError::invalid(name, "must be percent-encoded UTF-8"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn query(text: &str) -> Query {
        Query(format!("/v1/verify?{text}").parse().unwrap())
    }

    fn text(query_text: &str) -> Result<Option<String>, String> {
        let query = query(query_text);
        query.text("email").map(|text| text.map(Cow::into_owned)).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn texts_are_decoded_and_a_plus_stays_a_plus() {
        let cases = [
            ("email=a+b@example.com", Some("a+b@example.com")),
            ("email=a%2Bb%40example.com", Some("a+b@example.com")),
            ("email=a%20b", Some("a b")),
            ("email=+ann%40example.com", Some(" ann@example.com")),
            ("email=ann%40example.com++", Some("ann@example.com  ")),
            ("email=+a+b%40example.com+", Some(" a+b@example.com ")),
            ("email=a+b%40example.com", Some("a+b@example.com")),
            ("email=%2Bann%40example.com", Some("+ann@example.com")),
            ("email=+ann@example.com", Some("+ann@example.com")),
            ("email=+", Some("+")),
            ("email=%C3%A9", Some("é")),
            ("%65mail=x", Some("x")),
            ("email=first&email=second", Some("first")),
            ("email", Some("")),
            ("email=", Some("")),
            ("email=a=b", Some("a=b")),
            ("e=%ff&x=%zz&email=a", Some("a")),
            ("emails=a&mail=b&Email=c", None),
            ("", None),
            ("email=a%00b", Some("a\0b")),
        ];
        for (given, expected) in cases {
            assert_eq!(text(given), Ok(expected.map(str::to_owned)), "{given}");
        }
        assert_eq!(Query::default().text("email").unwrap(), None);
    }

    #[test]
    fn malformed_texts_name_the_parameter() {
        for given in ["email=%ff", "email=%C3", "email=%zz", "email=100%", "email=%4", "email=%+1"] {
            assert!(text(given).unwrap_err().starts_with("email: "), "{given}");
        }
    }

    #[test]
    fn numbers_are_decimal_texts() {
        for (given, expected) in [("20", 20.0), ("2.5", 2.5), ("-1", -1.0), ("1e1", 10.0), ("0", 0.0), ("+3", 3.0)] {
            let number = query(&format!("timeout={given}")).number("timeout").unwrap().unwrap();
            assert!((number - expected).abs() < 1e-9, "{given}");
        }
        for given in ["", "x", "nan", "inf", "-infinity", "1e999", "0x10", "1_000", "1,5", "%201", "2s"] {
            let error = query(&format!("timeout={given}")).number("timeout").unwrap_err();
            assert_eq!(error.message(), "timeout: must be a number", "{given}");
        }
        assert!(query("a=1").number("timeout").unwrap().is_none());
    }

    #[test]
    fn whole_numbers_stop_at_the_edge() {
        let cases = [
            ("7", 7),
            ("-7", -7),
            ("+7", 7),
            ("007", 7),
            ("99999999999999999999", i64::MAX),
            ("-99999999999999999999", i64::MIN),
        ];
        for (given, expected) in cases {
            assert_eq!(query(&format!("days={given}")).whole("days").unwrap(), Some(expected), "{given}");
        }
        for given in ["", "-", "1.0", "1e3", "+-1", "x", "%D9%A3"] {
            assert!(query(&format!("days={given}")).whole("days").is_err(), "{given}");
        }
    }

    #[test]
    fn flags_are_yes_or_no() {
        for (given, expected) in [("explain=true", true), ("explain=1", true), ("explain=false", false), ("x=1", false)]
        {
            assert_eq!(query(given).flag("explain").unwrap(), expected, "{given}");
        }
        let refused = query("explain=yes").flag("explain").unwrap_err();
        assert_eq!(refused.message(), "explain: must be true, false, 1 or 0");
    }

    #[test]
    fn names_are_from_a_list() {
        let status = |text: &str| query(text).one_of("status", &["queued", "completed"]);
        for (given, expected) in [("status=queued", Some("queued")), ("status=", None), ("x=1", None)] {
            assert_eq!(status(given).unwrap().as_deref(), expected, "{given}");
        }
        for given in ["status=Queued", "status=queue", "status=queued%20", "status=queued,completed"] {
            assert_eq!(status(given).unwrap_err().message(), "status: must be one of queued, completed", "{given}");
        }
    }

    #[test]
    fn nothing_of_a_query_is_shown() {
        assert_eq!(format!("{:?}", query("email=a@b.c")), "Query(..)");
    }

    proptest! {
        #[test]
        fn every_text_survives_its_encoding(given in any::<String>()) {
            let encoded = utf8_percent_encode(&given, NON_ALPHANUMERIC).to_string();
            prop_assert_eq!(text(&format!("a=b&email={encoded}&email=x")), Ok(Some(given)));
        }
    }
}
