//! Names in text and wire format.

use std::fmt::Write;
use std::net::IpAddr;

use hickory_proto::rr::Name;

/// Wire format of an absolute name given as text; `None` if a label is empty, too long, or has anything but letters, digits, hyphen
/// and underscore. Such names are never queried: no MX host has one (RFC 1123 section 2.1).
pub(super) fn wire(text: &str) -> Option<Name> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.is_empty() || !text.bytes().all(plain) {
        return None;
    }
    // `from_labels` rejects empty labels, labels over 63 and names over 255 octets (RFC 1035 section 2.3.4).
    Name::from_labels(text.split('.').map(str::as_bytes)).ok()
}

/// Text form of a name: lower case, without the last dot, the root as `""`. Unprintable octets and dots inside a label are escaped
/// as in zone files (RFC 1035 section 5.1), so that [`wire`] rejects them.
pub(crate) fn text(name: &Name) -> String {
    let mut text = name.to_ascii();
    // The root prints as "."; a dot that belongs to a label stays, because it is escaped and the last dot follows it.
    if text.ends_with('.') {
        text.pop();
    }
    text.make_ascii_lowercase();
    text
}

/// Name under which the DNS keeps the names of an address (RFC 1035 section 3.5, RFC 3596 section 2.5), without the last dot.
/// IPv4-mapped addresses count as IPv4.
pub fn reverse_name(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, c, d] = v4.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(v6) => {
            let mut name = String::with_capacity(72);
            for octet in v6.octets().iter().rev() {
                write!(name, "{:x}.{:x}.", octet & 0xf, octet >> 4).expect("writing to a string cannot fail");
            }
            name + "ip6.arpa"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_takes_hosts_and_refuses_the_rest() {
        for good in ["example.com", "_dmarc.example.com", "xn--bcher-kva.example", "a", "1.0.0.127.in-addr.arpa"] {
            let name = wire(good).expect(good);
            assert!(name.is_fqdn());
            assert_eq!(text(&name), good);
        }
        let long_label = format!("{}.example", "a".repeat(64));
        let long_name = vec!["abcdefg"; 32].join(".");
        for bad in ["", ".", "a..b", "a.", ".a", "a b.c", "a\\.b.c", "a\0.b", "bücher.example", "*.example", "a@b"] {
            assert_eq!(wire(bad), None, "{bad:?}");
        }
        assert_eq!(wire(&long_label), None);
        assert_eq!(wire(&long_name), None);
    }

    #[test]
    fn text_is_lower_case_and_escapes() {
        let name = |labels: &[&[u8]]| Name::from_labels(labels.iter().copied()).unwrap();
        assert_eq!(text(&Name::root()), "");
        assert_eq!(text(&name(&[b"MX1", b"Example", b"COM"])), "mx1.example.com");
        for odd in [&b"a.b"[..], b"a b", b"\0\xff", b"back\\slash", b"ends."] {
            let text = text(&name(&[odd, b"example"]));
            assert!(text.is_ascii() && text.ends_with(".example"), "{text:?}");
            assert_eq!(wire(&text), None, "{text:?} would ask for another name");
        }
    }

    #[test]
    fn reverse_names() {
        let reverse = |address: &str| reverse_name(address.parse().unwrap());
        assert_eq!(reverse("192.0.2.7"), "7.2.0.192.in-addr.arpa");
        assert_eq!(reverse("::ffff:192.0.2.7"), "7.2.0.192.in-addr.arpa");
        // The example of RFC 3596 section 2.5.
        assert_eq!(
            reverse("4321:0:1:2:3:4:567:89ab"),
            "b.a.9.8.7.6.5.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.0.0.0.0.1.2.3.4.ip6.arpa"
        );
    }
}
