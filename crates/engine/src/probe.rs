//! Runs one domain's plan: performs its requests under the site's pacing, and returns fates as they are decided.
//!
//! The plan decides and has no network; this is the loop around it. Failures (no route, a broken session, our own limits) are
//! passed to the plan, which ends with a fate for each recipient in any case: there is no error to return.
//!
//! Some fates are delayed. Replies match commands by order alone, so at a server that is not trusted, one recipient's reply could
//! be taken for another's. There, fates wait until the session has ended without an extra reply (`Count`). If there was one, they
//! are discarded; if the server left silently, those recipients are probed again, each alone.
//!
//! A dropped probe releases its slot, its place in the queue and its domain permit with its fields.

mod count;
mod dial;
pub(crate) mod redact;
pub(crate) mod sessions;
mod steps;
pub(crate) mod unmatched;

use std::net::IpAddr;
use std::sync::Arc;

use probity_mail::address::Address;
use probity_mail::classify::DialogParties;
use probity_mail::plan::{
    FlightFindings, FlightReader, KnownDomain, ProbeAction, ProbePlan, RecipientFate, is_out_of_place,
};
use probity_mail::policy::Policy;
use probity_mail::smtp::session::{End, Flight, RcptAnswer, Recipient};
use probity_mail::time::Millis;
use probity_mail::verdict::{Mailbox, NotAsked, ProbeStep, Timings};

use self::count::{ReplyCount, is_refusal};
use crate::destination::Destination;
use crate::knowledge::facts::DomainFacts;
use crate::limits::held::{self, WAIT_MS};
use crate::limits::line::QueuePermit;
use crate::net::link::{MailSession, SessionEnding};
use crate::pace::{SiteHold, SitePresence};
use crate::parts::EngineParts;
use crate::request::{Asker, Effort};

/// Time that a job keeps a connection while other customers wait for it, in milliseconds.
const TURN_MS: i64 = 5_000;
/// Time until a retry at a site whose slots were all in use, in milliseconds.
const CROWDED_MS: i64 = 30_000;
/// Time until names are looked up again whose DNS does not answer.
const DNS_AGAIN_MS: i64 = 300_000;
/// Time that a warm session is kept for the next probe, in milliseconds. Servers drop idle clients after minutes.
const IDLE_MS: u64 = 10_000;

/// Where a fate was decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProbeRecord {
    pub(crate) address: Option<IpAddr>,
    pub(crate) tls: bool,
    pub(crate) source: Option<u16>,
    /// Site whose limits apply, once one was chosen.
    pub(crate) site: Option<Arc<str>>,
    pub(crate) timings: Timings,
    /// SMTP dialog so far, if recorded.
    pub(crate) steps: Vec<ProbeStep>,
}

/// One run of a plan.
pub(crate) struct Probe<'a> {
    parts: &'a Arc<EngineParts>,
    destination: &'a Destination,
    recipients: &'a [Address],
    asker: Asker,
    /// Permit for a domain of a job; released while the plan queues for a connection.
    domain: Option<QueuePermit>,
    source: u16,
    source_fixed: bool,
    plan: ProbePlan,
    /// MX host whose facts the plan goes by, and those from before this probe.
    met: (Arc<str>, KnownDomain),
    began: Millis,
    /// Number of missing recipients at the current host.
    missing: u32,
    site: Option<SitePresence>,
    link: Option<(MailSession, crate::pace::SiteSlot)>,
    /// Time when the connection was acquired.
    turn_since: Millis,
    /// Whether another plan wants the connection.
    wanted: bool,
    asked: ProbeRecord,
    /// Fates of the open session that wait for its end.
    held: Vec<(Vec<(u32, RecipientFate)>, ProbeRecord)>,
    session: ReplyCount,
}

impl<'a> Probe<'a> {
    /// A probe of `recipients`, all of the destination's domain. `source` must be kept if greylisting recognizes us by it.
    pub(crate) async fn new(
        parts: &'a Arc<EngineParts>,
        destination: &'a Destination,
        recipients: &'a [Address],
        asker: Asker,
        source: Option<u16>,
    ) -> Self {
        let began = parts.clock.now();
        let mut rng = parts.random.of_probe(&destination.domain);
        let count = u32::try_from(recipients.len()).unwrap_or(u32::MAX);
        let Destination { exchangers, policies, owners, .. } = destination;
        let plan = ProbePlan::new(exchangers, policies.clone(), owners.clone(), count, &mut rng);
        let mut probe = Self {
            parts,
            destination,
            recipients,
            asker,
            domain: None,
            source: source.unwrap_or_else(|| parts.sources.first(&destination.domain)),
            source_fixed: source.is_some(),
            plan,
            met: Default::default(),
            began,
            missing: 0,
            site: None,
            link: None,
            turn_since: Millis::default(),
            wanted: false,
            asked: ProbeRecord::default(),
            held: Vec::new(),
            session: ReplyCount::Fine,
        };
        if let Some(first) = probe.plan.current().map(|mx| mx.host.clone()) {
            probe.meet(first).await;
        }
        probe
    }

    /// Continues with what is known of the domain at this MX host, and stores what the former one showed.
    async fn meet(&mut self, host: Arc<str>) {
        if self.met.0 == host {
            return;
        }
        self.remember().await;
        let known = self.parts.knowledge.of_domain(&self.destination.domain, &host, self.parts.clock.now()).await;
        self.plan.meet(known);
        (self.met, self.missing) = ((host, known), 0);
    }

    /// Learns what other plans of the domain have shown at this MX host meanwhile: each made-up recipient is a miss to the server.
    async fn catch_up(&mut self) {
        let (knowledge, host, now) = (&self.parts.knowledge, self.met.0.clone(), self.parts.clock.now());
        let known = knowledge.of_domain(&self.destination.domain, &host, now).await;
        self.plan.catch_up(known);
        self.met.1 = known;
    }

    /// Runs the probe under a domain permit.
    pub(crate) fn under(self, domain: QueuePermit) -> Self {
        Self { domain: Some(domain), ..self }
    }

    /// Runs until each recipient has its fate; `tell` receives them with where they were decided.
    pub(crate) async fn run(mut self, mut tell: impl FnMut(Vec<(u32, RecipientFate)>, &ProbeRecord)) {
        match &self.destination.settled {
            // The DNS may answer later; its silence is no verdict about anybody.
            Some(Mailbox::NotAsked(why @ NotAsked::Dns)) => self.plan.defer(*why, DNS_AGAIN_MS),
            Some(Mailbox::NotAsked(why @ NotAsked::Budget)) => self.plan.defer(*why, CROWDED_MS),
            Some(mailbox) => self.plan.settle_all(mailbox),
            None => {}
        }
        loop {
            let room = self.room().await;
            match self.plan.next(room) {
                ProbeAction::Resolve { exchanger } => self.resolve(exchanger).await,
                ProbeAction::Dial { exchanger, address, clear } => self.dial(exchanger, address, clear).await,
                ProbeAction::Ask { recipients, random } => self.ask(&recipients, random).await,
                ProbeAction::Leave => {
                    let giving_up = std::mem::take(&mut self.wanted);
                    self.release(giving_up, false).await;
                    // The next plan in the queue may be of the same domain.
                    self.remember().await;
                    self.plan.left();
                }
                ProbeAction::Done => {
                    self.hand_out(&mut tell);
                    self.release(true, true).await;
                    if !self.hand_out(&mut tell) {
                        break;
                    }
                }
            }
            self.hand_out(&mut tell);
        }
        self.remember().await;
    }

    /// Returns the certain fates. Discards those from a session whose server cannot count; true if some recipients are probed
    /// again.
    fn hand_out(&mut self, tell: &mut impl FnMut(Vec<(u32, RecipientFate)>, &ProbeRecord)) -> bool {
        let fates = self.plan.take_fates();
        if !fates.is_empty() {
            self.held.push((fates, self.asked.clone()));
        }
        if self.session == ReplyCount::Open && self.link.is_some() {
            return false;
        }
        let mut again = false;
        let count = std::mem::replace(&mut self.session, ReplyCount::Fine);
        for (mut fates, asked) in std::mem::take(&mut self.held) {
            if count == ReplyCount::Unknown {
                let settled = fates.extract_if(.., |(_, fate)| matches!(fate, RecipientFate::Settled(_)));
                let settled: Vec<u32> = settled.map(|(recipient, _)| recipient).collect();
                again |= !settled.is_empty();
                self.plan.ask_again_alone(&settled);
            } else if count == ReplyCount::Wrong {
                let settled = fates.iter_mut().filter(|(_, fate)| matches!(fate, RecipientFate::Settled(_)));
                settled.for_each(|(_, fate)| *fate = self.plan.withdrawn());
            }
            if !fates.is_empty() {
                if let Some(here) = &mut self.site {
                    here.told(fates.len());
                }
                tell(fates, &asked);
            }
        }
        again
    }

    /// Number of recipients that may be probed now; waits briefly for pacing, else defers the plan.
    async fn room(&mut self) -> Option<u32> {
        let (link, _) = self.link.as_ref()?;
        let site = self.site.as_ref()?.site().clone();
        let policy = self.plan.policy()?.clone();
        let now = self.parts.clock.now();
        self.plan.note_misses(site.misses(now));
        if site.accepts(now) {
            self.plan.note_acceptance();
        }
        if site.drops_after_refusal(now) {
            self.plan.ask_alone();
        }
        let spent = self.plan.asks_alone() && link.refusals() > 0;
        let room = if spent { 0 } else { link.room(&policy, site.mails_max(now), now) };
        let want = self.plan.wants().min(room).min(self.plan.flight_max());
        if want == 0 {
            return Some(room);
        }
        if self.asker.effort == Effort::Batch
            && site.is_wanted(self.asker.customer, now.since(self.turn_since) >= TURN_MS)
        {
            self.wanted = true;
            return Some(0);
        }
        loop {
            let now = self.parts.clock.now();
            match site.admit(now, want, self.asker.effort, self.parts.sources.warmth(self.source, now)) {
                Ok(granted) => return Some(granted),
                Err(hold) if hold.why == NotAsked::Budget && hold.until.since(now) <= WAIT_MS => {
                    held::wait(self.parts.clock.wait_until(hold.until)).await;
                }
                Err(hold) => {
                    self.hold(hold);
                    return Some(room);
                }
            }
        }
    }

    fn hold(&mut self, hold: SiteHold) {
        let after_ms = hold.until.since(self.parts.clock.now());
        self.plan.defer(hold.why, after_ms);
    }

    async fn ask(&mut self, recipients: &[u32], random: bool) {
        let flight = self.flight(recipients, random);
        let keeps_steps = self.keeps_steps();
        let Some((link, _)) = self.link.as_mut() else { return };
        let started = self.parts.clock.now();
        self.parts.tally().count(|all| all.random_rcpts += u64::from(random));
        if keeps_steps {
            link.transcribe();
        }
        let asked = flight.recipients.clone();
        let refused_before = link.refusals() > 0;
        let in_groups = link.pipelines();
        let (answers, end) = link.ask(flight).await;
        let said = link.take_transcript();
        self.record_flight(said, &answers, random, end.as_ref());
        let answers = self.check_group(in_groups, answers, end.as_ref());
        let now = self.parts.clock.now();
        add(&mut self.asked.timings.smtp, now.since(started));
        let refused = refused_before || answers.iter().any(is_refusal);
        let policy = self.plan.policy().cloned();
        let reader = FlightReader { rules: &self.parts.knowledge.rules, us: self.us(), recipients: &asked };
        let heard = self.plan.answered(recipients, answers, random, end.as_ref(), &reader);
        self.book(&heard, policy.as_deref(), now);
        if recipients.len() > 1 || (refused_before && self.waits_for_goodbye()) {
            self.doubt();
        }
        if let Some(end) = &end {
            self.ended(end, refused, now);
        }
    }

    /// Checks the answers of a flight in groups. If lock step does what groups did not, remembers it of the site.
    fn check_group(&mut self, in_groups: bool, answers: Vec<RcptAnswer>, end: Option<&End>) -> Vec<RcptAnswer> {
        if in_groups {
            return self.plan.check_group(answers, end);
        }
        // One timeout proves nothing about a known provider's servers, which all its domains share.
        let is_unknown = self.plan.policy().is_some_and(|policy| policy.provider.is_none());
        let is_right = is_unknown && end.is_none() && !answers.iter().any(is_out_of_place);
        if let Some(here) = self.site.as_ref().filter(|_| is_right && self.plan.asks_in_lock_step()) {
            here.site().ask_in_lock_step();
        }
        answers
    }

    /// Books the observations of a flight about the MX host.
    fn book(&mut self, heard: &FlightFindings, policy: Option<&Policy>, now: Millis) {
        self.parts.tally().count(|all| all.unmatched += heard.unmatched.len() as u64);
        self.parts.unmatched.note(&heard.unmatched, &self.parts.sources);
        if let Some((link, _)) = self.link.as_mut() {
            link.refused(heard.refused);
        }
        self.missing += heard.missing;
        if let (Some(site), Some(policy)) = (&self.site, policy) {
            site.site().record_findings(now, heard, policy);
        }
    }

    fn address(&self, recipient: u32) -> &'a Address {
        &self.recipients[usize::try_from(recipient).expect("an index")]
    }

    /// Our names, as a reply may repeat them.
    fn us(&self) -> DialogParties<'a> {
        let EngineParts { config, sources, .. } = &**self.parts;
        let helo = &sources.at(self.source).helo;
        DialogParties { recipient: "", sender: &config.mail_from, helo, addresses: sources.own_addresses() }
    }

    fn flight(&self, recipients: &[u32], random: bool) -> Flight {
        let mut path = Vec::with_capacity(64);
        let mut all: Vec<Recipient> = Vec::with_capacity(recipients.len() + 1);
        let mut push = |address: &Address| {
            path.clear();
            address.write_path(&mut path);
            all.push(Recipient::new(&path, address.needs_smtputf8()).expect("a parsed address has no control byte"));
        };
        for recipient in recipients {
            push(self.address(*recipient));
        }
        if random {
            let local = self.parts.random.local_part(&self.destination.domain, self.plan.random_number());
            push(&self.recipients[0].with_local(&local).expect("a made-up local part is a dot-atom"));
        }
        Flight { recipients: all, rset: true }
    }

    /// Releases the session: with `kept`, to the next plan that wants it, else with QUIT. `leaving` if this plan is done with the
    /// site. If fates depend on the server's count, waits for the reply to QUIT.
    async fn release(&mut self, kept: bool, leaving: bool) {
        let site = self.site.as_ref().map(|here| here.site().clone());
        let company = self.site.as_ref().is_some_and(SitePresence::has_company);
        if leaving {
            self.site = None;
        }
        let Some((link, slot)) = self.link.take() else { return };
        if self.session == ReplyCount::Open {
            self.session = match self.parts.sessions.part(site.as_deref(), link).await {
                SessionEnding::Said => ReplyCount::Fine,
                SessionEnding::Missing => ReplyCount::Unknown,
                SessionEnding::Miscounted => ReplyCount::Wrong,
            };
            if self.session != ReplyCount::Fine {
                self.plan.distrust();
            }
            return;
        }
        let wanted = kept && (company || self.asker.effort == Effort::Live);
        let dropped = self.plan.asks_alone() && link.refusals() > 0;
        let now = self.parts.clock.now();
        let mails_max = site.as_ref().and_then(|site| site.mails_max(now));
        let spare = self.plan.policy().is_some_and(|policy| link.room(policy, mails_max, now) > 0);
        match site {
            Some(site) if wanted && spare && !dropped => {
                self.parts.sessions.keep_warm(site, link, IDLE_MS);
                drop(slot);
            }
            site => self.parts.sessions.end_holding(site, link, slot),
        }
    }

    /// Stores the plan's facts about its domain at the host it was at. A contradicted fact is removed.
    async fn remember(&mut self) {
        let (host, known) = &mut self.met;
        let (knowledge, now) = (&self.parts.knowledge, self.parts.clock.now());
        let (catch_all, accepts_others) = (self.plan.catch_all(), self.plan.accepts_others());
        let facts = knowledge.learned(*known, catch_all, self.missing > 0, accepts_others, now);
        if facts != DomainFacts::default() {
            *known = KnownDomain { catch_all, accepts_others };
            knowledge.facts.remember(&self.destination.domain, host, facts).await;
        }
    }
}

fn add(total: &mut u32, ms: i64) {
    *total = total.saturating_add(u32::try_from(ms).unwrap_or(u32::MAX));
}
