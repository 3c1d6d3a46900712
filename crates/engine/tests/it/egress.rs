//! The guard against the edges of every network it must refuse. The list is written out here once more, as text, so that a
//! slip in the engine's table shows.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use probity_engine::net::egress::{DENIED, EgressGuard, GuardConfig, RefusalCause};
use probity_engine::net::{DialRequest, ProbeSource};
use proptest::prelude::*;

const REFUSED: &[&str] = &[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "168.63.129.16/32",
    "169.254.169.254/32",
    "100.100.100.200/32",
    "::/128",
    "::1/128",
    "::/96",
    "::ffff:0:0/96",
    "::ffff:0:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/23",
    "2001::/32",
    "2001:2::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fd00:ec2::254/128",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    "::/3",
    "4000::/2",
    "8000::/1",
];

/// The first and the last address of a network as numbers, without the help of the type under test.
fn range(network: &str) -> (bool, u128, u128) {
    let (address, prefix) = network.split_once('/').unwrap();
    let prefix: u32 = prefix.parse().unwrap();
    let (v4, first, bits) = match address.parse().unwrap() {
        IpAddr::V4(v4) => (true, u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (false, v6.to_bits(), 128),
    };
    let span = 1u128.checked_shl(bits - prefix).map_or(u128::MAX, |size| size - 1);
    (v4, first, first + span)
}

fn address(v4: bool, number: u128) -> Option<IpAddr> {
    if v4 { u32::try_from(number).ok().map(|bits| IpAddr::V4(bits.into())) } else { Some(IpAddr::V6(number.into())) }
}

fn expected(v4: bool, number: u128) -> bool {
    let mapped = |number: u128| !v4 && number >> 32 == 0xffff;
    if mapped(number) {
        return expected(true, number & 0xffff_ffff);
    }
    !REFUSED.iter().any(|network| {
        let (network_v4, first, last) = range(network);
        network_v4 == v4 && *network != "::ffff:0:0/96" && (first..=last).contains(&number)
    })
}

fn strict() -> EgressGuard {
    EgressGuard::new(GuardConfig::default())
}

fn allowing(networks: &[&str]) -> EgressGuard {
    let allow_networks = networks.iter().map(|network| network.parse::<IpNet>().unwrap()).collect();
    EgressGuard::new(GuardConfig { allow_networks, ..GuardConfig::default() })
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn every_edge_of_every_network() {
    let guard = strict();
    for network in REFUSED {
        let (v4, first, last) = range(network);
        let edges = [first.checked_sub(1), Some(first), Some(last), last.checked_add(1)];
        for number in edges.into_iter().flatten() {
            let Some(address) = address(v4, number) else {
                continue;
            };
            assert_eq!(guard.allows(address).is_ok(), expected(v4, number), "{address}, an edge of {network}");
        }
    }
}

#[test]
fn the_table_is_the_list() {
    for network in REFUSED {
        let network: IpNet = network.parse().unwrap();
        assert!(DENIED.iter().any(|(denied, _)| *denied == network), "{network} is missing");
    }
    assert_eq!(DENIED.len(), REFUSED.len());
}

#[test]
fn reasons_name_the_narrowest_network() {
    for (address, use_of) in [
        ("169.254.169.254", "cloud metadata"),
        ("fd00:ec2::254", "cloud metadata"),
        ("::1", "loopback (RFC 4291)"),
        ("::ffff:127.0.0.1", "loopback (RFC 1122)"),
        ("2001:0:1::", "Teredo (RFC 4380)"),
        ("::ffff:0:7f00:1", "IPv4-translated (RFC 2765)"),
        ("4000::1", "not global unicast (RFC 4291)"),
    ] {
        assert_eq!(strict().allows(ip(address)).unwrap_err().why, RefusalCause::Special(use_of), "{address}");
    }
}

#[test]
fn allowed_networks_open_only_themselves() {
    let guard = allowing(&["127.0.0.0/8", "::1/128"]);
    for open in ["127.0.0.1", "127.255.255.255", "::ffff:127.0.0.1", "::1", "192.0.1.1", "2606:4700::1"] {
        assert_eq!(guard.allows(ip(open)), Ok(()), "{open}");
    }
    for shut in ["128.0.0.1", "10.0.0.1"] {
        assert_eq!(guard.allows(ip(shut)).is_ok(), shut == "128.0.0.1", "{shut}");
    }
}

#[test]
fn a_host_of_the_operator_may_be_private_but_no_metadata_service() {
    let own = GuardConfig { own_addresses: vec![ip("203.0.114.7")], ..GuardConfig::default() };
    let guard = EgressGuard::new(own);
    for open in [
        "10.0.0.7",
        "127.0.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "::1",
        "fd12::1",
        "::ffff:10.0.0.7",
        "203.0.114.7",
        "192.0.1.1",
    ] {
        assert_eq!(guard.allows_own(ip(open)), Ok(()), "{open}");
    }
    for shut in [
        "169.254.169.254",
        "169.254.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "fd00:ec2::254",
        "fe80::1",
        "224.0.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "64:ff9b::a00:1",
        "2002:a00:1::1",
        "fd12::5efe:a9fe:a9fe",
    ] {
        assert!(guard.allows_own(ip(shut)).is_err(), "{shut}");
    }
    assert!(guard.allows(ip("10.0.0.7")).is_err(), "others may not");
}

#[test]
fn allowed_networks_are_not_open_to_hosts_of_customers() {
    let allow_networks = ["10.0.0.0/8", "fd00::/8", "::/0", "64:ff9b::/96", "64:ff9b:1:7::/96"];
    let allow_networks = allow_networks.map(|network| network.parse().unwrap()).to_vec();
    let guard = EgressGuard::new(GuardConfig { allow_networks, ..GuardConfig::default() });
    let of_customers = guard.for_customers();
    for shut in ["10.0.0.7", "fd12::1", "::1"] {
        assert!(guard.allows(ip(shut)).is_ok() && of_customers.allows(ip(shut)).is_err(), "{shut}");
    }
    // Behind a NAT64, public hosts have such addresses.
    for open in ["64:ff9b::808:808", "64:ff9b:1:7::808:808", "9.9.9.9"] {
        assert_eq!(of_customers.allows(ip(open)), Ok(()), "{open}");
    }
    assert!(of_customers.allows(ip("64:ff9b::a00:7")).is_err(), "a private address behind it");
}

/// Addresses that carry an IPv4 address, in networks that are allowed or global: who is behind the IPv4 address decides.
#[test]
fn carried_addresses_must_pass_too() {
    for (allowed, address, open) in [
        ("64:ff9b::/96", "64:ff9b::808:808", true),
        ("64:ff9b::/96", "64:ff9b::7f00:1", false),
        ("64:ff9b::/96", "64:ff9b::a9fe:a9fe", false),
        ("::/96", "::808:808", true),
        ("::/96", "::a00:1", false),
        ("::ffff:0:0:0/96", "::ffff:0:808:808", true),
        ("::ffff:0:0:0/96", "::ffff:0:7f00:1", false),
        ("2002::/16", "2002:808:808::1", true),
        ("2002::/16", "2002:a00:1::1", false),
        // Server 8.8.8.8, client 8.8.4.4 inverted; then a server and a client of a private network.
        ("2001::/32", "2001:0:808:808:0:0:f7f7:fbfb", true),
        ("2001::/32", "2001:0:a00:1:0:0:f7f7:fbfb", false),
        ("2001::/32", "2001:0:808:808:0:0:f5ff:fffe", false),
        // The table of RFC 6052 section 2.4 with the local prefix: 8.10.0.9 and 10.8.8.8 behind prefixes of four lengths.
        ("64:ff9b:1::/48", "64:ff9b:1:80a:0:900::", true),
        ("64:ff9b:1::/48", "64:ff9b:1:a08:8:800::", false),
        ("64:ff9b:1:200::/56", "64:ff9b:1:208:a:9::", true),
        ("64:ff9b:1:200::/56", "64:ff9b:1:20a:8:808::", false),
        ("64:ff9b:1:2::/64", "64:ff9b:1:2:8:a00:900:0", true),
        ("64:ff9b:1:2::/64", "64:ff9b:1:2:a:808:800:0", false),
        ("64:ff9b:1:2:3:4::/96", "64:ff9b:1:2:3:4:808:808", true),
        ("64:ff9b:1:2:3:4::/96", "64:ff9b:1:2:3:4:a08:808", false),
        // More is allowed than the prefix in use, which is a /96.
        ("64:ff9b:1::/48", "64:ff9b:1::808:808", true),
        ("64:ff9b:1::/48", "64:ff9b:1::7f00:1", false),
        ("64:ff9b:1::/48", "64:ff9b:1:808:8:800:a00:1", false),
        ("64:ff9b:1::/48", "64:ff9b:1::", false),
        // ISATAP, in any network: nothing has to be allowed for it.
        ("fe80::/10", "2606:4700::5efe:808:808", true),
        ("fe80::/10", "2606:4700::5efe:a00:1", false),
        ("fe80::/10", "2606:4700::200:5efe:7f00:1", false),
        ("fe80::/10", "fe80::5efe:c0a8:1", false),
        ("fe80::/10", "fe80::1", true),
    ] {
        assert_eq!(allowing(&[allowed]).allows(ip(address)).is_ok(), open, "{address} where {allowed} is allowed");
        let global = ip("2000::")..ip("4000::");
        if !global.contains(&ip(address)) {
            assert!(strict().allows(ip(address)).is_err(), "{address}");
        }
    }
}

#[test]
fn of_ipv6_only_global_unicast_is_open() {
    for top in 0..=u16::MAX {
        let address = IpAddr::V6(std::net::Ipv6Addr::new(top, 0x4700, 0, 0, 0, 0, 0, 0x1111));
        let open = (0x2000..0x4000).contains(&top) && top != 0x2002;
        assert_eq!(strict().allows(address).is_ok(), open, "{address}");
    }
}

#[test]
fn own_addresses_are_refused_unless_allowed() {
    let own_addresses = vec![ip("8.8.8.8"), ip("::ffff:9.9.9.9")];
    let config = GuardConfig { own_addresses, ..GuardConfig::default() };
    let guard = EgressGuard::new(config.clone());
    assert_eq!(guard.allows(ip("8.8.8.8")).unwrap_err().why, RefusalCause::Own);
    assert_eq!(guard.allows(ip("9.9.9.9")).unwrap_err().why, RefusalCause::Own);
    assert_eq!(guard.allows(ip("8.8.8.9")), Ok(()));
    let guard = EgressGuard::new(GuardConfig { allow_networks: vec!["8.8.8.8/32".parse().unwrap()], ..config });
    assert_eq!(guard.allows(ip("8.8.8.8")), Ok(()));
}

#[test]
fn a_dial_is_judged_by_port_and_source() {
    let dial = |address: &str, port| DialRequest {
        address: ip(address),
        port,
        source: Arc::new(ProbeSource {
            bind: Some(ip("10.0.0.5")),
            public: Some(ip("8.8.8.8")),
            helo: "mail.example".into(),
            proxy: None,
        }),
        timeout_ms: 1,
    };
    let why = |dial: &DialRequest| strict().allows_dial(dial).map_err(|refusal| refusal.why);
    assert_eq!(why(&dial("9.9.9.9", 25)), Ok(()));
    assert_eq!(why(&dial("9.9.9.9", 80)), Err(RefusalCause::Port));
    assert_eq!(why(&dial("8.8.8.8", 25)), Err(RefusalCause::Own));
    assert_eq!(why(&dial("::ffff:8.8.8.8", 25)), Err(RefusalCause::Own));
}

proptest! {
    #[test]
    fn any_v4(bits: u32) {
        let number = u128::from(bits);
        prop_assert_eq!(strict().allows(IpAddr::V4(bits.into())).is_ok(), expected(true, number));
        // The same address in its IPv6 disguise fares the same.
        let mapped = IpAddr::V6((0xffff_0000_0000 | number).into());
        prop_assert_eq!(strict().allows(mapped).is_ok(), expected(true, number));
    }

    #[test]
    fn any_v6_near_a_network(index in 0..REFUSED.len(), offset: i64) {
        let (v4, first, last) = range(REFUSED[index]);
        for edge in [first, last] {
            let number = edge.wrapping_add_signed(i128::from(offset));
            if let (false, Some(address)) = (v4, address(v4, number)) {
                prop_assert_eq!(strict().allows(address).is_ok(), expected(v4, number), "{}", address);
            }
        }
    }
}
