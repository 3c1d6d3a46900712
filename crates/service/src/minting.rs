//! Making API keys, for the API and the command line alike.

use probity_account::api_key::{self, KeyKind};
use probity_account::id::UserId;
use probity_account::scope::Scopes;
use probity_mail::time::Millis;
use probity_store::OrgNo;
use probity_store::keys::Key;

use crate::secrets::Secrets;

/// Origins of a `pub` key, at most.
pub const ORIGINS_MAX: usize = 100;

/// The key that somebody wants.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// What it is called.
    pub name: String,
    /// What sort of key.
    pub kind: KeyKind,
    /// What it may do; for `rk` only.
    pub scopes: Option<Scopes>,
    /// Where it may be used from; for `pub` only.
    pub origins: Vec<String>,
    /// From when on it is refused.
    pub expires_at: Option<Millis>,
    /// Requests a minute; none where the instance's value counts.
    pub rate_limit_per_minute: Option<i64>,
    /// Credits that it may spend a day; for `pub` only, none where the instance's value counts.
    pub daily_cap: Option<i64>,
}

impl Wanted {
    /// A key with nothing but a name and a kind.
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

    /// What it may do: `live` and `test` keys everything, `pub` keys nothing under a scope.
    pub fn granted(&self) -> Scopes {
        match self.kind {
            KeyKind::Live | KeyKind::Test => Scopes::all(),
            KeyKind::Rk => self.scopes.unwrap_or_default(),
            KeyKind::Pub => Scopes::default(),
        }
    }
}

/// A key that was made and is not stored yet.
pub struct Minted {
    pub key: Key,
    pub hash: [u8; 32],
    /// The whole key. It is nowhere else.
    pub secret: String,
}

/// Makes a key.
pub fn mint(secrets: &Secrets, brand: &str, org: OrgNo, user: Option<UserId>, wanted: Wanted, now: Millis) -> Minted {
    let secret = api_key::mint(brand, wanted.kind, crate::random::bytes());
    let visible = api_key::visible(&secret);
    let key = Key {
        org,
        id: crate::random::id(now),
        user,
        kind: wanted.kind,
        scopes: wanted.granted(),
        origins: wanted.origins,
        prefix: visible.prefix.to_owned(),
        last4: visible.last4.to_owned(),
        rate_limit_per_minute: wanted.rate_limit_per_minute,
        daily_cap: wanted.daily_cap,
        created_at: now,
        expires_at: wanted.expires_at,
        revoked_at: None,
        last_used_at: None,
        name: wanted.name,
    };
    Minted { hash: secrets.api_key(&secret), key, secret }
}

/// An origin as browsers write it (RFC 6454 §6.2): scheme, host, and a port that is not the usual one; none for anything else.
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
