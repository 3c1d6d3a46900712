//! Verifies many addresses: grouped by domain, each domain one plan with warm sessions, outcomes returned as they are ready.
//!
//! The engine never sleeps on a deferred address: it returns the address with the time of the retry, so no lease and no memory is
//! held while it waits. Patience and attempts are counted here, so that every address gets an outcome.

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_mail::address::Address;
use probity_mail::plan::{RecipientFate, RecipientReport};
use probity_mail::time::Millis;
use probity_mail::verdict::{Mailbox, NotAsked, Silence};
use tokio::task::JoinSet;

use crate::config::EngineConfig;
use crate::destination::Destination;
use crate::knowledge::Knowledge;
use crate::limits::line::QueuePermit;
use crate::parts::EngineParts;
use crate::probe::{Probe, ProbeRecord};
use crate::request::{AddressOutcome, Asker, Effort, JobAddress, OutcomeSink, PriorAttempts, Throttled};
use crate::verifier::answer::{AddressSubject, invalid};

/// Address, with the data to return with its outcome.
struct PlanMember {
    key: u64,
    subject: AddressSubject,
    tries: PriorAttempts,
}

/// Common to the addresses of one plan: domain, source, customer.
type SharedByPlan = (Arc<str>, Option<Arc<str>>, u64);

/// Addresses of one plan.
#[derive(Default)]
struct Group {
    members: Vec<Option<PlanMember>>,
    addresses: Vec<Address>,
}

/// Verifies many addresses.
pub(crate) async fn verify_many(parts: &Arc<EngineParts>, items: Vec<JobAddress>, sink: OutcomeSink) {
    let groups = grouped(&parts.knowledge, items, &sink);
    let mut tasks = JoinSet::new();
    for (shared, group) in groups {
        let permit = parts.work.domain(shared.2).await;
        let (parts, sink) = (parts.clone(), sink.clone());
        tasks.spawn(async move { verify_group(&parts, shared, group, permit, &sink).await });
    }
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

fn grouped(knowledge: &Knowledge, items: Vec<JobAddress>, sink: &OutcomeSink) -> BTreeMap<SharedByPlan, Group> {
    let mut groups: BTreeMap<SharedByPlan, Group> = BTreeMap::new();
    let mut invalids = Vec::new();
    let mut domain: Arc<str> = Arc::from("");
    for JobAddress { key, email, customer, tries } in items {
        let address = match knowledge.parse(&email) {
            Ok(address) => address,
            Err(error) => {
                invalids.push((key, AddressOutcome::Settled(invalid(knowledge, email, &error))));
                continue;
            }
        };
        // Items are sorted by domain, so one name serves many.
        if *domain != *address.domain().ascii() {
            domain = address.domain().ascii().into();
        }
        let subject = AddressSubject::new(email, domain.clone(), &address, knowledge);
        let group = groups.entry((domain.clone(), tries.source.clone(), customer)).or_default();
        group.members.push(Some(PlanMember { key, subject, tries }));
        group.addresses.push(address);
    }
    if !invalids.is_empty() {
        sink(invalids);
    }
    groups
}

async fn verify_group(
    parts: &Arc<EngineParts>,
    shared: SharedByPlan,
    group: Group,
    permit: QueuePermit,
    sink: &OutcomeSink,
) {
    let started = parts.clock.now();
    let (domain, source, customer) = shared;
    let Group { mut members, addresses } = group;
    let destination = Destination::find(&parts.names, &parts.knowledge, domain, Effort::Batch).await;
    // A source that is no longer ours is dropped: greylisting starts over.
    let source = source.and_then(|name| parts.sources.named(&name));
    let asker = Asker { effort: Effort::Batch, customer };
    let probe = Probe::new(parts, &destination, &addresses, asker, source).await;
    probe
        .under(permit)
        .run(|fates, asked| {
            let mut outcomes = Vec::with_capacity(fates.len());
            for (recipient, fate) in fates {
                let index = usize::try_from(recipient).expect("an index");
                let member = members[index].take().expect("a plan gives each recipient one fate");
                let key = member.key;
                outcomes.push((key, outcome(parts, &destination, member, fate, asked, started)));
            }
            sink(outcomes);
        })
        .await;
}

fn outcome(
    parts: &EngineParts,
    destination: &Destination,
    member: PlanMember,
    fate: RecipientFate,
    asked: &ProbeRecord,
    started: Millis,
) -> AddressOutcome {
    let told = match fate {
        RecipientFate::Settled(told) => told,
        RecipientFate::Later { told, after_ms, why, same_source } => {
            let source = same_source.then_some(asked.source).flatten();
            let source = source.map(|source| parts.sources.at(source).name());
            let held = is_ours(&told.mailbox).then(|| Throttled { at: asked.site.clone() });
            let later = RetryDetails { after_ms, why, source, held };
            match put_off(&parts.config, parts.clock.now(), &member, later, started) {
                Some(put_off) => return put_off,
                None => told,
            }
        }
    };
    AddressOutcome::Settled(settled(parts, destination, member, told, asked, started))
}

fn settled(
    parts: &EngineParts,
    destination: &Destination,
    member: PlanMember,
    told: RecipientReport,
    asked: &ProbeRecord,
    started: Millis,
) -> probity_mail::verdict::Verification {
    let attempts = member.tries.count + 1;
    let mut verification =
        member.subject.answer((&parts.knowledge, &parts.sources), destination, told, asked, attempts);
    let total = parts.clock.now().since(member.tries.since.unwrap_or(started));
    verification.evidence.timings.total = u32::try_from(total).unwrap_or(u32::MAX);
    verification
}

/// Details of a retry.
struct RetryDetails {
    after_ms: i64,
    why: &'static str,
    source: Option<Arc<str>>,
    /// Nothing was probed: our own limits or an open circuit throttled it.
    held: Option<Throttled>,
}

/// Whether the cause is ours, not the server's: our limits, an open circuit, this machine without descriptors or ports.
fn is_ours(mailbox: &Mailbox) -> bool {
    matches!(mailbox, Mailbox::NotAsked(NotAsked::Budget | NotAsked::Blocked) | Mailbox::Silent(Silence::Local))
}

/// Schedules a retry within the limits of attempts and time. Throttling does not count as an attempt, and is allowed to last longer
/// than a deferral by the server. Patience with a server begins at the first probe, and later throttling does not shorten it.
fn put_off(
    config: &EngineConfig,
    now: Millis,
    member: &PlanMember,
    later: RetryDetails,
    started: Millis,
) -> Option<AddressOutcome> {
    if member.tries.last {
        return None;
    }
    let not_before = now + later.after_ms;
    let (patience_ms, held_back_ms) = (config.patience_ms, config.held_back_ms.max(config.patience_ms));
    let first = member.tries.since.unwrap_or(started);
    let (count, since, waits) = if later.held.is_some() {
        (member.tries.count, first, not_before.since(first) <= held_back_ms)
    } else if member.tries.count == 0 {
        (1, started, not_before.since(started) <= patience_ms)
    } else {
        // No deferral exceeds the patience, so a later return means that it was throttled meanwhile.
        let from = if started.since(first) > patience_ms { started } else { first };
        (member.tries.count + 1, first, not_before.since(from) <= patience_ms)
    };
    if count >= config.attempts_max || !waits {
        return None;
    }
    let source = later.source.or_else(|| member.tries.source.clone());
    let tries = PriorAttempts { count, since: Some(since), source, last: false };
    Some(AddressOutcome::PutOff { not_before, tries, why: later.why, held: later.held })
}
