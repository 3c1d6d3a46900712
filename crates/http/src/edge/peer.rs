//! Address of the client.
//!
//! Behind a reverse proxy, the connection comes from the proxy, which names its client in `X-Forwarded-For`. Any client can forge
//! that header. It is therefore read from the right, only as far as trusted proxies have written it. The first address that is
//! not a trusted proxy is the client. Without trusted proxies, the header is ignored.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Remote address of a request's connection; an extension of every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// Returns the client's address. An invalid entry ends the search: the last trusted proxy counts as the client.
pub fn client_ip(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |ip: IpAddr| trusted.iter().any(|net| net.contains(&ip));
    let mut client = peer.to_canonical();
    let lines = headers.get_all(&X_FORWARDED_FOR).iter().rev();
    let mut entries = lines.flat_map(|line| line.to_str().unwrap_or("?").rsplit(','));
    while is_trusted(client) {
        let Some(next) = entries.next().and_then(address) else { break };
        client = next;
    }
    client
}

/// Parses an address as proxies write it: bare, in brackets, or with a port.
fn address(entry: &str) -> Option<IpAddr> {
    let entry = entry.trim();
    let bare = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(entry);
    let ip = bare.parse().ok().or_else(|| entry.parse().ok().map(|with_port: SocketAddr| with_port.ip()));
    ip.map(|ip: IpAddr| ip.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trusted_proxies_are_believed() {
        let trusted: Vec<IpNet> = ["10.0.0.0/8", "2001:db8::/32"].iter().map(|net| net.parse().unwrap()).collect();
        // Connection, header lines, expected client.
        let cases: &[(&str, &[&str], &str)] = &[
            ("192.0.2.1", &[], "192.0.2.1"),
            // Not from a proxy: the header is forged.
            ("192.0.2.1", &["198.51.100.7"], "192.0.2.1"),
            ("192.0.2.1", &["10.0.0.1"], "192.0.2.1"),
            ("10.0.0.1", &["198.51.100.7"], "198.51.100.7"),
            // The client forged the left part; the proxy appended the address that it saw.
            ("10.0.0.1", &["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
            ("10.0.0.1", &["10.0.0.9, 198.51.100.7"], "198.51.100.7"),
            ("10.0.0.1", &["203.0.113.9", "198.51.100.7"], "198.51.100.7"),
            // Two proxies in a row.
            ("10.0.0.1", &["203.0.113.9, 198.51.100.7, 10.2.2.2"], "198.51.100.7"),
            ("10.0.0.1", &["198.51.100.7", "10.2.2.2"], "198.51.100.7"),
            // Only proxies, or invalid entries.
            ("10.0.0.1", &["10.0.0.3,10.0.0.2"], "10.0.0.3"),
            ("10.0.0.1", &[""], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.7, nonsense"], "10.0.0.1"),
            ("10.0.0.1", &["nonsense, 10.0.0.2"], "10.0.0.2"),
            // Other spellings of an address.
            ("::ffff:10.0.0.1", &["::ffff:198.51.100.7"], "198.51.100.7"),
            ("2001:db8::1", &["[2a00::7]:443"], "2a00::7"),
            ("2001:db8::1", &["[2a00::7]"], "2a00::7"),
            ("10.0.0.1", &[" 198.51.100.7:5000 "], "198.51.100.7"),
        ];
        for (peer, lines, expected) in cases {
            let mut headers = HeaderMap::new();
            for line in *lines {
                headers.append("x-forwarded-for", line.parse().unwrap());
            }
            let client = client_ip(peer.parse().unwrap(), &headers, &trusted);
            assert_eq!(client, expected.parse::<IpAddr>().unwrap(), "{peer} {lines:?}");
            let alone = client_ip(peer.parse().unwrap(), &headers, &[]);
            assert_eq!(alone, peer.parse::<IpAddr>().unwrap().to_canonical(), "nobody is trusted");
        }
    }
}
