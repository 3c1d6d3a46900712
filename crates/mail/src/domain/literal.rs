//! Address literals (RFC 5321 §4.1.3): recognised, so that the refusal can say what they are, and never accepted.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::address::AddressReason;

/// Says whether a text that begins with `[` is a well-formed literal, which policy refuses, or a broken one.
pub(super) fn judge(text: &str) -> AddressReason {
    let well_formed = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .is_some_and(|literal| is_ipv4(literal) || is_ipv6(literal));
    if well_formed { AddressReason::AddressLiteral } else { AddressReason::BadAddressLiteral }
}

fn is_ipv4(literal: &str) -> bool {
    literal.parse::<Ipv4Addr>().is_ok()
}

/// `IPv6:` is the only tag that IANA has registered, so there is no other literal: a `General-address-literal` with a tag
/// of its own choice is broken.
fn is_ipv6(literal: &str) -> bool {
    let Some((tag, address)) = literal.split_once(':') else {
        return false;
    };
    tag.eq_ignore_ascii_case("IPv6") && address.parse::<Ipv6Addr>().is_ok()
}
