//! Destination of a domain's mail: the DNS answer, with the lists' and policies' data about its MX hosts.

pub(crate) mod names;
pub(crate) mod resolve;

use std::sync::Arc;

use probity_mail::dns::{DnsFailure, MailRoute, QueryKind, faulty_mx, mail_route};
use probity_mail::plan::HostOwner;
use probity_mail::policy::{Mode, Policy};
use probity_mail::verdict::{DomainEvidence, Mailbox, MxHost, NotAsked};

use crate::destination::names::NameLookups;
use crate::destination::resolve::QueryShare;
use crate::knowledge::Knowledge;
use crate::request::Effort;

/// Maximum MX hosts in the evidence, best first: evidence is stored per address, and a domain may list a thousand.
const EVIDENCE_MX_MAX: usize = 20;

/// Destination of a domain's mail.
pub(crate) struct Destination {
    pub(crate) domain: Arc<str>,
    pub(crate) evidence: Arc<DomainEvidence>,
    pub(crate) exchangers: Vec<MxHost>,
    pub(crate) policies: Vec<Arc<Policy>>,
    pub(crate) owners: Vec<HostOwner>,
    /// One of the MX hosts serves disposable domains.
    pub(crate) disposable: bool,
    /// The MX hosts belong to a parking service.
    pub(crate) parked: bool,
    /// Reason why there is no host to probe.
    pub(crate) settled: Option<Mailbox>,
}

impl Destination {
    /// Looks a domain up. `domain` is in lower-case A-labels.
    pub(crate) async fn find(names: &NameLookups, knowledge: &Knowledge, domain: Arc<str>, effort: Effort) -> Self {
        let lookup = names.lookup(&domain, QueryKind::Mx, QueryShare::Begin(effort)).await;
        let usable = |host: &str| !knowledge.special.refuses(host);
        let route = mail_route(&lookup.answer, usable);
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
        let policies: Vec<Arc<Policy>> = exchangers.iter().map(|mx| knowledge.policy(&mx.host)).collect();
        let owner = |(mx, policy): (&MxHost, &Arc<Policy>)| {
            let listed = knowledge.lists.provider(&mx.host).map(|provider| &*provider.id);
            HostOwner::of(&mx.host, &domain, listed.or(policy.provider.as_deref()))
        };
        let owners = exchangers.iter().zip(&policies).map(owner).collect();
        // The first host decides: a provider that never reveals mailboxes is not probed.
        let opaque = policies.first().is_some_and(|policy| policy.mode == Mode::Never);
        let provider =
            exchangers.iter().find_map(|mx| knowledge.lists.provider(&mx.host)).map(|p| Arc::from(p.id.as_ref()));
        // Faulty records come last: nobody is asked there, but the domain's owner can see what is wrong.
        let faulty = faulty_mx(&lookup.answer, usable);
        let shown = exchangers.iter().cloned().chain(faulty).take(EVIDENCE_MX_MAX).collect();
        Self {
            disposable: exchangers.iter().any(|mx| knowledge.lists.disposable_exchanger(&mx.host)),
            parked: exchangers.first().is_some_and(|mx| knowledge.lists.parked_exchanger(&mx.host)),
            settled: settled.or_else(|| opaque.then_some(Mailbox::NotAsked(NotAsked::Opaque))),
            evidence: Arc::new(DomainEvidence { exists, mx: shown, null_mx, provider }),
            domain,
            exchangers,
            policies,
            owners,
        }
    }

    /// Whether nobody has a mailbox at the domain, as far as DNS and the probe can tell.
    pub(crate) fn takes_no_mail(&self, mailbox: &Mailbox) -> bool {
        match mailbox {
            Mailbox::Unroutable(_) => true,
            // The address of a domain without MX records is often that of a web server.
            Mailbox::Silent(_) => self.parked || self.is_implicit(),
            _ => self.parked,
        }
    }

    /// Whether the domain itself is the host, because it has no MX records.
    pub(crate) fn is_implicit(&self) -> bool {
        matches!(self.exchangers.as_slice(), [only] if only.host == self.domain)
    }
}
