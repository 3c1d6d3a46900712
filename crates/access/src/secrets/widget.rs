//! Keyed hashes of the widget: nonces, visitors, and the days of its jobs.

use std::net::IpAddr;

use probity_account::id::KeyId;
use probity_store::OrgNo;

use crate::secrets::{Secrets, short_tag, tag};

impl Secrets {
    /// Returns the tag of a nonce over everything to which it is bound.
    pub fn widget_nonce(&self, parts: &[&[u8]]) -> [u8; 32] {
        let parts: Vec<&[u8]> = [b"nonce".as_slice()].into_iter().chain(parts.iter().copied()).collect();
        tag(&self.widget, &parts)
    }

    /// Returns the pseudonym of a visitor of a key's pages, in memory and in nonces. It does not reveal the visitor's network,
    /// and differs between keys. `from` is `None` only for calls within the process.
    pub fn visitor(&self, key: KeyId, from: Option<IpAddr>) -> [u8; 16] {
        let network = match from {
            Some(IpAddr::V4(ip)) => ip.octets().to_vec(),
            Some(IpAddr::V6(ip)) => ip.octets().to_vec(),
            None => Vec::new(),
        };
        short_tag(&self.widget, &[b"visitor", &key.bits().to_be_bytes(), &network])
    }

    /// Returns the hash from which the ID of an organization's daily widget job is made.
    pub fn widget_day(&self, org: OrgNo, day: i64) -> [u8; 32] {
        tag(&self.widget, &[b"day", &org.0.to_be_bytes(), &day.to_be_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use probity_mail::time::Millis;

    use super::*;

    #[test]
    fn a_visitor_is_another_one_to_another_key() {
        let secrets = Secrets::of(&[1; 32]);
        let key = |n| KeyId::new(Millis(0), [n; 10]);
        let from = |text: &str| Some(text.parse().unwrap());
        let visitor = secrets.visitor(key(1), from("192.0.2.7"));
        assert_eq!(visitor, secrets.visitor(key(1), from("192.0.2.7")));
        assert_ne!(visitor, secrets.visitor(key(1), from("192.0.2.8")));
        assert_ne!(visitor, secrets.visitor(key(2), from("192.0.2.7")));
        assert_ne!(visitor, Secrets::of(&[2; 32]).visitor(key(1), from("192.0.2.7")));
        assert_ne!(secrets.widget_day(OrgNo(1), 5), secrets.widget_day(OrgNo(1), 6));
        assert_ne!(secrets.widget_day(OrgNo(1), 5), secrets.widget_day(OrgNo(2), 5));
    }
}
