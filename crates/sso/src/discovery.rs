//! Discovery documents (OpenID Connect Discovery 1.0).

use serde::Deserialize;
use url::Url;

use crate::fault::SsoFault;
use crate::keys::ALGORITHMS;

/// Maximum size of a discovery document, in bytes. Those of large providers have 2 to 6 KiB.
pub const DOCUMENT_MAX: u64 = 64 * 1_024;
/// Maximum length of a URL, in bytes.
const URL_MAX: usize = 1_024;

/// Issuer as it was entered: a final slash more or less makes no difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerUrl(String);

impl IssuerUrl {
    /// Parses an issuer. `is_own` says whether the operator allows a host, as `host:port`, also without https.
    pub fn parse(text: &str, is_own: impl Fn(&str) -> bool) -> Result<Self, SsoFault> {
        let url = endpoint(text, is_own).ok_or(SsoFault::Issuer)?;
        if url.query().is_none() { Ok(Self(text.to_owned())) } else { Err(SsoFault::Issuer) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the URL of the discovery document.
    pub fn document_url(&self) -> String {
        format!("{}/.well-known/openid-configuration", self.0.trim_end_matches('/'))
    }
}

/// Whether two texts name one issuer. Forms and consoles add and drop the final slash.
pub fn is_same_issuer(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// Parses an endpoint to which a browser or this service is sent: https, or a host of the operator's own network.
fn endpoint(text: &str, is_own: impl Fn(&str) -> bool) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|_| text.len() <= URL_MAX)?;
    let is_safe = match url.scheme() {
        "https" => true,
        "http" => is_own(&authority(&url)?),
        _ => false,
    };
    let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    (is_safe && is_plain).then_some(url)
}

/// Returns host and port as the operator allows them.
fn authority(url: &Url) -> Option<String> {
    Some(format!("{}:{}", url.host_str()?.trim_end_matches('.'), url.port_or_known_default()?))
}

/// What is used of a discovery document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderDocument {
    pub issuer: String,
    pub(crate) authorization_endpoint: Url,
    pub(crate) token_endpoint: Url,
    pub jwks_uri: String,
    /// Whether the client's secret goes into the body instead of a header.
    pub(crate) secret_in_body: bool,
    /// Whether authorization responses must name the issuer (RFC 9207).
    pub names_itself: bool,
}

#[derive(Deserialize)]
struct RawDocument {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    jwks_uri: Option<String>,
    response_types_supported: Option<Vec<String>>,
    id_token_signing_alg_values_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl ProviderDocument {
    /// Reads the document of an issuer. One that names another issuer is refused (Discovery §4.3), and so is one that leads to a
    /// host of the operator's own network, unless the issuer itself is there: a stranger's document must not point inside.
    pub fn read(issuer: &IssuerUrl, body: &[u8], is_own: impl Fn(&str) -> bool) -> Result<Self, SsoFault> {
        let raw: RawDocument = serde_json::from_slice(body).map_err(|_| SsoFault::Document)?;
        if !is_same_issuer(&raw.issuer, &issuer.0) {
            return Err(SsoFault::IssuerDiffers);
        }
        // A type may name several parts; only the code alone is used.
        if raw.response_types_supported.is_some_and(|types| !types.iter().any(|one| one == "code")) {
            return Err(SsoFault::NoCode);
        }
        let accepted = |name: &String| ALGORITHMS.iter().any(|(known, _)| known == name);
        if raw.id_token_signing_alg_values_supported.is_some_and(|names| !names.iter().any(accepted)) {
            return Err(SsoFault::NoAlgorithm);
        }
        let home = Url::parse(&issuer.0).ok().as_ref().and_then(authority);
        let url = |text: Option<String>| {
            let url = endpoint(&text?, &is_own)?;
            let place = authority(&url)?;
            (home.as_ref() == Some(&place) || !is_own(&place)).then_some(url)
        };
        let methods = raw.token_endpoint_auth_methods_supported.unwrap_or_default();
        let has = |name: &str| methods.iter().any(|method| method == name);
        Ok(Self {
            issuer: raw.issuer,
            authorization_endpoint: url(raw.authorization_endpoint).ok_or(SsoFault::Endpoint)?,
            token_endpoint: url(raw.token_endpoint).ok_or(SsoFault::Endpoint)?,
            jwks_uri: url(raw.jwks_uri).ok_or(SsoFault::Endpoint)?.into(),
            secret_in_body: has("client_secret_post") && !has("client_secret_basic"),
            names_itself: raw.authorization_response_iss_parameter_supported,
        })
    }
}

/// Returns the issuer that a document names, if it is a URL.
pub fn named_issuer(body: &[u8]) -> Option<String> {
    let RawDocument { issuer, .. } = serde_json::from_slice(body).ok()?;
    endpoint(&issuer, |_| true).map(|_| issuer)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ISSUER: &str = "https://id.example.com/realms/staff";

    fn good() -> Value {
        json!({
            "issuer": ISSUER,
            "authorization_endpoint": "https://id.example.com/auth?tenant=7",
            "token_endpoint": "https://token.example.net/token",
            "jwks_uri": "https://keys.example.net/keys",
            "response_types_supported": ["id_token", "code"],
            "id_token_signing_alg_values_supported": ["none", "HS256", "RS256"],
        })
    }

    fn read(document: &Value) -> Result<ProviderDocument, SsoFault> {
        let issuer = IssuerUrl::parse(ISSUER, |_| false).unwrap();
        ProviderDocument::read(&issuer, document.to_string().as_bytes(), |own| own == "10.0.0.1:8080")
    }

    #[test]
    fn issuers_are_https_or_the_operators_own() {
        let parse = |text| IssuerUrl::parse(text, |own| own == "10.0.0.1:8080");
        for good in [ISSUER, "https://tenant.auth0.example/", "http://10.0.0.1:8080"] {
            assert_eq!(parse(good).unwrap().as_str(), good);
        }
        let long = format!("https://a.example/{}", "a".repeat(URL_MAX));
        for wrong in [
            "",
            "id.example.com",
            "http://id.example.com",
            "http://10.0.0.1",
            "http://10.0.0.1:8081",
            "ftp://id.example.com",
            "https://u:p@id.example.com",
            "https://id.example.com?x=1",
            "https://id.example.com/#x",
            "javascript:alert(1)",
            &long,
        ] {
            assert_eq!(parse(wrong), Err(SsoFault::Issuer), "{wrong}");
        }
        let at = |text| parse(text).unwrap().document_url();
        assert_eq!(at(ISSUER), format!("{ISSUER}/.well-known/openid-configuration"));
        assert_eq!(at("https://a.example/"), "https://a.example/.well-known/openid-configuration");
    }

    #[test]
    fn only_the_operators_own_provider_leads_to_its_own_host() {
        let is_own = |own: &str| own == "10.0.0.1:8080" || own == "10.0.0.1:9090" || own == "id.lan:443";
        let leads = |issuer: &str, field: &str, url: &str| {
            let mut document = good();
            document["issuer"] = json!(issuer);
            document[field] = json!(url);
            let issuer = IssuerUrl::parse(issuer, is_own).unwrap();
            ProviderDocument::read(&issuer, document.to_string().as_bytes(), is_own).map(drop)
        };
        for field in ["authorization_endpoint", "token_endpoint", "jwks_uri"] {
            for inside in [
                "http://10.0.0.1:8080/x",
                "https://10.0.0.1:8080/x",
                "https://0xa.0.0.1:8080/x",
                "https://id.lan/x",
                "https://ID.lan.:443/x",
            ] {
                assert_eq!(leads(ISSUER, field, inside), Err(SsoFault::Endpoint), "{field}: {inside}");
            }
            for own in ["http://10.0.0.1:8080/x", "https://10.0.0.1:8080/x", "https://public.example.com/x"] {
                assert_eq!(leads("http://10.0.0.1:8080", field, own), Ok(()), "{field}: {own}");
            }
            let other = leads("http://10.0.0.1:8080", field, "http://10.0.0.1:9090/x");
            assert_eq!(other, Err(SsoFault::Endpoint), "{field}");
            assert_eq!(leads("https://id.lan/a", field, "https://id.lan./x"), Ok(()), "{field}");
        }
    }

    #[test]
    fn a_document_is_of_its_issuer_and_has_what_is_needed() {
        let document = read(&good()).unwrap();
        assert_eq!((document.secret_in_body, document.names_itself), (false, false));
        let changed = |field: &str, value: Value| {
            let mut document = good();
            document[field] = value;
            read(&document)
        };
        for (field, value, fault) in [
            ("issuer", json!("https://id.example.com/realms/other"), SsoFault::IssuerDiffers),
            ("issuer", json!("https://login.example.com/{tenantid}/v2.0"), SsoFault::IssuerDiffers),
            ("issuer", json!(7), SsoFault::Document),
            ("authorization_endpoint", json!("javascript:alert(1)"), SsoFault::Endpoint),
            ("authorization_endpoint", json!("http://id.example.com/auth"), SsoFault::Endpoint),
            ("token_endpoint", json!(null), SsoFault::Endpoint),
            ("token_endpoint", json!("http://10.0.0.2:8080/token"), SsoFault::Endpoint),
            ("jwks_uri", json!("file:///etc/passwd"), SsoFault::Endpoint),
            ("response_types_supported", json!(["token"]), SsoFault::NoCode),
            ("id_token_signing_alg_values_supported", json!(["none", "HS256"]), SsoFault::NoAlgorithm),
        ] {
            assert_eq!(changed(field, value.clone()), Err(fault), "{field}: {value}");
        }
        assert!(
            changed("token_endpoint_auth_methods_supported", json!(["client_secret_post"])).unwrap().secret_in_body
        );
        let slashed = changed("issuer", json!("https://id.example.com/realms/staff/")).unwrap();
        assert_eq!(slashed.issuer, "https://id.example.com/realms/staff/");
        let named = |issuer: Value| named_issuer(json!({ "issuer": issuer }).to_string().as_bytes());
        assert_eq!(named(json!("https://a.example/x")).as_deref(), Some("https://a.example/x"));
        for none in [json!("javascript:alert(1)"), json!("a"), json!(7)] {
            assert_eq!(named(none), None);
        }
        assert!(changed("authorization_response_iss_parameter_supported", json!(true)).unwrap().names_itself);
        let issuer = IssuerUrl::parse(ISSUER, |_| false).unwrap();
        assert_eq!(ProviderDocument::read(&issuer, b"<html>", |_| false), Err(SsoFault::Document));
    }
}
