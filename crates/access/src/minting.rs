//! Creates API keys, for the API and the command line alike.

use probity_account::api_key::{self, KeyKind};
use probity_account::id::UserId;
use probity_account::scope::Scopes;
use probity_mail::time::Millis;
use probity_store::OrgNo;
use probity_store::accounts::keys::StoredKey;

use crate::secrets::Secrets;

/// Properties of a key to create.
#[derive(Clone, Debug)]
pub struct KeyRequest {
    pub name: String,
    pub kind: KeyKind,
    /// Scopes, for `rk` keys only.
    pub scopes: Option<Scopes>,
    /// Origins of the pages that may use it, for `pub` keys only.
    pub origins: Vec<String>,
    pub expires_at: Option<Millis>,
    /// Requests per minute; `None` for the instance's default.
    pub rate_limit_per_minute: Option<i64>,
    /// Credits that it may spend per day, for `pub` keys only; `None` for the instance's default.
    pub daily_cap: Option<i64>,
}

impl KeyRequest {
    /// Describes a key with nothing but a name and a kind.
    pub fn plain(name: &str, kind: KeyKind) -> Self {
        let name = name.to_owned();
        Self {
            name,
            kind,
            scopes: None,
            origins: Vec::new(),
            expires_at: None,
            rate_limit_per_minute: None,
            daily_cap: None,
        }
    }

    /// Returns the scopes of the key: all for `live` and `test` keys, none for `pub` keys.
    pub fn granted(&self) -> Scopes {
        match self.kind {
            KeyKind::Live | KeyKind::Test => Scopes::all(),
            KeyKind::Rk => self.scopes.unwrap_or_default(),
            KeyKind::Pub => Scopes::default(),
        }
    }
}

/// Key that is not stored yet.
pub struct MintedKey {
    pub key: StoredKey,
    pub hash: [u8; 32],
    /// The whole key, which is stored only if it is public.
    pub secret: String,
}

pub fn mint(
    secrets: &Secrets,
    brand: &str,
    org: OrgNo,
    user: Option<UserId>,
    wanted: KeyRequest,
    now: Millis,
) -> MintedKey {
    let secret = api_key::mint(brand, wanted.kind, crate::secrets::random::bytes());
    let visible = api_key::visible(&secret);
    let key = StoredKey {
        org,
        id: crate::secrets::random::id(now),
        user,
        kind: wanted.kind,
        scopes: wanted.granted(),
        origins: wanted.origins,
        prefix: visible.prefix.to_owned(),
        last4: visible.last4.to_owned(),
        public_key: (wanted.kind == KeyKind::Pub).then(|| secret.clone()),
        rate_limit_per_minute: wanted.rate_limit_per_minute,
        daily_cap: wanted.daily_cap,
        created_at: now,
        expires_at: wanted.expires_at,
        revoked_at: None,
        replaced_by: None,
        last_used_at: None,
        name: wanted.name,
    };
    MintedKey { hash: secrets.api_key(&secret), key, secret }
}

/// Normalizes an origin as browsers write it (RFC 6454 §6.2): scheme, host, and a port other than the default. `None` for any
/// other text.
pub fn origin(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok()?;
    let bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
    let anonymous = url.username().is_empty() && url.password().is_none();
    let web = matches!(url.scheme(), "http" | "https");
    (bare && anonymous && web).then(|| url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_kept_as_browsers_write_them() {
        for (given, kept) in [
            ("https://www.example.com", "https://www.example.com"),
            ("HTTPS://WWW.Example.com/", "https://www.example.com"),
            ("https://example.com:443", "https://example.com"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("https://müller.example", "https://xn--mller-kva.example"),
        ] {
            assert_eq!(origin(given).as_deref(), Some(kept), "{given}");
        }
        for refused in
            ["example.com", "https://example.com/page", "https://a@example.com", "ftp://example.com", "null", ""]
        {
            assert_eq!(origin(refused), None, "{refused}");
        }
    }
}
