//! Call as a platform receives it. Only the parts that a platform decodes are decoded.

use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::reply::EspReply;

/// Call to a platform.
#[derive(Clone, Debug, Default)]
pub(crate) struct EspCall {
    pub method: String,
    /// Path as sent, percent-encoded.
    pub path: String,
    /// Query as sent, percent-encoded, without the question mark.
    pub query: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl EspCall {
    /// Returns the first header with a name, ignoring case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Returns the decoded path segments below a root.
    pub(crate) fn segments(&self, root: &str) -> Option<Vec<String>> {
        let rest = self.path.strip_prefix(root)?;
        let rest = if rest.is_empty() { "/" } else { rest };
        Some(rest.strip_prefix('/')?.split('/').map(decoded).collect())
    }

    /// Returns all query parameters, decoded.
    pub(crate) fn params(&self) -> Vec<(String, String)> {
        pairs(&self.query)
    }

    /// Returns the first value of a parameter.
    pub(crate) fn param(&self, name: &str) -> Option<String> {
        self.params().into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Returns a parameter as a number, or the default if it is missing.
    pub(crate) fn number(&self, name: &str, default: usize) -> Option<usize> {
        self.param(name).map_or(Some(default), |text| text.parse().ok())
    }

    /// Returns the body as JSON, if the call declares JSON.
    pub(crate) fn json(&self) -> Option<Value> {
        let kind = self.header("Content-Type").unwrap_or_default();
        let is_json = kind.starts_with("application/json") || kind.starts_with("application/vnd.api+json");
        if is_json { serde_json::from_slice(&self.body).ok() } else { None }
    }

    /// Returns the body as JSON, or else the given reply.
    pub(crate) fn body_json(&self, otherwise: impl FnOnce() -> EspReply) -> Result<Value, EspReply> {
        self.json().ok_or_else(|| otherwise().blaming("the body is not JSON, or the Content-Type does not say so"))
    }

    /// Returns the fields of a form, or the members of a JSON object that are texts, numbers or arrays of them.
    pub(crate) fn fields(&self) -> Vec<(String, String)> {
        if let Some(Value::Object(members)) = self.json() {
            return members.into_iter().flat_map(|(name, value)| texts(&name, &value)).collect();
        }
        let is_form =
            self.header("Content-Type").is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
        if is_form { pairs(&String::from_utf8_lossy(&self.body)) } else { Vec::new() }
    }

    /// Returns the token of `Authorization: Bearer`.
    pub(crate) fn bearer(&self) -> Option<&str> {
        self.header("Authorization")?.strip_prefix("Bearer ")
    }

    /// Returns user and password of HTTP Basic.
    pub(crate) fn basic(&self) -> Option<(String, String)> {
        use base64::Engine as _;
        let encoded = self.header("Authorization")?.strip_prefix("Basic ")?;
        let bytes = base64::prelude::BASE64_STANDARD.decode(encoded).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        text.split_once(':').map(|(user, password)| (user.to_owned(), password.to_owned()))
    }
}

fn texts(name: &str, value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Array(values) => values.iter().flat_map(|value| texts(name, value)).collect(),
        Value::String(text) => vec![(name.to_owned(), text.clone())],
        Value::Null | Value::Object(_) => Vec::new(),
        other => vec![(name.to_owned(), other.to_string())],
    }
}

fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let decode = |text: &str| decoded(&text.replace('+', " "));
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        })
        .collect()
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}
