//! Names and their addresses, as far as a source may dial them.

use std::net::IpAddr;
use std::sync::Arc;

use probity_mail::dns::{DnsAnswer, DnsFailure, DnsLookup, DnsRecord, QueryKind};
use probity_mail::plan::ResolvedHost;

use crate::destination::resolve::{CachingResolver, QueryShare};
use crate::net::egress::{EgressGuard, RefusalCause};

/// Resolver, and the guard that judges the addresses it finds.
pub(crate) struct NameLookups {
    resolver: Arc<CachingResolver>,
    guard: EgressGuard,
}

/// Our own limits prevented the look-up.
pub(crate) struct LookupThrottled;

impl NameLookups {
    pub(crate) fn new(resolver: Arc<CachingResolver>, guard: EgressGuard) -> Self {
        Self { resolver, guard }
    }

    pub(crate) fn resolver(&self) -> &CachingResolver {
        &self.resolver
    }

    pub(crate) async fn lookup(&self, name: &str, kind: QueryKind, share: QueryShare) -> Arc<DnsLookup> {
        self.resolver.lookup(name, kind, share).await
    }

    /// Whether a name has neither an IPv4 nor an IPv6 address, by authoritative answers (mostly from the cache).
    pub(crate) async fn have_no_address(&self, host: &str, share: QueryShare) -> bool {
        for kind in [QueryKind::A, QueryKind::Aaaa] {
            let lookup = self.lookup(host, kind, share).await;
            if !matches!(lookup.answer, DnsAnswer::Empty | DnsAnswer::NoName | DnsAnswer::NoTarget) {
                return false;
            }
        }
        true
    }

    /// Addresses of an MX host in this source's address family, IPv4 first because more sources have it.
    pub(crate) async fn addresses(
        &self,
        host: &str,
        share: QueryShare,
        bind: Option<IpAddr>,
    ) -> Result<ResolvedHost, LookupThrottled> {
        let (four, six) = futures_util::future::join(
            self.lookup(host, QueryKind::A, share),
            self.lookup(host, QueryKind::Aaaa, share),
        )
        .await;
        let fits = |address: &IpAddr| bind.is_none_or(|bind| bind.is_ipv4() == address.is_ipv4());
        let listed: Vec<IpAddr> = [&four.answer, &six.answer].into_iter().flat_map(in_answer).collect();
        let judged: Vec<_> = listed.iter().map(|ip| self.guard.allows(*ip).map(|()| *ip)).collect();
        let ours = judged.iter().any(|judged| judged.is_err_and(|refusal| refusal.why == RefusalCause::Own));
        let mut allowed: Vec<IpAddr> = judged.into_iter().flatten().collect();
        let dialled_elsewhere = !allowed.is_empty();
        allowed.retain(fits);
        if !allowed.is_empty() {
            return Ok(ResolvedHost::Addresses(allowed));
        }
        let failures = [&four.answer, &six.answer].map(|answer| match answer {
            DnsAnswer::Failed(failure) => Some(*failure),
            _ => None,
        });
        if failures.contains(&Some(DnsFailure::Overload)) {
            return Err(LookupThrottled);
        }
        // An address of the other family still exists, and an address of this machine accepts mail from others: being unable to
        // dial them is our limitation.
        let unknown = failures != [None, None] || dialled_elsewhere || ours;
        Ok(if unknown { ResolvedHost::Failed } else { ResolvedHost::Nothing })
    }
}

fn in_answer(answer: &DnsAnswer) -> Vec<IpAddr> {
    let DnsAnswer::Records(records) = answer else { return Vec::new() };
    let address = |record: &DnsRecord| if let DnsRecord::Address(ip) = record { Some(*ip) } else { None };
    records.iter().filter_map(address).collect()
}
