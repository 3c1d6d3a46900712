//! Lists: a realistic one with the mail internet that takes it, and verification as programs feed the engine.
//!
//! The shares are round figures of the size that public statistics report: of consumer providers among subscribers of newsletters, of
//! hosts among the MX records of business domains. 60 % of the addresses are consumers', 40 % are at business domains of 1 to 8
//! addresses. 8 % do not exist. One host stands for all of a provider's.

use std::collections::BTreeMap;
use std::sync::Arc;

use probity_engine::verifier::Verifier as _;
use probity_engine::{AddressOutcome, Engine, JobAddress, OutcomeSink, PriorAttempts};
use probity_mail::facts::lists::Lists;
use probity_mail::policy::bound::{SiteBound, SiteLoad};
use probity_mail::rng::Rng;
use probity_mail::time::Millis;
use probity_mail::verdict::Verification;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::mailbox::{MailboxState, Mailboxes};
use crate::personality::{Greylist, Personality, Recipients, Tls};
use crate::world::{Builder, HostPlan, HostReach, World};
use crate::zone::Zone;

/// Consumer providers: MX host, and the addresses of each domain in a thousand of the list.
const CONSUMERS: [(&str, &[(&str, usize)]); 7] = [
    (GOOGLE, &[("gmail.com", 270)]),
    ("mta5.am0.yahoodns.net", &[("yahoo.com", 72), ("aol.com", 18)]),
    (OUTLOOK, &[("hotmail.com", 35), ("outlook.com", 21), ("live.com", 8), ("msn.com", 6)]),
    ("mx01.mail.icloud.com", &[("icloud.com", 21), ("me.com", 6), ("mac.com", 3)]),
    ("mx00.emig.gmx.net", &[("gmx.de", 12), ("web.de", 14), ("gmx.net", 4)]),
    ("smtp-in.orange.fr", &[("orange.fr", 6), ("wanadoo.fr", 4)]),
    ("mx1.comcast.net", &[("comcast.net", 10)]),
];
const GOOGLE: &str = "aspmx.l.google.com";
const OUTLOOK: &str = "hotmail-com.olc.protection.outlook.com";
/// Access providers without a policy, each with one domain, and their addresses in a thousand of the list.
const ACCESS: (usize, usize) = (9, 10);
/// Shared hosts of business domains, and their addresses in a thousand of the list; the others have a host of their own.
const BUSINESS: [(&str, usize); 2] = [("tenants.mail.protection.outlook.com", 160), (GOOGLE, 80)];
/// Addresses at domains with a host of their own, in a thousand of the list.
const OWN: usize = 160;
/// Most addresses of a business domain.
const DOMAIN_MAX: usize = 8;
/// Percentage of local parts that exist.
const EXISTS_PERCENT: u8 = 92;
/// Delay of greylisting hosts.
const GREYLIST_S: u32 = 300;

/// Kinds of small hosts, of which there are so many in a hundred.
const KINDS: [(SmallHost, usize); 6] = [
    (SmallHost::Honest, 80),
    (SmallHost::Greylisting, 8),
    (SmallHost::CatchAll, 6),
    (SmallHost::Slow, 2),
    (SmallHost::Tarpit, 1),
    (SmallHost::Dead, 3),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SmallHost {
    Honest,
    Greylisting,
    CatchAll,
    /// Takes a second for each reply.
    Slow,
    /// Takes 20 seconds for each reply.
    Tarpit,
    Dead,
}

impl SmallHost {
    fn pick(rng: &mut Rng) -> Self {
        let mut place = rng.below(100);
        for (kind, share) in KINDS {
            match place.checked_sub(share) {
                Some(rest) => place = rest,
                None => return kind,
            }
        }
        Self::Honest
    }

    fn personality(self) -> Personality {
        let honest = Personality { tls: Tls::None, ..Personality::default() };
        match self {
            Self::Honest | Self::Dead => honest,
            Self::Greylisting => Personality { greylist: Some(Greylist { delay_s: GREYLIST_S, hint: true }), ..honest },
            Self::CatchAll => Personality { recipients: Recipients::AcceptAll, ..honest },
            Self::Slow => Personality { pace: Personality::preset("slow").expect("a preset").pace, ..honest },
            Self::Tarpit => Personality { pace: Personality::preset("tarpit").expect("a preset").pace, ..honest },
        }
    }
}

/// A realistic list.
#[derive(Debug)]
pub struct RealisticList {
    /// The mail internet.
    pub world: Arc<World>,
    /// The addresses, domain by domain.
    pub emails: Vec<String>,
    /// MX hosts with their part of the list, as it is.
    pub loads: BTreeMap<String, SiteLoad>,
}

impl RealisticList {
    /// A list of about `size` addresses.
    pub fn new(size: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut domains = Vec::new();
        for (host, shares) in CONSUMERS {
            domains
                .extend(shares.iter().map(|(name, share)| ((*name).to_owned(), host.to_owned(), size * share / 1_000)));
        }
        for n in 0..ACCESS.0 {
            let name = format!("access{n}.net");
            domains.push((name.clone(), format!("mx.{name}"), size * ACCESS.1 / 1_000));
        }
        let hosts = BUSINESS.map(|(host, share)| (Some(host), share)).into_iter().chain([(None, OWN)]);
        for (at, (host, share)) in hosts.enumerate() {
            let mut left = size * share / 1_000;
            while left > 0 {
                let name = format!("firm{at}-{}.com", domains.len());
                let count = (1 + rng.below(DOMAIN_MAX)).min(left);
                let host = host.map_or_else(|| format!("mx.{name}"), str::to_owned);
                domains.push((name, host, count));
                left -= count;
            }
        }
        rng.shuffle(&mut domains);
        let mut draft =
            Draft { world: World::builder().dns_latency_ms(20), emails: Vec::new(), loads: BTreeMap::new() };
        for (domain, host, count) in domains {
            let is_own = count <= DOMAIN_MAX && host == format!("mx.{domain}");
            let kind = is_own.then(|| SmallHost::pick(&mut rng));
            draft = draft.with(&domain, &host, count, kind);
        }
        Self { world: draft.world.build().expect("a world"), emails: draft.emails, loads: draft.loads }
    }

    /// The host that takes longest within an engine's limits, and its least time.
    pub fn bound(&self, engine: &Engine) -> (&str, SiteBound) {
        let bound = |(host, load)| Some((String::as_str(host), engine.manners(host)?.bound(load)));
        self.loads.iter().filter_map(bound).max_by_key(|(_, bound)| bound.ms).unwrap_or_default()
    }
}

/// A list in the making.
struct Draft {
    world: Builder,
    emails: Vec<String>,
    loads: BTreeMap<String, SiteLoad>,
}

impl Draft {
    /// Adds a domain with so many addresses, at this host, which is a provider's unless it is small.
    fn with(mut self, domain: &str, host: &str, count: usize, kind: Option<SmallHost>) -> Self {
        let people = Mailboxes::percent_of("user", EXISTS_PERCENT);
        let missing = (0..count).filter(|n| people.state(&format!("user{n}"), domain) != MailboxState::Exists).count();
        self.emails.extend((0..count).map(|n| format!("user{n}@{domain}")));
        let load = self.loads.entry(host.to_owned()).or_default();
        let count = count as u64;
        load.addresses += count;
        load.largest_domain = load.largest_domain.max(count);
        load.domains += u64::from(!Lists::embedded().known_not_catch_all(domain));
        load.missing += if kind == Some(SmallHost::CatchAll) { 0 } else { missing as u64 };
        if kind == Some(SmallHost::Greylisting) {
            (load.deferred, load.deferral_ms) = (count, i64::from(GREYLIST_S) * 1_000);
        }
        let reach = if kind == Some(SmallHost::Dead) { HostReach::Silent } else { HostReach::Open };
        let plan = HostPlan { latency_ms: 50, reach, ..HostPlan::default() };
        let zone = Zone::served_by(&[host]).with_mailboxes(people);
        let personality = kind.map_or_else(Personality::default, SmallHost::personality);
        Self { world: self.world.zone(domain, zone).host_with(host, personality, plan), ..self }
    }
}

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
