//! Checks of the widget.

use prometheus_client::registry::Registry;

use crate::ops::metrics::labels::{Counters, WidgetOutcome};

/// Checks of the widget.
pub struct Widget {
    checks: Counters<WidgetOutcome>,
}

impl Widget {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let checks = Counters::register(
            registry,
            "probity_widget_checks",
            "Checks of the widget by what came of them",
            "outcome",
        );
        Self { checks }
    }

    /// A check came to its end.
    pub fn outcome(&self, outcome: WidgetOutcome) {
        self.checks.of(outcome).inc();
    }
}
