//! `[[source]]`: the source IPs of probes.

use std::net::IpAddr;
use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use probity_engine::net::{ProbeSource, Proxy};
use probity_mail::time::Millis;
use toml::{Table, Value};

use super::key::repeated_table;
use super::value::{KeyValue, Secrecy, text, text_with};

repeated_table! {
    /// `[[source]]`.
    SourceTable {
        /// Local address to dial from.
        bind: IpAddr = "192.0.2.10", "chosen by the system";
        /// Address that servers see, if different (NAT). Rate limits, SPF and block lists refer to it, and it belongs to
        /// [one node at a time](postgresql.md#several-nodes).
        public: IpAddr = "192.0.2.10", "the same as bind; unknown with a proxy";
        /// Name sent with EHLO: the PTR name of the public address.
        helo: String = "mx1.example.com", "probe.helo";
        /// SOCKS5 proxy to dial through: `socks5://user:password@address:port`.
        proxy: Proxy = "socks5://user:password@192.0.2.1:1080", "none";
        /// First day of use, `2026-01-31`. A new address is [warmed up](probing.md#limits-and-pauses) over four days.
        in_use_since: FirstDay = "2026-01-31", "long ago";
    }
}

/// A source, and the time since which its IP has been in use.
pub(super) type Dated = (Arc<ProbeSource>, Option<Millis>);

/// Reads one `[[source]]`; `helo` is the default name.
pub(super) fn read(table: &Table, helo: &str) -> Result<Dated, String> {
    let SourceTable { bind, public, helo: own, proxy, in_use_since } = SourceTable::read(table, "")?;
    // Behind a proxy, the public address is unknown unless configured.
    let public = public.or(bind.filter(|_| proxy.is_none()));
    let helo = own.unwrap_or_else(|| helo.to_owned());
    Ok((Arc::new(ProbeSource { bind, public, helo, proxy }), in_use_since.map(|day| day.0)))
}

impl KeyValue for IpAddr {
    fn wanted() -> String {
        "an IP address such as \"192.0.2.10\"".to_owned()
    }

    fn read(value: &Value) -> Result<Self, String> {
        text::<Self>(value)?.parse().map_err(|_| Self::mismatch(value))
    }
}

/// `socks5://[user:password@]address:port`.
impl KeyValue for Proxy {
    const SECRECY: Secrecy = Secrecy::Password;

    fn wanted() -> String {
        "a text such as \"socks5://user:password@192.0.2.1:1080\", with an IP address".to_owned()
    }

    fn read(value: &Value) -> Result<Self, String> {
        let text = text_with::<Self>("password", value)?;
        let wrong = || Self::mismatch(value);
        let rest = text.strip_prefix("socks5://").ok_or_else(wrong)?;
        let (login, address) = rest.rsplit_once('@').map_or((None, rest), |(login, address)| (Some(login), address));
        let login = match login.map(|login| login.split_once(':')) {
            None => None,
            Some(Some((user, password))) if !user.is_empty() => Some((user.to_owned(), password.to_owned())),
            Some(_) => return Err(wrong()),
        };
        Ok(Self { address: address.parse().map_err(|_| wrong())?, login })
    }
}

/// First day of use, as midnight UTC.
#[derive(Debug)]
pub(super) struct FirstDay(Millis);

impl KeyValue for FirstDay {
    fn wanted() -> String {
        "a day such as \"2026-01-31\"".to_owned()
    }

    fn read(value: &Value) -> Result<Self, String> {
        let found = match value {
            Value::String(date) => date.clone(),
            other => other.to_string(),
        };
        day(&found).map(Self).ok_or_else(|| Self::mismatch(value))
    }
}

/// Returns midnight UTC of a day written `YYYY-MM-DD`, not before 1970.
fn day(text: &str) -> Option<Millis> {
    let midnight = Date::strptime("%Y-%m-%d", text.trim()).ok()?.to_zoned(TimeZone::UTC).ok()?;
    Some(Millis(midnight.timestamp().as_millisecond())).filter(|day| day.0 >= 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        let table = [
            ("1970-01-01", Some(0)),
            ("1970-01-02", Some(1)),
            ("2000-02-29", Some(11_016)),
            ("2024-03-01", Some(19_783)),
            ("2023-02-29", None),
            ("2023-13-01", None),
            ("2023-04-31", None),
            ("today", None),
        ];
        for (text, days) in table {
            assert_eq!(day(text), days.map(|days| Millis(days * 86_400_000)), "{text}");
        }
    }

    #[test]
    fn a_source_takes_what_it_lacks_from_its_surroundings() {
        let table: Table = "bind = \"192.0.2.1\"\nproxy = \"socks5://u:p:w@192.0.2.9:1080\"".parse().unwrap();
        let (source, since) = read(&table, "mx.example.com").unwrap();
        assert_eq!(source.public, None, "the world sees the proxy's address");
        let direct = read(&"bind = \"192.0.2.1\"".parse().unwrap(), "x").unwrap().0;
        assert!(direct.public.is_some() && direct.public == direct.bind);
        assert_eq!(source.helo, "mx.example.com");
        assert_eq!(source.proxy.as_ref().unwrap().login, Some(("u".into(), "p:w".into())));
        assert_eq!(since, None);
    }

    #[test]
    fn a_wrong_proxy_does_not_give_its_password_away() {
        let table: Table = "proxy = \"socks5://u:secret@proxy.example:1080\"".parse().unwrap();
        let message = read(&table, "x").unwrap_err();
        assert!(message.contains("proxy") && !message.contains("secret"));
        let printed: Table = "proxy = \"socks5://u:(set)@192.0.2.9:1080\"".parse().unwrap();
        assert!(read(&printed, "x").unwrap_err().contains("in place of a password"));
    }
}
