//! Values with a meaning of their own: addresses, URLs, secrets, words.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use ipnet::IpNet;
use probity_account::api_key::{BRAND_MAX_BYTES, is_brand};
use probity_backend::nodes::roles::{NodeRole, Roles};
use probity_connectors::HostAllowance;
use probity_engine::config::PaceProfile;
use secrecy::SecretString;
use toml::Value;
use tracing_subscriber::filter::LevelFilter;

use super::value::{KeyValue, ListItem, Secrecy, ValueForm, WordValue, text, text_with};
use crate::log::LogFormat;

/// Default port of name servers.
const DNS_PORT: u16 = 53;

impl WordValue for PaceProfile {
    const WORDS: &'static [(&'static str, Self)] = &[("polite", Self::Polite), ("open", Self::Open)];
}

impl WordValue for LogFormat {
    const WORDS: &'static [(&'static str, Self)] = &[("text", Self::Text), ("json", Self::Json)];
}

impl WordValue for LevelFilter {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("error", Self::ERROR),
        ("warn", Self::WARN),
        ("info", Self::INFO),
        ("debug", Self::DEBUG),
        ("trace", Self::TRACE),
    ];
}

impl ListItem for SocketAddr {
    const WANTED: &'static str = "an address such as \"127.0.0.1:8080\"";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// A network, or one address.
impl ListItem for IpNet {
    const WANTED: &'static str = "a network such as \"10.1.0.0/16\"";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(Self::from))
    }
}

impl ListItem for NodeRole {
    const WANTED: &'static str = "one of api, worker, delivery, schedule";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// Address of a resolver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameServer(pub SocketAddr);

impl ListItem for NameServer {
    const WANTED: &'static str = "an IP address, with a port or without";

    fn parse(text: &str) -> Option<Self> {
        let bare = || text.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, DNS_PORT));
        text.parse().ok().or_else(bare).map(Self)
    }
}

/// Host of the operator's network, as `host:port`.
#[derive(Clone, Debug)]
pub(crate) struct OwnHost(pub String);

impl ListItem for OwnHost {
    const WANTED: &'static str = "a host with its port such as \"listmonk.lan:9000\"";

    fn parse(text: &str) -> Option<Self> {
        HostAllowance::entry(text).map(Self)
    }
}

/// At least one listen address.
#[derive(Clone, Debug)]
pub(crate) struct ListenAddresses(pub Vec<SocketAddr>);

impl KeyValue for ListenAddresses {
    const FORM: ValueForm = ValueForm::List;

    fn read(value: &Value) -> Result<Self, String> {
        let addresses = Vec::read(value)?;
        let none = || "must have at least one address".to_owned();
        (!addresses.is_empty()).then_some(Self(addresses)).ok_or_else(none)
    }
}

impl KeyValue for Roles {
    const FORM: ValueForm = ValueForm::List;

    fn read(value: &Value) -> Result<Self, String> {
        let named = Vec::<NodeRole>::read(value)?;
        let none = || "must have at least one role: api, worker, delivery, schedule".to_owned();
        (!named.is_empty()).then(|| named.into_iter().collect()).ok_or_else(none)
    }
}

/// A path; `None` for an empty text.
impl KeyValue for Option<PathBuf> {
    fn read(value: &Value) -> Result<Self, String> {
        Ok(Some(text::<Self>(value)?).filter(|path| !path.is_empty()).map(PathBuf::from))
    }
}

/// MAIL FROM of probes.
#[derive(Clone, Debug)]
pub(crate) enum MailFrom {
    Unset,
    /// `<>`.
    NullSender,
    Address(String),
}

impl KeyValue for MailFrom {
    fn read(value: &Value) -> Result<Self, String> {
        let address = match text::<Self>(value)? {
            "" => return Ok(Self::Unset),
            "<>" => return Ok(Self::NullSender),
            address => address,
        };
        let plain = address.is_ascii() && !address.bytes().any(|b| b.is_ascii_control() || b" <>".contains(&b));
        let whole = address.rsplit_once('@').is_some_and(|(local, domain)| !local.is_empty() && domain.contains('.'));
        if !plain || !whole {
            return Err(format!("{address:?} is not an address such as \"probe@example.com\""));
        }
        Ok(Self::Address(address.to_owned()))
    }
}

/// URL for customers, without a trailing slash; `None` if not configured.
#[derive(Clone, Debug)]
pub(crate) struct PublicUrl(pub Option<String>);

impl KeyValue for PublicUrl {
    fn read(value: &Value) -> Result<Self, String> {
        let text = text::<Self>(value)?;
        if text.is_empty() {
            return Ok(Self(None));
        }
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or_default();
        let host = host.trim_end_matches('/');
        let plain = host.bytes().all(|b| b.is_ascii_graphic() && !b"?#@\"'\\".contains(&b));
        if !plain || host.is_empty() {
            return Err("must look like \"https://verify.example.com\"".to_owned());
        }
        if let Some((_, path)) = host.split_once('/') {
            let what = "the service needs a host name or a port of its own, such as \"https://verify.example.com\"";
            return Err(format!("has the path \"/{path}\": {what}"));
        }
        Ok(Self(Some(text.trim_end_matches('/').to_owned())))
    }
}

/// Prefix of new keys.
#[derive(Clone, Debug)]
pub(crate) struct Brand(pub String);

impl KeyValue for Brand {
    fn read(value: &Value) -> Result<Self, String> {
        let brand = text::<Self>(value)?;
        let wanted = || format!("{brand:?} is not a brand: 1 to {BRAND_MAX_BYTES} lower-case letters and digits");
        is_brand(brand).then(|| Self(brand.to_owned())).ok_or_else(wanted)
    }
}

/// A secret of at least `MIN` characters; `None` if not configured.
#[derive(Clone, Debug)]
pub(crate) struct SecretText<const MIN: usize>(pub Option<SecretString>);

impl<const MIN: usize> KeyValue for SecretText<MIN> {
    const SECRECY: Secrecy = Secrecy::Secret;

    fn read(value: &Value) -> Result<Self, String> {
        let text = text_with::<Self>("secret", value)?;
        match text.chars().count() {
            0 => Ok(Self(None)),
            count if count < MIN => Err(format!("must have at least {MIN} characters")),
            _ => Ok(Self(Some(SecretString::from(text)))),
        }
    }
}

/// Location of the database.
#[derive(Clone, Debug)]
pub(crate) enum Database {
    Sqlite(PathBuf),
    /// Complete URL of a server, secret because it may contain a password.
    Postgres(SecretString),
}

/// `None` for an empty text.
impl KeyValue for Option<Database> {
    const SECRECY: Secrecy = Secrecy::Password;

    fn read(value: &Value) -> Result<Self, String> {
        let url = text_with::<Self>("secret", value)?;
        let file = url.strip_prefix("sqlite://").filter(|path| !path.is_empty() && !path.contains('?'));
        let postgres = ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme));
        match (url, file) {
            ("", _) => Ok(None),
            (_, Some(path)) => Ok(Some(Database::Sqlite(PathBuf::from(path)))),
            _ if postgres => Ok(Some(Database::Postgres(SecretString::from(url)))),
            _ => Err("must look like \"postgres://user:password@host/name\" or \"sqlite:///path/to/file\"".to_owned()),
        }
    }
}

/// URL of the mail relay; empty if not configured.
#[derive(Clone, Debug)]
pub(crate) struct RelayUrl(pub SecretString);

impl KeyValue for RelayUrl {
    const SECRECY: Secrecy = Secrecy::Password;

    fn read(value: &Value) -> Result<Self, String> {
        text_with::<Self>("secret", value).map(|url| Self(SecretString::from(url)))
    }
}
