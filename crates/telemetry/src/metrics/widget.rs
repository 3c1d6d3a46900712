//! Metrics of widget checks.

use prometheus_client::registry::Registry;

use crate::metrics::labels::{LabelCounters, WidgetOutcome};

pub struct WidgetCounters {
    checks: LabelCounters<WidgetOutcome>,
}

impl WidgetCounters {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let checks = LabelCounters::register(registry, "probity_widget_checks", "Widget checks by outcome", "outcome");
        Self { checks }
    }

    pub fn outcome(&self, outcome: WidgetOutcome) {
        self.checks.of(outcome).inc();
    }
}
