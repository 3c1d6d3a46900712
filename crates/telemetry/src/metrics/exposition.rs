//! Access to the metrics, and their text format.
//!
//! Metrics contain no address and no customer, but reveal the volume of business and the providers that refuse us. If a token
//! is configured, every reader needs it. Otherwise only this machine and private networks may read, where scrapers usually run;
//! for all others the metrics do not exist. A request through a proxy may come from anywhere, so it counts as one from outside.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, header};
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;

static BY_PROXIES: [HeaderName; 4] =
    [HeaderName::from_static("x-forwarded-for"), HeaderName::from_static("x-real-ip"), header::FORWARDED, header::VIA];

/// Returns whether an address is of this machine or of a private network: loopback, RFC 1918, RFC 4193, and link-local (RFC 3927,
/// RFC 4291 §2.5.6). Also decides where people can sign in without TLS.
pub fn is_near(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

/// Decision about a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsAccess {
    Granted,
    /// The token is required (401).
    Denied,
    /// The metrics do not exist for this reader (404).
    Hidden,
}

/// Access rules.
pub struct Readers {
    token: Option<SecretString>,
}

impl Readers {
    /// Allows everybody who has the token. Without one (or with an empty one), allows this machine and private networks.
    pub fn new(token: Option<SecretString>) -> Self {
        Self { token: token.filter(|token| !token.expose_secret().is_empty()) }
    }

    /// Decides about a request from `peer` with a bearer token.
    pub fn access(&self, peer: Option<IpAddr>, headers: &HeaderMap, given: Option<&str>) -> MetricsAccess {
        if let Some(token) = &self.token {
            let same = |given: &str| bool::from(given.as_bytes().ct_eq(token.expose_secret().as_bytes()));
            return if given.is_some_and(same) { MetricsAccess::Granted } else { MetricsAccess::Denied };
        }
        let proxied = BY_PROXIES.iter().any(|name| headers.contains_key(name));
        if peer.is_some_and(is_near) && !proxied { MetricsAccess::Granted } else { MetricsAccess::Hidden }
    }
}

/// Text format of the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpositionForm {
    /// `OpenMetrics` 1.0.
    OpenMetrics,
    /// Older text format of Prometheus, for people and for readers that do not request the other one.
    Plain,
}

impl ExpositionForm {
    /// Returns the format that a request asks for.
    pub fn wanted(headers: &HeaderMap) -> Self {
        let named = |value: &header::HeaderValue| {
            value.to_str().is_ok_and(|text| text.contains("application/openmetrics-text"))
        };
        if headers.get_all(header::ACCEPT).iter().any(named) { Self::OpenMetrics } else { Self::Plain }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Converts `OpenMetrics` to this format. The older one adds `_total` to the name of a counter, as in its samples, and has
    /// no end mark.
    pub(super) fn rewritten(self, open_metrics: String) -> String {
        if self == Self::OpenMetrics {
            return open_metrics;
        }
        let mut plain = String::with_capacity(open_metrics.len() + 1_024);
        let mut help: Option<(&str, &str)> = None;
        for line in open_metrics.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                help = rest.split_once(' ');
            } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
                let suffix = if kind == "counter" { "_total" } else { "" };
                if let Some((_, text)) = help.take() {
                    plain.extend(["# HELP ", name, suffix, " ", text, "\n"]);
                }
                plain.extend(["# TYPE ", name, suffix, " ", kind, "\n"]);
            } else if !line.starts_with('#') {
                plain.extend([line, "\n"]);
            }
        }
        plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn without_a_token_only_near_readers_see_anything() {
        let readers = Readers::new(None);
        for (peer, wanted) in [
            ("127.0.0.1", MetricsAccess::Granted),
            ("127.8.8.8", MetricsAccess::Granted),
            ("::1", MetricsAccess::Granted),
            ("::ffff:127.0.0.1", MetricsAccess::Granted),
            ("10.1.2.3", MetricsAccess::Granted),
            ("172.31.0.1", MetricsAccess::Granted),
            ("172.32.0.1", MetricsAccess::Hidden),
            ("192.168.1.1", MetricsAccess::Granted),
            ("192.169.1.1", MetricsAccess::Hidden),
            ("fd12::1", MetricsAccess::Granted),
            ("fe80::1", MetricsAccess::Granted),
            ("2001:db8::1", MetricsAccess::Hidden),
            ("::ffff:203.0.113.7", MetricsAccess::Hidden),
            ("203.0.113.7", MetricsAccess::Hidden),
            ("0.0.0.0", MetricsAccess::Hidden),
        ] {
            assert_eq!(readers.access(Some(peer.parse().unwrap()), &HeaderMap::new(), None), wanted, "{peer}");
        }
        assert_eq!(readers.access(None, &HeaderMap::new(), None), MetricsAccess::Hidden);
    }

    #[test]
    fn what_a_proxy_passes_on_comes_from_outside() {
        let readers = Readers::new(None);
        for name in ["x-forwarded-for", "x-real-ip", "forwarded", "via"] {
            let access = readers.access(Some([127, 0, 0, 1].into()), &headers(&[(name, "1.1 proxy")]), None);
            assert_eq!(access, MetricsAccess::Hidden, "{name}");
        }
        let token = Readers::new(Some("t0ken".into()));
        let access = token.access(None, &headers(&[("via", "1.1 proxy")]), Some("t0ken"));
        assert_eq!(access, MetricsAccess::Granted, "the token is good from everywhere");
    }

    #[test]
    fn a_token_is_required_of_everybody() {
        let readers = Readers::new(Some("t0ken".into()));
        let near = Some(IpAddr::from([127, 0, 0, 1]));
        for (given, wanted) in [
            (Some("t0ken"), MetricsAccess::Granted),
            (Some("t0ke"), MetricsAccess::Denied),
            (Some("t0ken2"), MetricsAccess::Denied),
            (Some("T0KEN"), MetricsAccess::Denied),
            (Some(""), MetricsAccess::Denied),
            (None, MetricsAccess::Denied),
        ] {
            assert_eq!(readers.access(near, &HeaderMap::new(), given), wanted, "{given:?}");
        }
        let open = Readers::new(Some("".into())).access(near, &HeaderMap::new(), None);
        assert_eq!(open, MetricsAccess::Granted, "no token");
    }

    #[test]
    fn the_older_form_names_counters_as_its_samples_are_named() {
        let text = "# HELP a_b Things.\n# TYPE a_b counter\na_b_total{x=\"# TYPE\"} 1\n# HELP c C.\n# TYPE c gauge\n# UNIT c s\nc 2\n# EOF\n";
        let plain = "# HELP a_b_total Things.\n# TYPE a_b_total counter\na_b_total{x=\"# TYPE\"} 1\n# HELP c C.\n# TYPE c gauge\nc 2\n";
        assert_eq!(ExpositionForm::Plain.rewritten(text.to_owned()), plain);
        assert_eq!(ExpositionForm::OpenMetrics.rewritten(text.to_owned()), text);
    }

    #[test]
    fn the_form_is_what_the_reader_asks_for() {
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.4,*/*;q=0.1";
        assert_eq!(ExpositionForm::wanted(&headers(&[("accept", prometheus)])), ExpositionForm::OpenMetrics);
        assert_eq!(ExpositionForm::wanted(&headers(&[("accept", "*/*")])), ExpositionForm::Plain);
        assert_eq!(ExpositionForm::wanted(&HeaderMap::new()), ExpositionForm::Plain);
    }
}
