//! Metrics of verdicts: by reason, and by status and mail provider.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use probity_mail::verdict::{Reason, Status, Verification};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::metrics::labels::{Label, Origin};

const STATUSES: usize = Status::ALL.len();
const ORIGINS: usize = <Origin as Label>::ALL.len();
/// Label of all unknown providers.
const OTHER: &str = "other";

type ByReason = Family<[(&'static str, &'static str); 2], Counter>;
type ByProvider = Family<[(&'static str, String); 3], Counter>;
/// A provider's counters by origin and status. Each is created at its first verdict, because most providers are rare.
type ProviderCounters = [[OnceLock<Counter>; STATUSES]; ORIGINS];

pub struct VerdictCounters {
    /// Counters by origin, then by reason.
    by_reason: Vec<Vec<Counter>>,
    by_provider: ByProvider,
    providers: BTreeMap<Box<str>, ProviderCounters>,
    other: ProviderCounters,
}

impl VerdictCounters {
    pub(super) fn register(registry: &mut Registry, providers: &BTreeSet<&str>) -> Self {
        let (reasons, by_provider) = (ByReason::default(), ByProvider::default());
        let of = |origin: &Origin, reason: &Reason| {
            reasons.get_or_create_owned(&[("reason", reason.as_str()), ("source", origin.text())])
        };
        let by_reason = Origin::ALL.iter().map(|origin| Reason::ALL.iter().map(|reason| of(origin, reason)).collect());
        let by_reason = by_reason.collect();
        registry.register("probity_verdicts", "Verdicts by reported reason", reasons);
        registry.register(
            "probity_provider_verdicts",
            "Verdicts by status and the domain's mail provider",
            by_provider.clone(),
        );
        let providers = providers.iter().map(|id| (Box::from(*id), ProviderCounters::default())).collect();
        Self { by_reason, by_provider, providers, other: ProviderCounters::default() }
    }

    pub fn record(&self, origin: Origin, verification: &Verification) {
        let provider = verification.evidence.domain.as_ref().and_then(|domain| domain.provider.as_deref());
        self.record_reason(origin, verification.verdict.reason, provider);
    }

    /// Counts a verdict of which only the reason and the provider's ID are known.
    pub fn record_reason(&self, origin: Origin, reason: Reason, provider: Option<&str>) {
        self.by_reason[origin.index()][reason.index()].inc();
        let known = provider.and_then(|id| self.providers.get_key_value(id));
        let (id, counters) = known.map_or((OTHER, &self.other), |(id, counters)| (id, counters));
        let status = reason.status();
        let counter = counters[origin.index()][status.index()].get_or_init(|| {
            let labels = [("status", status.text()), ("provider", id), ("source", origin.text())];
            self.by_provider.get_or_create_owned(&labels.map(|(key, value)| (key, value.to_owned())))
        });
        counter.inc();
    }
}
