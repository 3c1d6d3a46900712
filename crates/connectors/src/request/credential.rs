//! Credentials of a connection: checked when entered, never displayed.

use std::collections::BTreeMap;
use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::redact::{HiddenText, redact};
use crate::file::{ConnectorFile, CredentialField, CredentialKind};

/// Maximum length of a credential, in bytes.
const VALUE_MAX: usize = 4096;
/// Minimum length of a part of a credential that is removed from texts by itself, in bytes.
const PIECE_MIN: usize = 8;

/// Hosts that the operator allows in addition to those of a file, as `host:port` in lower case. Only these may be private,
/// and may be reached without TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostAllowance(pub Vec<String>);

impl HostAllowance {
    /// Normalizes the operator's `host:port`, of which the port is required. The host gets the form that it has in URLs.
    pub fn entry(text: &str) -> Option<String> {
        let url = Url::parse(&format!("http://{text}/")).ok()?;
        let (_, port) = text.rsplit_once(':')?;
        let port: u16 = port.parse().ok().filter(|port| *port != 0)?;
        let is_host = !text.contains('*')
            && url.port_or_known_default() == Some(port)
            && url.username().is_empty()
            && url.password().is_none()
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none();
        let host = url.host_str().filter(|host| is_host && !host.is_empty())?;
        Some(format!("{}:{port}", host.trim_end_matches('.')))
    }

    /// Returns whether a host is allowed, given as `host:port` in lower case.
    pub fn has(&self, authority: &str) -> bool {
        self.0.iter().any(|known| known == authority)
    }

    fn has_host_of(&self, url: &Url) -> bool {
        self.has(&authority(url))
    }
}

/// Name of an invalid credential, with the reason. Never contains the value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {what}")]
pub struct CredentialFault {
    pub field: String,
    pub what: String,
}

/// Credentials of a connection.
#[derive(Clone)]
pub struct Credentials {
    values: BTreeMap<String, SecretString>,
    /// Access token that the platform gave for the credentials.
    token: Option<SecretString>,
}

/// Shows only the names of the credentials.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl Credentials {
    /// Checks what a customer entered against the fields of a platform.
    pub fn new(
        file: &ConnectorFile,
        entered: &BTreeMap<String, String>,
        allowed: &HostAllowance,
    ) -> Result<Self, CredentialFault> {
        let fault = |field: &str, what: &str| CredentialFault { field: field.to_owned(), what: what.to_owned() };
        if let Some(name) = entered.keys().find(|name| file.credential(name).is_none()) {
            // The name came from outside, and may be a value entered by mistake.
            let names: Vec<_> = file.credentials.iter().map(|field| field.name.as_str()).collect();
            let shown = if name.len() <= 40 { name } else { "credentials" };
            return Err(fault(shown, &format!("unknown; {} requires {}", file.provider.name, names.join(", "))));
        }
        let mut credentials = Self { values: BTreeMap::new(), token: None };
        for field in &file.credentials {
            let text = entered.get(&field.name).map(|text| text.trim()).filter(|text| !text.is_empty());
            let Some(text) = text else {
                if field.optional {
                    continue;
                }
                return Err(fault(&field.name, "is missing"));
            };
            let value = checked(field, text, allowed).map_err(|what| fault(&field.name, &what))?;
            credentials.values.insert(field.name.clone(), value.into());
        }
        // Until there is a token, a text in its place.
        credentials.token = file.token.as_ref().map(|_| "none".into());
        super::render::probe(file, &credentials)?;
        credentials.token = None;
        Ok(credentials)
    }

    /// Adds the access token that the platform gave for the credentials.
    pub fn with_token(mut self, file: &ConnectorFile, token: SecretString) -> Result<Self, CredentialFault> {
        self.token = Some(token);
        super::render::probe(file, &self)?;
        Ok(self)
    }

    /// Replaces a credential by the one that the platform has put in its place.
    #[must_use]
    pub fn with_replaced(mut self, name: &str, value: SecretString) -> Self {
        self.values.insert(name.to_owned(), value);
        self
    }

    /// Returns whether an access token must be added before any other request than the one for it.
    pub fn lacks_token(&self, file: &ConnectorFile) -> bool {
        file.token.is_some() && self.token.is_none()
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_ref().map(ExposeSecret::expose_secret)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(ExposeSecret::expose_secret)
    }

    /// Passes to `hash` what tells the account from others: the platform, and the credentials that its file marks, or all of
    /// them if it marks none. Two keys of one account then count as two accounts. Forms of one host are equal.
    pub fn account<T>(&self, file: &ConnectorFile, hash: impl FnOnce(&[&str]) -> T) -> T {
        let has_mark = file.credentials.iter().any(|field| field.account);
        let fields = file.credentials.iter().filter(|field| field.account || !has_mark);
        let named = fields.filter_map(|field| {
            let value = self.get(&field.name)?;
            let host = || Url::parse(value).ok().map(|url| authority(&url));
            let host = if field.kind == CredentialKind::Url { host() } else { None };
            Some((field.name.as_str(), host.unwrap_or_else(|| value.to_owned())))
        });
        let named: Vec<(&str, String)> = named.collect();
        let parts = named.iter().flat_map(|(name, value)| [*name, value.as_str()]);
        let parts: Vec<&str> = std::iter::once(file.provider.slug.as_str()).chain(parts).collect();
        hash(&parts)
    }

    /// Removes the credentials from a text, in all forms in which they are sent, and other texts that must not be shown.
    pub(crate) fn redact(&self, file: &ConnectorFile, others: &[&str], text: &str) -> String {
        let entered = file.credentials.iter().filter(|field| field.kind == CredentialKind::Secret);
        let entered: Vec<&str> = entered.filter_map(|field| self.get(&field.name)).chain(self.token()).collect();
        let mut secrets = super::render::sent_secrets(file, self);
        secrets.extend(others.iter().copied().map(HiddenText::whole));
        for secret in entered {
            // Some platforms quote half of `id:secret`.
            let pieces = secret.split(':').filter(|piece| piece.len() >= PIECE_MIN);
            secrets.extend(std::iter::once(secret).chain(pieces).map(HiddenText::whole));
        }
        redact(text, &secrets)
    }
}

/// Returns the host and port of a URL.
fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    format!("{host}:{}", url.port_or_known_default().unwrap_or_default())
}

fn checked(field: &CredentialField, text: &str, allowed: &HostAllowance) -> Result<String, String> {
    if text.len() > VALUE_MAX {
        return Err(format!("may have at most {VALUE_MAX} bytes"));
    }
    if text.chars().any(char::is_control) {
        return Err("must not contain control characters".to_owned());
    }
    match field.kind {
        CredentialKind::Url => address(field, text, allowed),
        CredentialKind::Choice if !field.choices.iter().any(|choice| choice == text) => {
            Err(format!("must be one of {}", field.choices.join(", ")))
        }
        _ => Ok(text.to_owned()),
    }
}

/// Checks a URL and returns it without a trailing slash.
fn address(field: &CredentialField, text: &str, allowed: &HostAllowance) -> Result<String, String> {
    let url = Url::parse(text).map_err(|_| "must be a URL such as https://example.com".to_owned())?;
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or("has no host")?;
    let is_plain =
        url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
    if !is_plain {
        return Err("must not have a user, a query or a fragment".to_owned());
    }
    let by_operator = allowed.has_host_of(&url);
    if url.scheme() != "https" && !(by_operator && url.scheme() == "http") {
        return Err("must begin with https://, unless the operator allows this host in integrations.allow".to_owned());
    }
    if !(by_operator || field.hosts.is_empty() || field.hosts.iter().any(|pattern| fits(pattern, host))) {
        return Err(format!("must be at {}, or the operator must allow the host", field.hosts.join(" or ")));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Returns whether a host matches `example.com` or `*.example.com`.
fn fits(pattern: &str, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    match pattern.strip_prefix("*.") {
        Some(parent) => host.strip_suffix(parent).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        None => host == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_names_hosts_with_their_ports() {
        for (text, entry) in [
            ("listmonk.lan:9000", Some("listmonk.lan:9000")),
            ("Lists.LAN.:443", Some("lists.lan:443")),
            ("lists.lan:80", Some("lists.lan:80")),
            ("127.1:8001", Some("127.0.0.1:8001")),
            ("[::1]:9000", Some("[::1]:9000")),
            ("bücher.example:9000", Some("xn--bcher-kva.example:9000")),
            ("listmonk.lan", None),
            ("listmonk.lan:", None),
            ("listmonk.lan:0", None),
            ("listmonk.lan:99999", None),
            ("http://listmonk.lan:9000", None),
            ("user@listmonk.lan:9000", None),
            ("listmonk.lan/x:9000", None),
            ("listmonk.lan?x:9000", None),
            ("*.lan:9000", None),
            ("", None),
        ] {
            assert_eq!(HostAllowance::entry(text).as_deref(), entry, "{text}");
        }
    }

    #[test]
    fn hosts_fit_whole_labels() {
        assert!(fits("*.api-us1.com", "acme.api-us1.com"));
        assert!(fits("example.com", "EXAMPLE.com"));
        for other in ["api-us1.com", ".api-us1.com", "evilapi-us1.com", "api-us1.com.evil.org"] {
            assert!(!fits("*.api-us1.com", other), "{other}");
        }
    }
}
