//! `[[source]]`: the source IPs of probes.

use std::net::IpAddr;
use std::sync::Arc;

use probity_engine::net::{Proxy, Source};
use probity_mail::time::Millis;
use toml::{Table, Value};

use super::{schema, secret};

/// A source, and the time since which its IP has been in use.
pub(super) type Dated = (Arc<Source>, Option<Millis>);

/// Reads one `[[source]]`; `helo` is the default name.
pub(super) fn read(table: &Table, helo: &str) -> Result<Dated, String> {
    for key in table.keys() {
        if !schema::SOURCE_KEYS.contains(&key.as_str()) {
            let near = schema::nearest(key, schema::SOURCE_KEYS.iter().copied());
            let hint = near.map_or_else(|| schema::SOURCE_KEYS.join("`, `"), str::to_owned);
            return Err(format!("there is no key `{key}`; did you mean `{hint}`?"));
        }
    }
    let bind = address(table, "bind")?;
    let helo = text(table, "helo")?.unwrap_or(helo).to_owned();
    let proxy = text(table, "proxy")?.map(proxy).transpose()?;
    // Behind a proxy, the public address is unknown unless configured.
    let public = address(table, "public")?.or(bind.filter(|_| proxy.is_none()));
    let since = match table.get("in_use_since") {
        None => None,
        Some(Value::String(date)) => Some(day(date).ok_or_else(|| wrong_day(date))?),
        Some(Value::Datetime(date)) => Some(day(&date.to_string()).ok_or_else(|| wrong_day(&date.to_string()))?),
        Some(other) => return Err(wrong_day(&other.to_string())),
    };
    Ok((Arc::new(Source { bind, public, helo, proxy }), since))
}

fn text<'a>(table: &'a Table, key: &str) -> Result<Option<&'a str>, String> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` must be a text in quotes")),
    }
}

fn address(table: &Table, key: &str) -> Result<Option<IpAddr>, String> {
    let Some(text) = text(table, key)? else { return Ok(None) };
    let parsed =
        text.parse().map_err(|_| format!("`{key}` is {text:?}, but must be an IP address such as \"192.0.2.10\""));
    parsed.map(Some)
}

/// Parses `socks5://[user:password@]address:port`.
fn proxy(text: &str) -> Result<Proxy, String> {
    // The text may contain a password, so the message does not repeat it.
    let wrong = || "`proxy` must look like \"socks5://user:password@192.0.2.1:1080\", with an IP address".to_owned();
    if text.contains(secret::HIDDEN) {
        return Err(format!("`proxy` is what `probity config` prints in place of a password; {}", secret::INSTEAD));
    }
    let rest = text.strip_prefix("socks5://").ok_or_else(wrong)?;
    let (login, address) = rest.rsplit_once('@').map_or((None, rest), |(login, address)| (Some(login), address));
    let login = match login.map(|login| login.split_once(':')) {
        None => None,
        Some(Some((user, password))) if !user.is_empty() => Some((user.to_owned(), password.to_owned())),
        Some(_) => return Err(wrong()),
    };
    Ok(Proxy { address: address.parse().map_err(|_| wrong())?, login })
}

fn wrong_day(found: &str) -> String {
    format!("`in_use_since` is {found:?}, but must be a day such as \"2026-01-31\"")
}

/// Returns midnight UTC of a day written `YYYY-MM-DD`.
fn day(text: &str) -> Option<Millis> {
    let mut parts = text.trim().splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1970..=9999).contains(&year) || !(1..=length).contains(&day) {
        return None;
    }
    // Counts years from March, so that the leap day comes last.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    Some(Millis(days * 86_400_000))
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
