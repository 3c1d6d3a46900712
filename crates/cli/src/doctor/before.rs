//! Check before a batch: can this machine probe mail servers at all?
//!
//! The dashboard holds lists on such a machine; a batch has nobody to hold it for, and would only collect unknown verdicts. Both
//! use the same words.

use std::time::Duration;

use anyhow::{Result, anyhow};
use probity_backend::nodes::asking::{AskingState, Essential};
use tokio::time::timeout;

use super::{Check, CheckOutcome, DoctorInputs, identity, port, resolver};
use crate::config::Settings;
use crate::exit::{Exit, ExitsWith};
use crate::log;

/// Maximum time of each check: well-known mail servers answer sooner, or not at all.
const TIME_MAX: Duration = Duration::from_millis(2_500);
/// The dashboard's title of this state.
const TITLE: &str = "This server can't probe mail servers yet.";

/// Refuses a batch on a machine that cannot probe mail servers, before anything is read or written.
pub(crate) async fn require_reach(settings: &Settings) -> Result<()> {
    require(&DoctorInputs::of(settings, false)?).await
}

async fn require(patient: &DoctorInputs) -> Result<()> {
    let (resolvers, ports, identity) = tokio::join!(
        timeout(TIME_MAX, resolver::checks(patient)),
        timeout(TIME_MAX, port::checks(patient)),
        timeout(TIME_MAX, identity::checks(patient)),
    );
    let late = |name: &str, advice: &str, essential| {
        vec![Check::fail(name, format!("no answer within {} s", TIME_MAX.as_secs_f32()), advice).about(essential)]
    };
    let resolvers = resolvers.unwrap_or_else(|_| late("resolver", resolver::ADVICE, Essential::Resolver));
    let ports = ports.unwrap_or_else(|_| late("port outbound", port::ADVICE, Essential::Port));
    let checks = [resolvers, ports, identity.unwrap_or_default()].concat();
    let state = AskingState::of(&checks);
    let Some(lack) = lack(state) else { return Ok(()) };
    let failed = checks.iter().filter(|check| check.outcome == CheckOutcome::Fail && check.essential.is_some());
    let mut lines: Vec<_> =
        failed.map(|check| format!("{}: {}\n  -> {}", check.name, check.found, check.advice)).collect();
    if state == AskingState::NoReverseName {
        log::say(&format!("note: {lack} {}", lines.join("\n")));
        return Ok(());
    }
    lines.insert(0, format!("{TITLE} {lack}"));
    lines.push(
        "Nothing was verified or written. Check again: `probity doctor`. --keep-going verifies anyway.".to_owned(),
    );
    Err(anyhow!(lines.join("\n")).context(ExitsWith(Exit::NoNetwork)))
}

/// Returns the dashboard's sentence for what is missing.
fn lack(state: AskingState) -> Option<&'static str> {
    match state {
        AskingState::Able | AskingState::Unchecked => None,
        AskingState::NoResolver => Some("DNS lookups of mail servers fail."),
        AskingState::PortClosed => Some("Outbound port 25 is closed."),
        AskingState::NoReverseName => Some("Its IP address has no valid reverse name (PTR)."),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::{Layers, Overlay};
    use crate::engine::NoNet;
    use crate::exit;

    #[test]
    fn the_words_are_those_of_the_dashboard() {
        let english = include_str!("../../../../web/messages/en.js");
        let name = |state: AskingState| format!("\"reach.missing.{}\": ", state.as_str());
        assert!(english.contains(&format!("\"reach.title\": \"{TITLE}\"")));
        for state in AskingState::ALL {
            if let Some(lack) = lack(state) {
                assert!(english.contains(&format!("{}\"{lack}\"", name(state))), "{lack}");
            }
        }
    }

    #[tokio::test]
    async fn a_batch_begins_only_where_mail_servers_can_be_probed() {
        let settings =
            Layers::load(&Overlay { file: None, environment: vec![], set: &[] }).unwrap().settings().unwrap();
        require(&DoctorInputs::of(&settings, true).unwrap()).await.unwrap();
        let refused = require(&DoctorInputs::over(&settings, Arc::new(NoNet)).unwrap()).await.unwrap_err();
        assert_eq!(exit::of_error(&refused), Exit::NoNetwork);
        let said = format!("{refused:#}");
        assert!(said.contains("This server can't probe mail servers yet. DNS lookups of mail servers fail."), "{said}");
        assert!(said.contains("--keep-going"), "{said}");
    }
}
