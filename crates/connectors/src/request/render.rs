//! Renders a rule and values as a request.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use probity_mail::time::Millis;
use serde_json::Value;
use url::Url;

use super::redact::HiddenText;
use super::{CredentialFault, Credentials, Method, Request, Values, jwt};
use crate::file::{AuthRule, BatchRule, ConnectorFile, OtherApi, RequestRule};
use crate::source::scalar;
use crate::template::{Part, PlaceholderFamily, Template, UnfitValue};

/// Maximum length of a URL, in bytes. Servers commonly refuse longer ones.
const URL_MAX: usize = 8192;

/// Characters other than the unreserved ones of RFC 3986 §2.3. All are encoded, because some platforms reject an unencoded
/// bracket.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Encodes a path segment or a parameter.
fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Parts of a request that have a value for each contact, and its JSON body.
#[derive(Default)]
struct Batched {
    query: Vec<(String, String)>,
    form: Vec<(String, String)>,
    json: Option<Value>,
}

/// Renders requests of one connection.
#[derive(Clone, Copy)]
pub(crate) struct Rendering<'a> {
    pub file: &'a ConnectorFile,
    pub now: Millis,
}

impl Rendering<'_> {
    /// Renders a request. `more` is added to the query.
    pub(crate) fn request(
        &self,
        rule: &RequestRule,
        more: &BTreeMap<String, Template>,
        values: &Values<'_>,
    ) -> Result<Request, UnfitValue> {
        let json = rule.json.as_ref().map(|json| json.fill(values)).transpose()?.flatten();
        self.assemble(rule, more, values, Batched { json, ..Batched::default() })
    }

    /// Renders a request for several contacts, each with its own values.
    pub(crate) fn batch(
        &self,
        rule: &RequestRule,
        batch: &BatchRule,
        (common, each): (&Values<'_>, &[Values<'_>]),
    ) -> Result<Request, UnfitValue> {
        let items =
            each.iter().filter_map(|values| batch.each.fill(values).transpose()).collect::<Result<Vec<_>, _>>()?;
        let json = rule.json.as_ref().map(|json| json.fill(common)).transpose()?.flatten();
        let mut batched = Batched { json, ..Batched::default() };
        let repeated =
            |name: &str| items.iter().filter_map(|item| Some((name.to_owned(), scalar(item)?))).collect::<Vec<_>>();
        match batch.at.split_once(':') {
            Some(("query", name)) => batched.query = repeated(name),
            Some(("form", name)) => batched.form = repeated(name),
            _ => {
                let place = batched.json.as_mut().and_then(|body| body.pointer_mut(&batch.at));
                *place.ok_or_else(|| of_file("batch.at is not in request.json"))? = Value::Array(items);
            }
        }
        self.assemble(rule, &BTreeMap::new(), common, batched)
    }

    fn assemble(
        &self,
        rule: &RequestRule,
        more: &BTreeMap<String, Template>,
        values: &Values<'_>,
        Batched { query: mut pairs, form, json }: Batched,
    ) -> Result<Request, UnfitValue> {
        let (method, path) = method(rule)?;
        let base = match self.other(rule)? {
            Some(other) => based(&other.base, values)?,
            None => self.base(values)?,
        };
        let path = path.fill(values, &segment)?.ok_or_else(|| of_file("the path has no value"))?;
        if path.split('/').any(|part| part == "." || part == "..") {
            return Err(foreign(path_family(rule), "makes a path segment of dots"));
        }
        for (name, template) in rule.query.iter().filter(|(name, _)| !more.contains_key(*name)).chain(more) {
            if let Some(value) = template.fill(values, &|text| Ok(text.to_owned()))? {
                pairs.push((name.clone(), value));
            }
        }
        let query = encoded(&pairs);
        let mark = if query.is_empty() { "" } else { "?" };
        let url = checked_url(format!("{base}{path}{mark}{query}"), &base)?;
        let mut headers = self.headers(rule, values)?;
        let body = body(rule, values, (form, json.as_ref()))?;
        if let Some((kind, _)) = &body {
            put_default(&mut headers, "Content-Type", kind);
        }
        let (timeout_ms, body_max) = (self.file.http.timeout, self.file.http.body_max);
        Ok(Request { method, url, path, headers, body: body.map(|(_, body)| body), timeout_ms, body_max })
    }

    /// Renders a request for a URL from a response, which [`next_address`] has checked.
    pub(crate) fn next_url(&self, url: String, values: &Values<'_>) -> Result<Request, UnfitValue> {
        let headers = self.headers(&RequestRule::default(), values)?;
        let path = below(&self.base(values)?, &url);
        let (timeout_ms, body_max) = (self.file.http.timeout, self.file.http.body_max);
        Ok(Request { method: Method::Get, url, path, headers, body: None, timeout_ms, body_max })
    }

    /// Returns the URL before every path.
    pub(crate) fn base(&self, values: &Values<'_>) -> Result<String, UnfitValue> {
        based(&self.file.http.base, values)
    }

    /// Returns the platform's other API, if a request is for it.
    fn other(&self, rule: &RequestRule) -> Result<Option<&OtherApi>, UnfitValue> {
        let other = self.file.http.other.as_ref();
        if rule.other { other.ok_or_else(|| of_file("http.other is missing")).map(Some) } else { Ok(None) }
    }

    fn headers(&self, rule: &RequestRule, values: &Values<'_>) -> Result<Vec<(String, String)>, UnfitValue> {
        let mut headers = Vec::new();
        let (common, auth) = match self.other(rule)? {
            Some(other) => (&other.headers, &other.auth),
            None => (&self.file.http.headers, &self.file.http.auth),
        };
        for (name, template) in common.iter().filter(|(name, _)| !rule.headers.contains_key(*name)).chain(&rule.headers)
        {
            if let Some(value) = template.fill(values, &header_value)? {
                headers.push((name.clone(), value));
            }
        }
        if let Some(auth) = auth {
            headers.push(("Authorization".to_owned(), self.authorization(auth, values)?));
        }
        put_default(&mut headers, "Accept", "application/json");
        Ok(headers)
    }

    fn authorization(&self, auth: &AuthRule, values: &Values<'_>) -> Result<String, UnfitValue> {
        let fill = |template: &Template| {
            let text = template.fill(values, &|text| Ok(text.to_owned()))?;
            text.ok_or_else(|| of_file("a credential has no value"))
        };
        match auth {
            AuthRule::Basic { user, password } => {
                let name = fill(user)?;
                // RFC 7617 §2: the first colon ends the user name.
                if name.contains(':') {
                    let placeholder = user.placeholders().next();
                    return Err(placeholder
                        .map_or_else(|| of_file("a user name has a colon"), |it| it.unfit("contains a colon")));
                }
                Ok(format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{}", fill(password)?))))
            }
            AuthRule::GhostJwt { key } => {
                let token = jwt::ghost(&fill(key)?, self.now).map_err(|what| match key.single() {
                    Some(placeholder) => placeholder.unfit(&what),
                    None => of_file(&what),
                })?;
                Ok(format!("Ghost {token}"))
            }
        }
    }
}

/// Renders the URL before every path.
fn based(template: &Template, values: &Values<'_>) -> Result<String, UnfitValue> {
    let mut text = String::new();
    for part in template.parts() {
        match part {
            Part::Literal(literal) => text.push_str(literal),
            Part::Placeholder(placeholder) => {
                let value = placeholder.value(values)?.as_ref().and_then(scalar);
                let value = value.ok_or_else(|| placeholder.unfit("has no value"))?;
                let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
                let is_host = rest.is_some_and(|rest| !rest.contains('/'));
                let placed = match (text.is_empty(), is_host) {
                    (true, _) => Ok(value),
                    (false, true) => label(&value),
                    (false, false) => segment(&value),
                };
                text.push_str(&placed.map_err(|what| placeholder.unfit(&what))?);
            }
        }
    }
    Ok(text)
}

/// Checks that no value has changed the request's host.
fn checked_url(url: String, base: &str) -> Result<String, UnfitValue> {
    let same = match (Url::parse(&url), Url::parse(base)) {
        (Ok(url), Ok(base)) => url.origin() == base.origin() && url.origin().is_tuple(),
        _ => false,
    };
    if url.len() > URL_MAX {
        return Err(of_file(&format!("a URL has more than {URL_MAX} bytes")));
    }
    if same { Ok(url) } else { Err(of_file("http.base is not the URL of a host")) }
}

/// Renders everything that depends on credentials alone, so a malformed one is reported when it is entered.
pub(super) fn probe(file: &ConnectorFile, credentials: &Credentials) -> Result<(), CredentialFault> {
    let values = Values::new(credentials);
    let rendering = Rendering { file, now: Millis(0) };
    let tried = || {
        rendering.request(&file.test.request, &BTreeMap::new(), &values)?;
        if let Some(other) = &file.http.other {
            based(&other.base, &values)?;
            rendering.headers(&RequestRule { other: true, ..RequestRule::default() }, &values)?;
        }
        Ok(())
    };
    tried().map_err(|unfit: UnfitValue| CredentialFault {
        field: if unfit.family == PlaceholderFamily::Credential { unfit.name } else { String::new() },
        what: unfit.what,
    })
}

/// Returns what headers send in place of secrets. The loader refuses changed secrets at other places.
pub(super) fn sent_secrets(file: &ConnectorFile, credentials: &Credentials) -> Vec<HiddenText> {
    let values = Values::new(credentials);
    let rendering = Rendering { file, now: Millis(0) };
    let http = &file.http;
    let mut secrets = Vec::new();
    for (headers, auth) in
        [(&http.headers, &http.auth)].into_iter().chain(http.other.iter().map(|other| (&other.headers, &other.auth)))
    {
        let placed =
            headers.values().flat_map(Template::placeholders).filter(|placeholder| file.is_secret(placeholder));
        // Before there is a token, it has no value.
        let sent = placed.filter_map(|placeholder| placeholder.value(&values).ok().flatten().as_ref().and_then(scalar));
        secrets.extend(sent.map(|value| HiddenText::whole(&value)));
        if let Some(auth) = auth
            && let Ok(value) = rendering.authorization(auth, &values)
        {
            secrets.extend(hidden_in(auth, &value));
        }
    }
    secrets
}

/// Returns the parts of an authorization that no message may contain.
fn hidden_in(auth: &AuthRule, value: &str) -> Vec<HiddenText> {
    let (_, token) = value.split_once(' ').unwrap_or_default();
    let bare = token.trim_end_matches('=');
    match (auth, token.split_once('.')) {
        // A signed token differs with the time; its head has the algorithm and the ID of the key.
        (AuthRule::GhostJwt { .. }, Some((head, _))) => vec![HiddenText::head_of_token(&format!("{head}."))],
        _ if bare.is_empty() => Vec::new(),
        _ => [token, bare].map(HiddenText::whole).into(),
    }
}

/// Returns the URL of a next page, or the reason why it is refused.
pub(crate) fn next_address(base: &str, text: &str) -> Result<String, &'static str> {
    let base = Url::parse(base).map_err(|_| "the base is not a URL")?;
    if text.len() > URL_MAX {
        return Err("the URL of the next page is too long");
    }
    let next = base.join(text).map_err(|_| "the URL of the next page is not valid")?;
    // Credentials are sent along, and must not reach another host, port or scheme.
    let same = next.origin() == base.origin() && next.username().is_empty() && next.password().is_none();
    if same { Ok(next.into()) } else { Err("the next page is at another host than the platform") }
}

/// Returns the path of a URL below the base, without the query.
fn below(base: &str, url: &str) -> String {
    let path = |text: &str| Url::parse(text).map(|url| url.path().to_owned()).unwrap_or_default();
    let (base, path) = (path(base), path(url));
    path.strip_prefix(base.trim_end_matches('/')).unwrap_or(&path).to_owned()
}

fn method(rule: &RequestRule) -> Result<(Method, &Template), UnfitValue> {
    let methods = [
        (Method::Get, &rule.get),
        (Method::Post, &rule.post),
        (Method::Put, &rule.put),
        (Method::Patch, &rule.patch),
        (Method::Delete, &rule.delete),
    ];
    let named = methods.into_iter().find_map(|(method, path)| Some((method, path.as_ref()?)));
    named.ok_or_else(|| of_file("a request has no method"))
}

fn body(
    rule: &RequestRule,
    values: &Values<'_>,
    (mut pairs, json): (Vec<(String, String)>, Option<&Value>),
) -> Result<Option<(String, Vec<u8>)>, UnfitValue> {
    if let Some(json) = json {
        return Ok(Some(("application/json".to_owned(), json.to_string().into_bytes())));
    }
    if rule.form.is_none() && pairs.is_empty() {
        return Ok(None);
    }
    for (name, template) in rule.form.iter().flatten() {
        if let Some(value) = template.fill(values, &|text| Ok(text.to_owned()))? {
            pairs.push((name.clone(), value));
        }
    }
    Ok(Some(("application/x-www-form-urlencoded".to_owned(), encoded(&pairs).into_bytes())))
}

fn encoded(pairs: &[(String, String)]) -> String {
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    pairs.join("&")
}

fn put_default(headers: &mut Vec<(String, String)>, name: &str, value: &str) {
    if !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
        headers.push((name.to_owned(), value.to_owned()));
    }
}

/// Escapes a path segment. Segments of only dots are refused, because even encoded they are read as path steps.
fn segment(text: &str) -> Result<String, String> {
    if text.is_empty() || text == "." || text == ".." {
        return Err("is not a path segment".to_owned());
    }
    Ok(encode(text))
}

/// Checks a label of a host name.
fn label(text: &str) -> Result<String, String> {
    let fits =
        !text.is_empty() && text.len() <= 63 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if fits { Ok(text.to_owned()) } else { Err("is not a label of a host name".to_owned()) }
}

fn header_value(text: &str) -> Result<String, String> {
    let fits = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if fits { Ok(text.to_owned()) } else { Err("has characters that are not allowed in a header".to_owned()) }
}

/// Returns a fault of the file, which no value caused.
fn of_file(what: &str) -> UnfitValue {
    foreign(PlaceholderFamily::Hook, what)
}

fn foreign(family: PlaceholderFamily, what: &str) -> UnfitValue {
    UnfitValue { family, name: String::new(), placeholder: String::new(), what: what.to_owned() }
}

fn path_family(rule: &RequestRule) -> PlaceholderFamily {
    let placeholder = method(rule).ok().and_then(|(_, path)| path.placeholders().next());
    placeholder.map_or(PlaceholderFamily::Hook, |placeholder| placeholder.family)
}
