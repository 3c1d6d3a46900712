//! Destination of a domain's mail: the DNS answer, with the lists' and policies' data about its MX hosts.

use std::net::IpAddr;
use std::sync::Arc;

use probity_mail::dns::{Answer, DnsFailure, Kind, MailRoute, Record, mail_route};
use probity_mail::domain::public_top_level;
use probity_mail::plan::Found;
use probity_mail::policy::{Mode, Policy};
use probity_mail::verdict::{DomainEvidence, Mailbox, MxHost, NotAsked};

use crate::egress::Why;
use crate::inner::Inner;
use crate::pace::Effort;
use crate::resolve::Share;

/// Maximum MX hosts in the evidence, best first: evidence is stored per address, and a domain may list a thousand.
const EVIDENCE_MX_MAX: usize = 20;

/// Destination of a domain's mail.
pub(crate) struct Destination {
    pub(crate) domain: Arc<str>,
    pub(crate) evidence: Arc<DomainEvidence>,
    pub(crate) exchangers: Vec<MxHost>,
    pub(crate) policies: Vec<Arc<Policy>>,
    /// One of the MX hosts serves disposable domains.
    pub(crate) disposable: bool,
    /// The MX hosts belong to a parking service.
    pub(crate) parked: bool,
    /// Reason why there is no host to probe.
    pub(crate) settled: Option<Mailbox>,
}

impl Destination {
    /// Looks a domain up. `domain` is in lower-case A-labels.
    pub(crate) async fn find(inner: &Arc<Inner>, domain: Arc<str>, effort: Effort) -> Self {
        let lookup = inner.resolver.lookup(&domain, Kind::Mx, Share::Begin(effort)).await;
        let mut route = mail_route(&lookup.answer, |host| !inner.special.refuses(host));
        if route == MailRoute::NoDomain
            && let Err(failure) = knows_top_level(inner, &domain).await
        {
            route = MailRoute::Failed(failure);
        }
        let null_mx = route == MailRoute::NullMx;
        let (exists, exchangers, settled) = match route {
            MailRoute::Exchangers(hosts) => (Some(true), hosts, None),
            // RFC 5321 §5.1: an implicit MX has preference 0 and is the domain itself.
            MailRoute::Implicit => (Some(true), vec![MxHost { preference: 0, host: domain.clone() }], None),
            MailRoute::NullMx => (Some(true), Vec::new(), Some(Mailbox::Unroutable("null_mx"))),
            MailRoute::NoDomain => (Some(false), Vec::new(), Some(Mailbox::Unroutable("nxdomain"))),
            // Our own query limit, not the domain's name servers.
            MailRoute::Failed(DnsFailure::Overload) => (None, Vec::new(), Some(Mailbox::NotAsked(NotAsked::Budget))),
            MailRoute::Failed(_) => (None, Vec::new(), Some(Mailbox::NotAsked(NotAsked::Dns))),
        };
        let settled = settled.or_else(|| exchangers.is_empty().then_some(Mailbox::Unroutable("mx_unroutable")));
        let policies: Vec<Arc<Policy>> =
            exchangers.iter().map(|mx| inner.policies.for_exchanger(&mx.host, inner.config.profile)).collect();
        // The first host decides: a provider that never reveals mailboxes is not probed.
        let opaque = policies.first().is_some_and(|policy| policy.mode == Mode::Never);
        let provider =
            exchangers.iter().find_map(|mx| inner.lists.provider(&mx.host)).map(|p| Arc::from(p.id.as_ref()));
        let shown = exchangers.iter().take(EVIDENCE_MX_MAX).cloned().collect();
        Self {
            disposable: exchangers.iter().any(|mx| inner.lists.disposable_exchanger(&mx.host)),
            parked: exchangers.first().is_some_and(|mx| inner.lists.parked_exchanger(&mx.host)),
            settled: settled.or_else(|| opaque.then_some(Mailbox::NotAsked(NotAsked::Opaque))),
            evidence: Arc::new(DomainEvidence { exists, mx: shown, null_mx, provider }),
            domain,
            exchangers,
            policies,
        }
    }

    /// Whether the domain itself is the host, because it has no MX records.
    pub(crate) fn is_implicit(&self) -> bool {
        matches!(self.exchangers.as_slice(), [only] if only.host == self.domain)
    }
}

/// Checks that the resolver knows the domain's public top-level domain. If it denies even that, it is cut off from the internet or
/// sees only a part of it, so other names it denies may exist.
async fn knows_top_level(inner: &Arc<Inner>, domain: &str) -> Result<(), DnsFailure> {
    let Some(top_level) = public_top_level(domain) else { return Ok(()) };
    match inner.resolver.lookup(top_level, Kind::Mx, Share::All).await.answer {
        Answer::NoName => Err(DnsFailure::Refused),
        Answer::Failed(failure) => Err(failure),
        Answer::Records(_) | Answer::Empty => Ok(()),
    }
}

/// Our own limits prevented the look-up.
pub(crate) struct Busy;

/// Addresses of an MX host in this source's address family, IPv4 first because more sources have it.
pub(crate) async fn addresses(
    inner: &Arc<Inner>,
    host: &str,
    share: Share,
    bind: Option<IpAddr>,
) -> Result<Found, Busy> {
    let (four, six) = futures_util::future::join(
        inner.resolver.lookup(host, Kind::A, share),
        inner.resolver.lookup(host, Kind::Aaaa, share),
    )
    .await;
    let fits = |address: &IpAddr| bind.is_none_or(|bind| bind.is_ipv4() == address.is_ipv4());
    let listed: Vec<IpAddr> = [&four.answer, &six.answer].into_iter().flat_map(in_answer).collect();
    let judged: Vec<_> = listed.iter().map(|ip| inner.guard.allows(*ip).map(|()| *ip)).collect();
    let ours = judged.iter().any(|judged| judged.is_err_and(|refusal| refusal.why == Why::Own));
    let mut allowed: Vec<IpAddr> = judged.into_iter().flatten().collect();
    let dialled_elsewhere = !allowed.is_empty();
    allowed.retain(fits);
    if !allowed.is_empty() {
        return Ok(Found::Addresses(allowed));
    }
    let failures = [&four.answer, &six.answer].map(|answer| match answer {
        Answer::Failed(failure) => Some(*failure),
        _ => None,
    });
    if failures.contains(&Some(DnsFailure::Overload)) {
        return Err(Busy);
    }
    // An address of the other family still exists, and an address of this machine accepts mail from others: being unable to dial
    // them is our limitation.
    let unknown = failures != [None, None] || dialled_elsewhere || ours;
    Ok(if unknown { Found::Failed } else { Found::Nothing })
}

fn in_answer(answer: &Answer) -> Vec<IpAddr> {
    let Answer::Records(records) = answer else { return Vec::new() };
    let address = |record: &Record| if let Record::Address(ip) = record { Some(*ip) } else { None };
    records.iter().filter_map(address).collect()
}
