//! Access to a platform: credentials, headers, limits, and the meanings of its errors.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de};

use crate::source::Source;
use crate::template::{JsonTemplate, Template};

/// Kind of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialKind {
    /// URL of an installation, checked against `hosts`.
    Url,
    /// Key or password; never part of a path, an error or a log.
    Secret,
    /// Name or number that is not secret.
    Text,
    /// One of `choices`.
    Choice,
}

/// Credential that the customer enters to connect.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialField {
    pub name: String,
    pub kind: CredentialKind,
    pub label: String,
    #[serde(default)]
    pub help: Option<String>,
    /// Allowed hosts of a URL, as in `*.example.com`; if empty, any host. The operator may allow more.
    #[serde(default)]
    pub hosts: Vec<String>,
    #[serde(default)]
    pub choices: Vec<String>,
    #[serde(default)]
    pub optional: bool,
    /// Whether the credential tells accounts apart, so that limits of an account hold for all keys with the same one. Of a
    /// URL, only the host counts.
    #[serde(default)]
    pub account: bool,
}

/// Authentication for which a header with placeholders does not suffice.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AuthRule {
    /// HTTP Basic (RFC 7617).
    Basic { user: Template, password: Template },
    /// Ghost token, derived from the key `id:secret` for each request.
    GhostJwt { key: Template },
}

/// Second API of a platform, at another URL or with other credentials.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherApi {
    pub base: Template,
    #[serde(default)]
    pub headers: BTreeMap<String, Template>,
    #[serde(default)]
    pub auth: Option<AuthRule>,
}

/// Common properties of all requests.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpRule {
    /// URL before every path.
    pub base: Template,
    #[serde(default)]
    pub headers: BTreeMap<String, Template>,
    #[serde(default)]
    pub auth: Option<AuthRule>,
    /// API of the requests with `other = true`.
    #[serde(default)]
    pub other: Option<OtherApi>,
    #[serde(default = "default_timeout", deserialize_with = "span")]
    pub timeout: i64,
    /// Maximum response size, in bytes.
    #[serde(default = "default_body_max", deserialize_with = "size")]
    pub body_max: u64,
    /// Places of the error message.
    #[serde(default)]
    pub message: Vec<Source>,
    /// Whether responses may be plain text, which the platform sends with the type of a web page. The place `""` is then the
    /// text.
    #[serde(default)]
    pub plain: bool,
}

fn default_timeout() -> i64 {
    30_000
}

fn default_body_max() -> u64 {
    8 << 20
}

/// Request. Exactly one method has a path.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestRule {
    pub get: Option<Template>,
    pub post: Option<Template>,
    pub put: Option<Template>,
    pub patch: Option<Template>,
    pub delete: Option<Template>,
    #[serde(default)]
    pub query: BTreeMap<String, Template>,
    #[serde(default)]
    pub headers: BTreeMap<String, Template>,
    pub json: Option<JsonTemplate>,
    pub form: Option<BTreeMap<String, Template>>,
    /// Whether the request is for the platform's other API.
    #[serde(default)]
    pub other: bool,
}

impl RequestRule {
    /// Calls `visit` with every template.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(&Template)) {
        let paths = [&self.get, &self.post, &self.put, &self.patch, &self.delete];
        paths.into_iter().flatten().for_each(&mut *visit);
        let values =
            self.query.values().chain(self.headers.values()).chain(self.form.iter().flat_map(BTreeMap::values));
        values.for_each(&mut *visit);
        if let Some(json) = &self.json {
            json.visit(visit);
        }
    }
}

/// Call that tests the credentials.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestRule {
    pub request: RequestRule,
    /// Place that every response of the platform has; if missing, the whole response.
    #[serde(default)]
    pub has: Source,
    /// Places of the account's name; the first one present is used.
    #[serde(default)]
    pub account: Vec<Source>,
}

/// Scope of a rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateSubject {
    /// All keys of an account together, as far as the file tells accounts apart.
    Account,
    Key,
    /// Each installation or source IP separately.
    Address,
}

/// Rate limit of the platform.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    pub of: RateSubject,
    #[serde(deserialize_with = "span")]
    pub per: i64,
    pub max: u32,
    /// Path prefixes to which the limit applies, with `*` for any segment; if empty, all paths.
    #[serde(default)]
    pub paths: Vec<String>,
}

/// Form of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitForm {
    Seconds,
    Milliseconds,
    HttpDate,
    /// Seconds since 1970.
    Epoch,
}

/// Place of a wait.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitRule {
    pub at: Source,
    pub form: WaitForm,
}

/// Rate limits of a platform.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateRule {
    #[serde(default)]
    pub limits: Vec<RateLimit>,
    /// Concurrent requests; default 1.
    #[serde(default)]
    pub concurrency: Option<u32>,
    /// Places of a wait, tried in order before `Retry-After`.
    #[serde(default)]
    pub wait: Vec<WaitRule>,
}

/// Class of an unsuccessful response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// Wrong credentials, to be confirmed by the test call.
    Credential,
    /// Too many requests; wait.
    Throttled,
    /// Quota used up until a known time.
    Quota,
    /// Already in the requested state, or no longer present.
    Gone,
    /// Address belongs to another contact.
    Taken,
    /// Refused for this contact; a retry cannot succeed.
    Refused,
    /// Wrong request: a fault of the file or of this crate.
    Invalid,
    /// Temporary: overload or maintenance.
    Transient,
    /// Not a response of the platform: a wrong host, a proxy, or another version.
    Unreadable,
}

/// End of a quota, if the response does not state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuotaEnd {
    NextUtcDay,
    NextHour,
}

/// Rule that maps responses to a class. All given conditions must hold.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorRule {
    #[serde(default)]
    pub status: Vec<u16>,
    #[serde(default)]
    pub at: Option<Source>,
    /// Texts of which one must equal the value at `at`.
    #[serde(default)]
    pub is: Vec<String>,
    /// Texts of which the value at `at` must contain one, ignoring case.
    #[serde(default)]
    pub has: Vec<String>,
    /// Whether the body must be JSON.
    #[serde(default)]
    pub json: Option<bool>,
    #[serde(default)]
    pub until: Option<QuotaEnd>,
    pub class: ErrorClass,
}

/// Parses a duration such as `30s` into milliseconds.
pub(super) fn span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    const UNITS: &[(&str, i64)] = &[("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let text = String::deserialize(deserializer)?;
    let read =
        |(unit, factor): &(&str, i64)| text.strip_suffix(unit)?.parse::<u32>().ok().map(|n| i64::from(n) * factor);
    let ms = UNITS.iter().find_map(read).filter(|ms| (0..=400 * 86_400_000).contains(ms));
    ms.ok_or_else(|| de::Error::custom(format!("{text:?} is not a duration: write 500ms, 30s, 10m, 6h or 2d")))
}

/// Parses a size such as `8MiB` into bytes.
fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    const UNITS: &[(&str, u64)] = &[("KiB", 1 << 10), ("MiB", 1 << 20)];
    let text = String::deserialize(deserializer)?;
    let read =
        |(unit, factor): &(&str, u64)| text.strip_suffix(unit)?.parse::<u16>().ok().map(|n| u64::from(n) * factor);
    let bytes = UNITS.iter().find_map(read).filter(|bytes| (1 << 10..=64 << 20).contains(bytes));
    bytes.ok_or_else(|| de::Error::custom(format!("{text:?} is not a size of 1KiB to 64MiB: write 512KiB or 8MiB")))
}
