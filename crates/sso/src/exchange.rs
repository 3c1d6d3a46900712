//! The exchange of a code for an ID token (OpenID Connect Core §3.1.3).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use url::form_urlencoded;

use crate::discovery::ProviderDocument;
use crate::fault::SsoFault;
use crate::flow::SsoFlow;

/// Maximum size of a token response, in bytes.
pub const ANSWER_MAX: u64 = 128 * 1_024;

/// Code to exchange, with the client that may.
pub struct CodeExchange<'a> {
    pub code: &'a str,
    pub flow: &'a SsoFlow,
    pub redirect_uri: &'a str,
    pub client_id: &'a str,
    pub client_secret: &'a str,
}

/// POST to the token endpoint.
pub struct CodeRequest {
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl CodeExchange<'_> {
    /// Builds the request. The secret goes into the header unless the provider takes it in the body only.
    pub fn request(&self, document: &ProviderDocument) -> CodeRequest {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.append_pair("grant_type", "authorization_code")
            .append_pair("code", self.code)
            .append_pair("redirect_uri", self.redirect_uri)
            .append_pair("code_verifier", &self.flow.verifier);
        let mut headers = vec![
            ("accept".to_owned(), "application/json".to_owned()),
            ("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned()),
        ];
        if document.secret_in_body {
            body.append_pair("client_id", self.client_id).append_pair("client_secret", self.client_secret);
        } else {
            // RFC 6749 §2.3.1: both are encoded as in forms before they are joined.
            let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            let pair = format!("{}:{}", encoded(self.client_id), encoded(self.client_secret));
            headers.push(("authorization".to_owned(), format!("Basic {}", STANDARD.encode(pair))));
        }
        CodeRequest { url: document.token_endpoint.to_string(), headers, body: body.finish().into_bytes() }
    }
}

/// Returns the ID token of a token response. The access token is not used.
pub fn read_answer(status: u16, body: &[u8]) -> Result<String, SsoFault> {
    #[derive(Deserialize)]
    struct TokenResponse {
        id_token: Option<String>,
        error: Option<String>,
    }
    let answer: Option<TokenResponse> = serde_json::from_slice(body).ok();
    match (status, answer) {
        (200, Some(TokenResponse { id_token: Some(token), .. })) => Ok(token),
        (200, _) => Err(SsoFault::Malformed),
        (400..=499, Some(TokenResponse { error: Some(error), .. })) if error == "invalid_grant" => Err(SsoFault::Code),
        (400..=499, _) => Err(SsoFault::Client),
        _ => Err(SsoFault::Unreachable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::IssuerUrl;

    #[test]
    fn the_secret_goes_where_the_provider_takes_it() {
        let issuer = IssuerUrl::parse("https://id.example.com", |_| false).unwrap();
        let flow = SsoFlow::of(&[7; 96]);
        let request = |methods: &[&str]| {
            let document = serde_json::json!({
                "issuer": issuer.as_str(),
                "authorization_endpoint": "https://id.example.com/auth",
                "token_endpoint": "https://id.example.com/token",
                "jwks_uri": "https://id.example.com/keys",
                "token_endpoint_auth_methods_supported": methods,
            });
            let document = ProviderDocument::read(&issuer, document.to_string().as_bytes(), |_| false).unwrap();
            let (redirect_uri, client_id, client_secret) = ("https://v.example/cb", "a:b", "s c&d");
            CodeExchange { code: "c+1", flow: &flow, redirect_uri, client_id, client_secret }.request(&document)
        };
        for methods in [&["client_secret_basic", "client_secret_post"][..], &["client_secret_basic"], &[]] {
            let made = request(methods);
            let body = String::from_utf8(made.body).unwrap();
            assert!(
                body.contains("code=c%2B1&") && body.contains("code_verifier=") && !body.contains("secret"),
                "{body}"
            );
            let header = made.headers.iter().find(|(name, _)| name == "authorization").unwrap();
            assert_eq!(header.1, format!("Basic {}", STANDARD.encode("a%3Ab:s+c%26d")));
        }
        let made = request(&["client_secret_post", "private_key_jwt"]);
        assert!(String::from_utf8(made.body).unwrap().ends_with("client_id=a%3Ab&client_secret=s+c%26d"));
        assert!(made.headers.iter().all(|(name, _)| name != "authorization"));
    }

    #[test]
    fn answers_without_an_id_token_are_faults() {
        let read = |status, body: &str| read_answer(status, body.as_bytes());
        assert_eq!(read(200, r#"{"id_token":"a.b.c","access_token":"x"}"#), Ok("a.b.c".into()));
        assert_eq!(read(200, r#"{"access_token":"x"}"#), Err(SsoFault::Malformed));
        assert_eq!(read(200, "<html>"), Err(SsoFault::Malformed));
        assert_eq!(read(400, r#"{"error":"invalid_grant"}"#), Err(SsoFault::Code));
        assert_eq!(read(401, r#"{"error":"invalid_client"}"#), Err(SsoFault::Client));
        assert_eq!(read(404, "gone"), Err(SsoFault::Client));
        assert_eq!(read(302, ""), Err(SsoFault::Unreachable));
        assert_eq!(read(503, ""), Err(SsoFault::Unreachable));
    }
}
