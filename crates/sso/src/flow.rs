//! Authorization requests (OpenID Connect Core §3.1.2.1), with PKCE (RFC 7636).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use crate::discovery::ProviderDocument;

/// Random bytes that a flow is made of: 256 bits each for state, nonce and verifier.
pub const FLOW_RANDOM_BYTES: usize = 96;

/// What binds an answer to the browser and to the request. Only the browser that began keeps it.
#[derive(Clone, Serialize, Deserialize)]
pub struct SsoFlow {
    state: String,
    pub(crate) nonce: String,
    pub(crate) verifier: String,
}

impl SsoFlow {
    pub fn of(random: &[u8; FLOW_RANDOM_BYTES]) -> Self {
        let text = |at: usize| URL_SAFE_NO_PAD.encode(&random[at..at + FLOW_RANDOM_BYTES / 3]);
        Self { state: text(0), nonce: text(FLOW_RANDOM_BYTES / 3), verifier: text(FLOW_RANDOM_BYTES / 3 * 2) }
    }

    /// Returns whether an answer has this flow's state.
    pub fn has_state(&self, given: &str) -> bool {
        self.state.as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// Returns the value that the ID token must repeat.
    pub fn nonce(&self) -> &str {
        &self.nonce
    }

    /// Returns the URL at the provider to which the browser is sent. `hint` is the address that the user typed.
    pub fn authorization_url(
        &self,
        document: &ProviderDocument,
        (client_id, redirect_uri): (&str, &str),
        hint: &str,
    ) -> String {
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, self.verifier.as_bytes()));
        let mut url = document.authorization_endpoint.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", client_id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", "openid email profile")
            .append_pair("state", &self.state)
            .append_pair("nonce", &self.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("login_hint", hint);
        url.into()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use url::Url;

    use super::*;
    use crate::discovery::IssuerUrl;

    #[test]
    fn a_request_has_state_nonce_and_challenge_of_its_own() {
        let issuer = IssuerUrl::parse("https://id.example.com", |_| false).unwrap();
        let document = serde_json::json!({
            "issuer": issuer.as_str(),
            "authorization_endpoint": "https://id.example.com/auth?tenant=7",
            "token_endpoint": "https://id.example.com/token",
            "jwks_uri": "https://id.example.com/keys",
        });
        let document = ProviderDocument::read(&issuer, document.to_string().as_bytes(), |_| false).unwrap();
        let random: Vec<u8> = (0..96).collect();
        let flow = SsoFlow::of(random.first_chunk().unwrap());
        let url = flow.authorization_url(&document, ("a b&c", "https://v.example/app/sso/callback"), "ann@example.com");
        let url = Url::parse(&url).unwrap();
        let asked: BTreeMap<_, _> = url.query_pairs().into_owned().collect();
        assert_eq!((asked["tenant"].as_str(), asked["client_id"].as_str()), ("7", "a b&c"));
        assert_eq!(asked["redirect_uri"], "https://v.example/app/sso/callback");
        assert_eq!((asked["code_challenge_method"].as_str(), asked["response_type"].as_str()), ("S256", "code"));
        assert!(flow.has_state(&asked["state"]) && !flow.has_state(&asked["nonce"]) && !flow.has_state(""));
        assert_eq!(asked["nonce"], flow.nonce());
        assert!(!url.as_str().contains(&flow.verifier));
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let known = SsoFlow { verifier: verifier.into(), ..flow };
        let url = known.authorization_url(&document, ("c", "https://v.example"), "");
        assert!(url.contains("code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"), "{url}");
    }
}
