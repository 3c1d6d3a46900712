//! Verifies many addresses: grouped by domain, each domain one plan with warm sessions, outcomes returned as they are ready.
//!
//! The engine never sleeps on a deferred address: it returns the address with the time of the retry, so no lease and no memory is
//! held while it waits. Patience and attempts are counted here, so that every address gets an outcome.

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_mail::address::Address;
use probity_mail::plan::{Fate, Told};
use probity_mail::time::Millis;
use probity_mail::verdict::{Mailbox, NotAsked, Silence};
use tokio::task::JoinSet;

use crate::answer::{Subject, invalid};
use crate::destination::Destination;
use crate::inner::Inner;
use crate::line::Permit;
use crate::pace::{Asker, Effort};
use crate::probe::{Asked, Probe};
use crate::request::{HeldBack, Item, Outcome, Sink, Tries};

/// Address, with the data to return with its outcome.
struct Member {
    key: u64,
    subject: Subject,
    tries: Tries,
}

/// Common to the addresses of one plan: domain, source, customer.
type Shared = (Arc<str>, Option<Arc<str>>, u64);

/// Addresses of one plan.
#[derive(Default)]
struct Group {
    members: Vec<Option<Member>>,
    addresses: Vec<Address>,
}

/// Verifies many addresses.
pub(crate) async fn verify_many(inner: &Arc<Inner>, items: Vec<Item>, sink: Sink) {
    let groups = grouped(inner, items, &sink);
    let mut tasks = JoinSet::new();
    for (shared, group) in groups {
        let permit = inner.domains.acquire(shared.2).await;
        let (inner, sink) = (inner.clone(), sink.clone());
        tasks.spawn(async move { verify_group(&inner, shared, group, permit, &sink).await });
    }
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

fn grouped(inner: &Arc<Inner>, items: Vec<Item>, sink: &Sink) -> BTreeMap<Shared, Group> {
    let mut groups: BTreeMap<Shared, Group> = BTreeMap::new();
    let mut invalids = Vec::new();
    let mut domain: Arc<str> = Arc::from("");
    for Item { key, email, customer, tries } in items {
        let address = match Address::parse_with(&email, &inner.special) {
            Ok(address) => address,
            Err(error) => {
                invalids.push((key, Outcome::Settled(invalid(inner, email, &error))));
                continue;
            }
        };
        // Items are sorted by domain, so one name serves many.
        if *domain != *address.domain().ascii() {
            domain = address.domain().ascii().into();
        }
        let subject = Subject::new(email, domain.clone(), &address, inner);
        let group = groups.entry((domain.clone(), tries.source.clone(), customer)).or_default();
        group.members.push(Some(Member { key, subject, tries }));
        group.addresses.push(address);
    }
    if !invalids.is_empty() {
        sink(invalids);
    }
    groups
}

async fn verify_group(inner: &Arc<Inner>, shared: Shared, group: Group, permit: Permit, sink: &Sink) {
    let started = inner.clock.now();
    let (domain, source, customer) = shared;
    let Group { mut members, addresses } = group;
    let destination = Destination::find(inner, domain, Effort::Batch).await;
    // A source that is no longer ours is dropped: greylisting starts over.
    let source = source.and_then(|name| inner.source_named(&name));
    let asker = Asker { effort: Effort::Batch, customer };
    let probe = Probe::new(inner, &destination, &addresses, asker, source).await;
    probe
        .under(permit)
        .run(|fates, asked| {
            let mut outcomes = Vec::with_capacity(fates.len());
            for (recipient, fate) in fates {
                let index = usize::try_from(recipient).expect("an index");
                let member = members[index].take().expect("a plan gives each recipient one fate");
                let key = member.key;
                outcomes.push((key, outcome(inner, &destination, member, fate, asked, started)));
            }
            sink(outcomes);
        })
        .await;
}

fn outcome(
    inner: &Arc<Inner>,
    destination: &Destination,
    member: Member,
    fate: Fate,
    asked: &Asked,
    started: Millis,
) -> Outcome {
    let told = match fate {
        Fate::Settled(told) => told,
        Fate::Later { told, after_ms, why, same_source } => {
            let source = same_source.then_some(asked.source).flatten();
            let source = source.map(|source| inner.config.sources[usize::from(source)].name());
            let held = is_ours(&told.mailbox).then(|| HeldBack { at: asked.site.clone() });
            let later = Later { after_ms, why, source, held };
            match put_off(inner, &member, later, started) {
                Some(put_off) => return put_off,
                None => told,
            }
        }
    };
    Outcome::Settled(settled(inner, destination, member, told, asked, started))
}

fn settled(
    inner: &Arc<Inner>,
    destination: &Destination,
    member: Member,
    told: Told,
    asked: &Asked,
    started: Millis,
) -> probity_mail::verdict::Verification {
    let attempts = member.tries.count + 1;
    let mut verification = member.subject.answer(inner, destination, told, asked, attempts);
    let total = inner.clock.now().since(member.tries.since.unwrap_or(started));
    verification.evidence.timings.total = u32::try_from(total).unwrap_or(u32::MAX);
    verification
}

/// Details of a retry.
struct Later {
    after_ms: i64,
    why: &'static str,
    source: Option<Arc<str>>,
    /// Nothing was probed: our own limits or an open circuit throttled it.
    held: Option<HeldBack>,
}

/// Whether the cause is ours, not the server's: our limits, an open circuit, this machine without descriptors or ports.
fn is_ours(mailbox: &Mailbox) -> bool {
    matches!(mailbox, Mailbox::NotAsked(NotAsked::Budget | NotAsked::Blocked) | Mailbox::Silent(Silence::Local))
}

/// Schedules a retry within the limits of attempts and time. Throttling does not count as an attempt, and is allowed to last longer
/// than a deferral by the server. Patience with a server begins at the first probe, and later throttling does not shorten it.
fn put_off(inner: &Arc<Inner>, member: &Member, later: Later, started: Millis) -> Option<Outcome> {
    let not_before = inner.clock.now() + later.after_ms;
    let (patience_ms, held_back_ms) =
        (inner.config.patience_ms, inner.config.held_back_ms.max(inner.config.patience_ms));
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
    if count >= inner.config.attempts_max || !waits {
        return None;
    }
    let tries = Tries { count, since: Some(since), source: later.source.or_else(|| member.tries.source.clone()) };
    Some(Outcome::PutOff { not_before, tries, why: later.why, held: later.held })
}
