//! IPv4 addresses carried in IPv6 addresses: a packet to such an address may reach the IPv4 address.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv6Net};

use super::v6;

/// Networks whose addresses carry an IPv4 address in the 32 bits that begin at this bit.
const CARRIERS: &[(Ipv6Net, u32)] = &[
    // RFC 4291 section 2.5.5: compatible and mapped. RFC 2765 section 2.1: translated.
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 96), 96),
    (v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96), 96),
    (v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), 96),
    // RFC 6052 section 2.1: the well-known prefix of NAT64.
    (NAT64, 96),
    // RFC 3056 section 2: 6to4.
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), 16),
    // RFC 4380 section 4: Teredo, the server's address. The client's address is inverted; see `by`.
    (TEREDO, 32),
];

const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);
const TEREDO: Ipv6Net = v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32);

/// RFC 8215: prefixes for local NAT64, of 48 bits or more.
const LOCAL_NAT64: Ipv6Net = v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48);

/// ISATAP interface ids, which precede the IPv4 address (RFC 5214 section 6.1) and may occur in any network.
const ISATAP: [u32; 2] = [0x0000_5efe, 0x0200_5efe];

/// IPv4 addresses that an address may carry. `prefix` is the length of the allowed network that contains it, if any: it determines
/// where a local NAT64 puts them.
pub(super) fn by(address: Ipv6Addr, prefix: u8) -> Vec<Ipv4Addr> {
    // These two are not IPv4-compatible addresses, though within their range (RFC 4291 section 2.5).
    if address.is_unspecified() || address.is_loopback() {
        return Vec::new();
    }
    let carriers = CARRIERS.iter().filter(|(network, _)| network.contains(&address));
    let mut carried: Vec<Ipv4Addr> = carriers.map(|(_, bit)| at_bit(address, *bit)).collect();
    // RFC 4380 section 4: a Teredo address ends with the client's address, each bit inverted.
    if TEREDO.contains(&address) {
        carried.push(Ipv4Addr::from_bits(!at_bit(address, 96).to_bits()));
    }
    if LOCAL_NAT64.contains(&address) {
        carried.extend(local_nat64(address, prefix));
    }
    if ISATAP.contains(&at_bit(address, 64).to_bits()) {
        carried.push(at_bit(address, 96));
    }
    carried
}

/// Whether a network is one in which a NAT64 puts IPv4 addresses.
pub(super) fn is_nat64(network: &IpNet) -> bool {
    matches!(network, IpNet::V6(network) if NAT64.contains(network) || LOCAL_NAT64.contains(network))
}

/// RFC 6052 section 2.2: an IPv4 address follows the prefix, skipping bits 64 to 71, or ends the address. An operator may allow
/// more than the prefix in use, so both positions are read; if one is all zeros, the other has the address.
fn local_nat64(address: Ipv6Addr, prefix: u8) -> Vec<Ipv4Addr> {
    let last = at_bit(address, 96);
    let without_u = (address.to_bits() >> 64 << 56) | (address.to_bits() & ((1 << 56) - 1));
    let after_prefix = match prefix {
        48 | 56 | 64 => Ipv4Addr::from_bits(low_32(without_u >> (120 - 32 - u32::from(prefix)))),
        _ => last,
    };
    let mut both = vec![after_prefix, last];
    both.dedup();
    if both.iter().any(|inner| !inner.is_unspecified()) {
        both.retain(|inner| !inner.is_unspecified());
    }
    both
}

/// The 32 bits from `bit` on (0 is the highest; at most 96).
fn at_bit(address: Ipv6Addr, bit: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(low_32(address.to_bits() >> (96 - bit)))
}

fn low_32(bits: u128) -> u32 {
    let [.., a, b, c, d] = bits.to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}
