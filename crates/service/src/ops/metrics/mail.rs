//! Mail to people.

use prometheus_client::registry::Registry;

use crate::ops::metrics::labels::{Counters, Mailed};

/// Mail to people: invitations and notices.
pub struct Mail {
    attempts: Counters<Mailed>,
}

impl Mail {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let help = "Attempts to hand a mail to the relay by what they came to";
        Self { attempts: Counters::register(registry, "probity_mail_attempts", help, "outcome") }
    }

    /// An attempt ended.
    pub fn attempted(&self, outcome: Mailed) {
        self.attempts.of(outcome).inc();
    }
}
