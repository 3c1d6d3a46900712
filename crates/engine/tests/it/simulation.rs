//! The whole engine in random worlds: one seed makes the servers' characters, the mailboxes and the list, and the run is
//! replayed exactly.
//!
//! After each run: every address has one verdict; nobody who exists is called missing and nobody who does not is called
//! valid, whatever the servers did; connections and questions stayed within manners. Two runs of one seed are the same run.
//! `PROBITY_SIM_SEEDS=300` runs more of them, `PROBITY_SIM_SEED=7` one.

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_engine::verifier::Verifier as _;
use probity_mail::policy::{PaceProfile, Policies};
use probity_mail::rng::Rng;
use probity_mail::verdict::{Reason, Status, Verification};
use probity_mailworld::{DnsFault, MailboxState, Mailboxes, Personality, Recipients, TraceHash, World, Zone};

use crate::world::Lab;

/// Domains of one world.
const DOMAINS: usize = 24;
/// Addresses of one domain at most.
const ADDRESSES_MAX: usize = 40;

/// One world with its list.
struct Scene {
    world: Arc<World>,
    emails: Vec<String>,
    mailboxes: BTreeMap<String, Mailboxes>,
    characters: BTreeMap<String, (&'static str, Personality)>,
}

fn scene(seed: u64) -> Scene {
    let mut rng = Rng::new(seed);
    let presets: Vec<&'static str> = Personality::presets().collect();
    let mut builder = World::builder();
    let (mut emails, mut mailboxes, mut characters) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for n in 0..DOMAINS {
        let domain = format!("d{n}.example.com");
        let people = population(&mut rng);
        builder = match rng.below(12) {
            0 => builder.zone(&domain, Zone::null_mx()),
            1 => builder.zone(&domain, Zone::failing(DnsFault::Servfail)),
            2 => builder.zone(
                &domain,
                Zone::served_by(&[&format!("dead{n}.example.com"), "spare.example.com"]).with_mailboxes(people.clone()),
            ),
            _ => {
                let preset = presets[rng.below(presets.len())];
                let personality = Personality::preset(preset).expect("a listed preset");
                characters.insert(domain.clone(), (preset, personality.clone()));
                builder.site(&domain, people.clone(), personality)
            }
        };
        mailboxes.insert(domain.clone(), people);
        for k in 0..=rng.below(ADDRESSES_MAX) {
            emails.push(format!("user{k}@{domain}"));
        }
    }
    let world = builder.host("spare.example.com", Personality::default()).build().expect("a world");
    emails.push("not an address".to_owned());
    emails.push("somebody@nowhere.example.com".to_owned());
    Scene { world, emails, mailboxes, characters }
}

fn population(rng: &mut Rng) -> Mailboxes {
    let percent = u8::try_from(rng.below(101)).expect("a percentage");
    let mut people = Mailboxes::percent_of("user", percent);
    let states = [
        MailboxState::Disabled,
        MailboxState::Full,
        MailboxState::FullForNow,
        MailboxState::Restricted,
        MailboxState::OverRate,
        MailboxState::Unavailable,
        MailboxState::Blocked,
    ];
    for state in states {
        people = people.with(&format!("user{}", rng.below(ADDRESSES_MAX)), state);
    }
    people
}

async fn run(seed: u64, profile: PaceProfile) -> (Scene, Vec<Verification>, Lab) {
    let scene = scene(seed);
    let lab = Lab::new(&scene.world, seed, |config| {
        config.profile = profile;
        config.patience_ms = 6 * 3_600_000;
    });
    let said = lab.batch(&scene.emails).await;
    lab.engine.close(5_000).await;
    (scene, said, lab)
}

fn check(seed: u64, scene: &Scene, said: &[Verification], lab: &Lab) {
    assert_eq!(said.len(), scene.emails.len());
    for (email, said) in scene.emails.iter().zip(said) {
        assert_eq!(*email, *said.email);
        check_truth(seed, scene, said);
    }
    let all = lab.net.hosts();
    assert_eq!((all.data, all.vrfy, all.rcpt_after_421), (0, 0, 0), "seed {seed}");
    let policy = Policies::embedded().for_exchanger("mx.example.com", PaceProfile::Polite);
    for domain in scene.characters.keys() {
        let host = lab.net.host(&format!("mx.{domain}"));
        assert!(host.most_from_one_source <= u64::from(policy.connections), "seed {seed} {domain} {host:?}");
        assert_eq!(host.open, 0, "seed {seed} {domain}: sessions were left open");
    }
}

/// What may be said of an address, given who its domain's servers are and who has a mailbox.
fn check_truth(seed: u64, scene: &Scene, said: &Verification) {
    let Some(people) = scene.mailboxes.get(&*said.domain) else { return };
    let (local, _) = said.email.split_once('@').expect("an address");
    let state = people.state(local, &said.domain);
    let (preset, personality) = match scene.characters.get(&*said.domain) {
        Some((preset, personality)) => (*preset, personality.clone()),
        None => ("", Personality::default()),
    };
    let told = || format!("seed {seed} {} at {preset:?}: {state:?} is called {:?}", said.email, said.verdict);
    // These say of everybody that there is no such mailbox, or of anybody at random: nobody could know better.
    let lies = matches!(personality.recipients, Recipients::RefuseAll | Recipients::FlipFlop);
    match said.verdict.reason {
        // Some providers have one phrase for both.
        Reason::Nonexistent => {
            assert!(lies || matches!(state, MailboxState::Missing | MailboxState::Disabled), "{}", told());
        }
        Reason::Deactivated => assert!(state == MailboxState::Disabled, "{}", told()),
        Reason::InboxFull => assert!(state == MailboxState::Full, "{}", told()),
        Reason::Valid => assert!(lies || matches!(state, MailboxState::Exists | MailboxState::OverRate), "{}", told()),
        Reason::AcceptAll => assert!(
            lies || matches!(personality.recipients, Recipients::AcceptAll) || personality.after_misses.is_some(),
            "{}",
            told()
        ),
        reason => assert!(reason == Reason::Illegitimate || reason.status() == Status::Unknown, "{}", told()),
    }
    if said.verdict.reason == Reason::Illegitimate {
        assert!(preset.is_empty(), "{}", told());
    }
}

fn seeds() -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    match (number("PROBITY_SIM_SEED"), number("PROBITY_SIM_SEEDS")) {
        (Some(seed), _) => vec![seed],
        (None, seeds) => (1..=seeds.unwrap_or(12)).collect(),
    }
}

/// A run has a runtime of its own: nothing of an earlier one, not even a timer, may reach into it.
fn in_paused_time<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime")
        .block_on(work)
}

#[test]
fn verdicts_are_true_and_manners_are_kept_in_every_world() {
    for seed in seeds() {
        in_paused_time(async {
            let (scene, said, lab) = run(seed, PaceProfile::Polite).await;
            check(seed, &scene, &said, &lab);
        });
    }
}

#[test]
fn verdicts_are_true_without_manners() {
    for seed in seeds() {
        in_paused_time(async {
            let (scene, said, _lab) = run(seed, PaceProfile::Open).await;
            for said in &said {
                check_truth(seed, &scene, said);
            }
        });
    }
}

#[test]
fn one_seed_is_one_run() {
    for seed in seeds().into_iter().take(4) {
        let trace = || -> (TraceHash, u64) {
            in_paused_time(async {
                let (_, _, lab) = run(seed, PaceProfile::Polite).await;
                let trace = lab.net.trace();
                (trace.hash(), trace.total())
            })
        };
        let first = trace();
        assert!(first.1 > 100, "something happened");
        assert_eq!(first, trace(), "seed {seed}");
    }
}
