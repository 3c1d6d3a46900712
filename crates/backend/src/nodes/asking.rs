//! Whether this node can probe mail servers: one state for workers and pages.
//!
//! A node that cannot probe would report every mailbox as unknown. It therefore claims no chunk of a live list until a checkup
//! finds that it can. Lists of test keys continue in the sandbox.

use crate::nodes::egress::{Check, CheckOutcome};

/// Checked condition without which no mail server can be probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Essential {
    /// Name servers respond and resolve mail servers.
    Resolver,
    /// An MX host accepts a connection.
    Port,
    /// The source IP has a PTR record, which most MX hosts require.
    ReverseName,
}

probity_mail::named! {
    /// Whether a node can probe mail servers, and the reason if not.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AskingState {
        Able = "able",
        /// The first checkup has not ended.
        Unchecked = "unchecked",
        NoResolver = "resolver",
        PortClosed = "port",
        NoReverseName = "reverse_name",
    }
}

impl AskingState {
    /// Derives the state from a checkup. An open port proves that names resolve. A check of several resolvers or sources fails if
    /// it fails for each of them.
    pub fn of(checks: &[Check]) -> Self {
        let outcomes = |essential| {
            checks.iter().filter(move |check| check.essential == Some(essential)).map(|check| check.outcome)
        };
        let fails = |essential| {
            outcomes(essential).next().is_some() && outcomes(essential).all(|outcome| outcome == CheckOutcome::Fail)
        };
        let is_open = outcomes(Essential::Port).any(|outcome| outcome == CheckOutcome::Ok);
        if !is_open && fails(Essential::Resolver) {
            Self::NoResolver
        } else if fails(Essential::Port) {
            Self::PortClosed
        } else if fails(Essential::ReverseName) {
            Self::NoReverseName
        } else {
            Self::Able
        }
    }

    pub fn is_able(self) -> bool {
        self == Self::Able
    }

    /// Returns why no mail server can be probed; `None` unless that is known.
    pub fn obstacle(self) -> Option<&'static str> {
        match self {
            Self::Able | Self::Unchecked => None,
            Self::NoResolver => Some("no resolver finds mail servers"),
            Self::PortClosed => Some("outbound port 25 is closed"),
            Self::NoReverseName => Some("the source address has no valid reverse name (PTR)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use probity_mail::time::Millis;

    use super::*;
    use crate::nodes::{NodeConfig, NodePresence};

    const OK: CheckOutcome = CheckOutcome::Ok;
    const WARN: CheckOutcome = CheckOutcome::Warn;
    const FAIL: CheckOutcome = CheckOutcome::Fail;

    #[test]
    fn what_fails_everywhere_is_the_obstacle() {
        use Essential::{Port, Resolver, ReverseName};
        let cases: [(&[(Essential, CheckOutcome)], AskingState); 10] = [
            (&[], AskingState::Able),
            (&[(Resolver, OK), (Port, OK), (ReverseName, OK)], AskingState::Able),
            (&[(Resolver, FAIL), (Port, FAIL), (ReverseName, WARN)], AskingState::NoResolver),
            (&[(Resolver, FAIL), (Resolver, OK), (Port, FAIL)], AskingState::PortClosed),
            // A resolver that fails for the first domain, and a mail server of another one that responds.
            (&[(Resolver, FAIL), (Port, OK)], AskingState::Able),
            (&[(Resolver, OK), (Port, FAIL), (ReverseName, FAIL)], AskingState::PortClosed),
            (&[(Resolver, OK), (Port, FAIL), (Port, OK)], AskingState::Able),
            (&[(Resolver, OK), (Port, OK), (ReverseName, FAIL)], AskingState::NoReverseName),
            (&[(Resolver, OK), (Port, OK), (ReverseName, FAIL), (ReverseName, OK)], AskingState::Able),
            // The public address is not configured, or there is no domain to connect to.
            (&[(Resolver, OK), (Port, WARN), (ReverseName, WARN)], AskingState::Able),
        ];
        for (found, expected) in cases {
            let check = |(essential, outcome): &(Essential, CheckOutcome)| {
                Check { outcome: *outcome, ..Check::ok("any", "") }.about(*essential)
            };
            let mut checks: Vec<Check> = found.iter().map(check).collect();
            checks.push(Check::fail("block list", "listed", "ask to be removed"));
            assert_eq!(AskingState::of(&checks), expected, "{found:?}");
        }
    }

    #[test]
    fn the_shared_fact_is_the_last_one() {
        let presence = NodePresence::new(&NodeConfig::default(), Millis(0));
        assert_eq!(presence.asking(), AskingState::Able);
        for asking in AskingState::ALL {
            presence.found_asking(asking);
            assert_eq!(presence.asking(), asking);
        }
    }
}
