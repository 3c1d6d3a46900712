//! Metrics of email to users.

use prometheus_client::registry::Registry;

use crate::metrics::labels::{LabelCounters, Mailed};

/// Counters of invitations and notices.
pub struct Mail {
    attempts: LabelCounters<Mailed>,
}

impl Mail {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let help = "Attempts to hand a mail to the relay by outcome";
        Self { attempts: LabelCounters::register(registry, "probity_mail_attempts", help, "outcome") }
    }

    pub fn attempted(&self, outcome: Mailed) {
        self.attempts.of(outcome).inc();
    }
}
