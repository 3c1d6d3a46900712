//! Networks that are never dialed unless the configuration allows them.
//!
//! Source: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), all of their entries, and multicast; also the
//! metadata addresses of clouds. Of IPv6, only `2000::/3` is global unicast (RFC 4291 section 2.4): all else is denied, registered
//! or not. Of overlapping networks the narrower comes first, so that the reason names it.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{v4, v6};

const fn four(octets: [u8; 4], prefix: u8) -> IpNet {
    IpNet::V4(v4(octets, prefix))
}

const fn six(groups: [u16; 8], prefix: u8) -> IpNet {
    IpNet::V6(v6(groups, prefix))
}

/// Networks that never receive mail, and the use of each.
pub const DENIED: &[(IpNet, &str)] = &[
    // Metadata and control services of clouds. 168.63.129.16 is an ordinary public address that Azure answers inside a host.
    (four([169, 254, 169, 254], 32), "cloud metadata"),
    (four([100, 100, 100, 200], 32), "cloud metadata"),
    (four([168, 63, 129, 16], 32), "cloud metadata"),
    (six([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128), "cloud metadata"),
    (four([0, 0, 0, 0], 8), "this network (RFC 791)"),
    (four([10, 0, 0, 0], 8), "private use (RFC 1918)"),
    (four([100, 64, 0, 0], 10), "shared address space (RFC 6598)"),
    (four([127, 0, 0, 0], 8), "loopback (RFC 1122)"),
    (four([169, 254, 0, 0], 16), "link local (RFC 3927)"),
    (four([172, 16, 0, 0], 12), "private use (RFC 1918)"),
    (four([192, 0, 0, 0], 24), "protocol assignments (RFC 6890)"),
    (four([192, 0, 2, 0], 24), "documentation (RFC 5737)"),
    (four([192, 31, 196, 0], 24), "AS112 (RFC 7535)"),
    (four([192, 52, 193, 0], 24), "automatic multicast tunnels (RFC 7450)"),
    (four([192, 88, 99, 0], 24), "6to4 relay anycast (RFC 7526)"),
    (four([192, 168, 0, 0], 16), "private use (RFC 1918)"),
    (four([192, 175, 48, 0], 24), "AS112 (RFC 7534)"),
    (four([198, 18, 0, 0], 15), "benchmarking (RFC 2544)"),
    (four([198, 51, 100, 0], 24), "documentation (RFC 5737)"),
    (four([203, 0, 113, 0], 24), "documentation (RFC 5737)"),
    (four([224, 0, 0, 0], 4), "multicast (RFC 5771)"),
    (four([255, 255, 255, 255], 32), "limited broadcast (RFC 919)"),
    (four([240, 0, 0, 0], 4), "reserved (RFC 1112)"),
    (six([0, 0, 0, 0, 0, 0, 0, 0], 128), "unspecified (RFC 4291)"),
    (six([0, 0, 0, 0, 0, 0, 0, 1], 128), "loopback (RFC 4291)"),
    (six([0, 0, 0, 0, 0, 0, 0, 0], 96), "IPv4-compatible (RFC 4291)"),
    // The guard checks mapped addresses as IPv4; this row is for readers of the table and for look-ups of addresses not in
    // canonical form.
    (six([0, 0, 0, 0, 0, 0xffff, 0, 0], 96), "IPv4-mapped (RFC 4291)"),
    (six([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), "IPv4-translated (RFC 2765)"),
    (six([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96), "NAT64 (RFC 6052)"),
    (six([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), "local NAT64 (RFC 8215)"),
    (six([0x100, 0, 0, 0, 0, 0, 0, 0], 64), "discard only (RFC 6666)"),
    (six([0x100, 0, 0, 1, 0, 0, 0, 0], 64), "dummy prefix (RFC 9780)"),
    (six([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), "Teredo (RFC 4380)"),
    (six([0x2001, 2, 0, 0, 0, 0, 0, 0], 48), "benchmarking (RFC 5180)"),
    (six([0x2001, 0x10, 0, 0, 0, 0, 0, 0], 28), "ORCHID (RFC 4843)"),
    (six([0x2001, 0x20, 0, 0, 0, 0, 0, 0], 28), "ORCHID (RFC 7343)"),
    (six([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), "protocol assignments (RFC 2928)"),
    (six([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), "documentation (RFC 3849)"),
    (six([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), "6to4 (RFC 3056)"),
    (six([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48), "AS112 (RFC 7534)"),
    (six([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), "documentation (RFC 9637)"),
    (six([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16), "segment routing (RFC 9602)"),
    (six([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), "unique local (RFC 4193)"),
    (six([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), "link local (RFC 4291)"),
    (six([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), "site local (RFC 3879)"),
    (six([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), "multicast (RFC 4291)"),
    (six([0, 0, 0, 0, 0, 0, 0, 0], 3), "not global unicast (RFC 4291)"),
    (six([0x4000, 0, 0, 0, 0, 0, 0, 0], 2), "not global unicast (RFC 4291)"),
    (six([0x8000, 0, 0, 0, 0, 0, 0, 0], 1), "not global unicast (RFC 4291)"),
];

/// Networks of [`DENIED`] in which operators run servers of their own.
const PRIVATE: &[IpNet] = &[
    four([10, 0, 0, 0], 8),
    four([100, 64, 0, 0], 10),
    four([127, 0, 0, 0], 8),
    four([172, 16, 0, 0], 12),
    four([192, 168, 0, 0], 16),
    six([0, 0, 0, 0, 0, 0, 0, 1], 128),
    six([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
];

/// Whether the narrowest network of [`DENIED`] around an address is private. The metadata services within such networks are not.
pub(super) fn is_private(address: IpAddr) -> bool {
    DENIED.iter().find(|(network, _)| network.contains(&address)).is_some_and(|(network, _)| PRIVATE.contains(network))
}
