//! Verifies a list as programs feed the engine: in calls of neighbors, and each deferred address again when it is due.

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_engine::verifier::Verifier as _;
use probity_engine::{AddressOutcome, Engine, JobAddress, OutcomeSink, PriorAttempts};
use probity_mail::time::Millis;
use probity_mail::verdict::Verification;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Maximum addresses of one call.
const CALL_MAX: usize = 2_000;

/// Verifies `emails`, of which those of one domain are neighbors, until each has its verdict. Returns the verdicts in their order.
pub async fn verify_list(engine: &Engine, emails: &[String]) -> Vec<Verification> {
    let mut verdicts: Vec<Option<Verification>> = vec![None; emails.len()];
    let mut waiting: BTreeMap<(Millis, usize), PriorAttempts> =
        (0..emails.len()).map(|row| ((Millis::default(), row), PriorAttempts::default())).collect();
    let (sent, mut outcomes) = mpsc::unbounded_channel();
    let sink: OutcomeSink = Arc::new(move |group| sent.send(group).expect("the receiver lives as long as the calls"));
    let mut calls = JoinSet::new();
    loop {
        for items in due(&mut waiting, engine.now(), emails) {
            let (engine, sink) = (engine.clone(), sink.clone());
            calls.spawn(async move { engine.verify_many(items, sink).await });
        }
        let next = waiting.first_key_value().map(|((at, _), _)| *at);
        let mut group = tokio::select! {
            biased;
            Some(group) = outcomes.recv() => group,
            Some(ended) = calls.join_next() => {
                ended.expect("a call ends");
                Vec::new()
            }
            () = engine.wait_until(next.unwrap_or_default()), if next.is_some() => Vec::new(),
        };
        while let Ok(more) = outcomes.try_recv() {
            group.extend(more);
        }
        for (key, outcome) in group {
            let row = usize::try_from(key).expect("a row");
            match outcome {
                AddressOutcome::Settled(said) => {
                    assert!(verdicts[row].replace(said).is_none(), "two verdicts about one address");
                }
                AddressOutcome::PutOff { not_before, tries, .. } => {
                    waiting.insert((not_before, row), tries);
                }
            }
        }
        if waiting.is_empty() && calls.is_empty() {
            break;
        }
    }
    verdicts.into_iter().map(|verdict| verdict.expect("every address has its verdict")).collect()
}

/// Takes the rows that are due, in calls.
fn due(waiting: &mut BTreeMap<(Millis, usize), PriorAttempts>, now: Millis, emails: &[String]) -> Vec<Vec<JobAddress>> {
    let later = waiting.split_off(&(now + 1, 0));
    let rows: Vec<_> = std::mem::replace(waiting, later).into_iter().collect();
    let item = |((_, row), tries): &((Millis, usize), PriorAttempts)| JobAddress {
        key: *row as u64,
        email: emails[*row].as_str().into(),
        customer: 0,
        tries: tries.clone(),
    };
    rows.chunks(CALL_MAX).map(|rows| rows.iter().map(item).collect()).collect()
}
