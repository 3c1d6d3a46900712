//! Acquires a session: addresses of the MX host, its site, a place in the queue, a warm session or a new one.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use probity_mail::classify::DialogStage;
use probity_mail::plan::{DialFault, ResolvedHost};
use probity_mail::policy::{Policy, TlsPolicy};
use probity_mail::smtp::session::{Config, Timeouts, TlsMode};
use probity_mail::verdict::{Mailbox, NotAsked, Silence};

use super::{CROWDED_MS, Probe, add};
use crate::destination::resolve::QueryShare;
use crate::limits::held;
use crate::net::DialRequest;
use crate::net::link::{DialRefused, MailSession};
use crate::pace::{Site, SitePresence, SiteSlot};
use crate::request::{Asker, Effort};

/// Longest wait of a live call for a connection slot, in milliseconds.
const SLOT_MS: u64 = 10_000;
/// Longest wait of a job for a connection slot, in milliseconds.
const LINE_MS: u64 = 300_000;
/// Number of addresses of a domain from which the site of its mail is remembered: later ones can then check the capacity there.
const HOME_ROWS: usize = 100;

impl Probe<'_> {
    pub(super) async fn resolve(&mut self, exchanger: usize) {
        let started = self.parts.clock.now();
        let (mx, policy) = self.plan.exchanger(exchanger);
        let host = mx.host.clone();
        let share = if policy.provider.is_some() { QueryShare::All } else { QueryShare::GoOn(self.asker.effort) };
        let bind = self.parts.sources.at(self.source).bind;
        let found = self.parts.names.addresses(&host, share, bind).await;
        add(&mut self.asked.timings.dns, self.parts.clock.now().since(started));
        let Ok(found) = found else { return self.plan.defer(NotAsked::Budget, CROWDED_MS) };
        let nothing = found == ResolvedHost::Nothing;
        self.plan.resolved(exchanger, found);
        if nothing && self.destination.is_implicit() && self.destination.evidence.exists == Some(true) {
            // The name exists and has neither MX nor an address: nobody accepts its mail.
            let unlisted = self.parts.names.have_no_address(&host, share).await;
            self.plan.settle_all(&Mailbox::Unroutable(if unlisted { "no_mx" } else { "mx_unroutable" }));
        }
    }

    pub(super) async fn dial(&mut self, exchanger: usize, address: IpAddr, clear: bool) {
        let (mx, policy) = self.plan.exchanger(exchanger);
        let (host, policy) = (mx.host.clone(), policy.clone());
        let now = self.parts.clock.now();
        let site = self.choose_site(&host, &policy);
        if let Some(hold) = site.closed(now) {
            return self.hold(hold);
        }
        if let Some(how) = self.parts.pacing.reach.dead(address, now) {
            return self.plan.dial_failed(DialFault::Silent(how, None));
        }
        let Some(slot) = self.slot(&site).await else {
            return self.plan.defer(NotAsked::Budget, CROWDED_MS);
        };
        // The plan served before may have been refused.
        let now = self.parts.clock.now();
        if let Some(hold) = site.closed(now) {
            return self.hold(hold);
        }
        let clear =
            clear || (policy.tls == TlsPolicy::Opportunistic && self.parts.pacing.reach.tls_is_broken(address, now));
        match self.link(&site, &host, &policy, address, clear).await {
            Ok(mut link) => {
                if self.plan.asks_in_lock_step() || site.asks_in_lock_step() {
                    link.ask_in_lock_step();
                }
                self.asked.address = Some(address);
                self.asked.tls = link.is_tls();
                self.asked.source = Some(self.source);
                self.turn_since = self.parts.clock.now();
                self.link = Some((link, slot));
                self.meet(host).await;
                self.plan.linked();
            }
            Err(refused) => self.refused(*refused, &site, &policy, address),
        }
    }

    /// A connection slot at a site. A job that must queue for it releases its domain permit meanwhile, for domains of other sites.
    async fn slot(&mut self, site: &Site) -> Option<SiteSlot> {
        let Asker { effort, customer } = self.asker;
        if let Some(slot) = site.slot_now(effort) {
            return Some(slot);
        }
        if effort == Effort::Live {
            return held::wait(site.slot(self.asker, Duration::from_millis(SLOT_MS))).await;
        }
        if site.is_crowded(customer) {
            return None;
        }
        let under_way = self.domain.take();
        let was_under_way = under_way.is_some();
        drop(under_way);
        let slot = site.slot(self.asker, Duration::from_millis(LINE_MS)).await;
        if was_under_way {
            self.domain = Some(self.parts.work.domain(customer).await);
        }
        self.catch_up().await;
        slot
    }

    /// The site of an MX host for the first source that it has not refused; stays with the source once chosen.
    fn choose_site(&mut self, host: &Arc<str>, policy: &Policy) -> Arc<Site> {
        if !self.source_fixed && self.site.is_none() {
            self.source = self.open_source(host, policy).unwrap_or(self.source);
        }
        let site = self.site_of(self.source, host, policy);
        if self.site.as_ref().is_none_or(|old| !old.is_at(&site)) {
            self.arrive(&site);
        }
        site
    }

    /// The source for the domain, if one has not been refused: that of the domain's other plans, else the one that is done soonest at
    /// the site. A live call takes the first.
    fn open_source(&self, host: &Arc<str>, policy: &Policy) -> Option<u16> {
        let (pacing, sources, now) = (&self.parts.pacing, &self.parts.sources, self.parts.clock.now());
        let name = policy.provider.as_ref().unwrap_or(host);
        let site = |source: u16| pacing.known(source, name);
        let is_batch = self.asker.effort == Effort::Batch;
        let home = pacing.sites.home(&self.destination.domain).filter(|(_, at)| is_batch && at == name);
        let first = home.as_ref().map_or(self.source, |(source, _)| *source);
        let is_open = |source: &u16| site(*source).is_none_or(|site| site.closed(now).is_none());
        let mut open = sources.starting_at(first).filter(is_open);
        if home.is_some() || !is_batch {
            return open.next();
        }
        let ahead = |source: u16| site(source).map_or(0, |site| site.queued.load(Ordering::Relaxed));
        let rows = u64::from(self.plan.wants());
        open.min_by_key(|source| {
            let warmth = u64::from(sources.warmth(*source, now));
            (u64::from(ahead(*source)) + rows) * 100 / warmth.max(1)
        })
    }

    fn arrive(&mut self, site: &Arc<Site>) {
        self.site = Some(SitePresence::at(site.clone(), self.asker.effort, self.plan.wants()));
        self.asked.site = Some(site.name().clone());
        if self.recipients.len() >= HOME_ROWS {
            self.parts.pacing.sites.settle_home(&self.destination.domain, site, self.source);
        }
    }

    fn site_of(&self, source: u16, host: &Arc<str>, policy: &Policy) -> Arc<Site> {
        self.parts.pacing.site(source, host, policy)
    }

    async fn link(
        &mut self,
        site: &Arc<Site>,
        host: &Arc<str>,
        policy: &Policy,
        address: IpAddr,
        clear: bool,
    ) -> Result<MailSession, Box<DialRefused>> {
        let now = self.parts.clock.now();
        while let Some(mut link) = site.take_idle(address, clear) {
            if link.room(policy, site.mails_max(now), now) > 0 && link.is_fresh() {
                return Ok(link);
            }
            self.parts.sessions.end(site, link);
        }
        if let Some(link) = site.crowded_out() {
            self.parts.sessions.part(Some(site), link).await;
        }
        let started = self.parts.clock.now();
        let permit = held::wait(self.parts.sessions.permits.acquire(self.asker)).await;
        let source = self.parts.sources.at(self.source).clone();
        let config = self.config(&source.helo, policy, clear);
        let deadlines = self.parts.deadlines(self.asker.effort);
        let timeout_ms = u64::try_from(deadlines.connect_ms).unwrap_or(0);
        let dial = DialRequest { address, port: self.parts.config.port, source, timeout_ms };
        let tls_free = config.tls != TlsMode::Never;
        let mut said = Vec::new();
        let wanted = self.keeps_steps().then_some(&mut said);
        let link = MailSession::open(self.parts.sessions.ground.clone(), dial, host, config, permit, wanted).await;
        self.record_replies(said);
        if let Ok(link) = &link
            && self.parts.pacing.reach.opened(address, tls_free, link.is_tls())
        {
            self.parts.tally().count(|all| all.tls_downgrades += 1);
        }
        add(&mut self.asked.timings.connect, self.parts.clock.now().since(started));
        link
    }

    fn config(&self, helo: &str, policy: &Policy, clear: bool) -> Config {
        let deadlines = self.parts.deadlines(self.asker.effort);
        let tls = match policy.tls {
            TlsPolicy::Required => TlsMode::Required,
            TlsPolicy::Opportunistic if clear || !self.parts.config.starttls => TlsMode::Never,
            TlsPolicy::Opportunistic => TlsMode::Opportunistic,
        };
        Config {
            helo: helo.to_owned(),
            mail_from: self.parts.config.mail_from.clone(),
            tls,
            timeouts: Timeouts {
                banner_ms: deadlines.banner_ms,
                command_ms: deadlines.command_ms,
                session_ms: deadlines.session_ms.min(policy.session_ms),
                read_ms: deadlines.command_ms.max(deadlines.banner_ms),
            },
        }
    }

    fn refused(&mut self, refused: DialRefused, site: &Site, policy: &Policy, address: IpAddr) {
        let now = self.parts.clock.now();
        let fault = refused.fault(&self.parts.knowledge.rules, policy.provider.as_deref());
        self.asked.address = Some(address);
        match &fault {
            DialFault::Silent(how, None) => {
                self.parts.pacing.reach.failed(address, *how, now);
                self.said_nothing(DialogStage::Connect);
            }
            DialFault::Silent(how, Some(stage)) => {
                // A server that is slower than the short deadlines of live calls may answer within those of a job.
                if *how != Silence::TimedOut || self.asker.effort == Effort::Batch {
                    self.parts.pacing.reach.ended(address, *how, now);
                }
                self.said_nothing(*stage);
            }
            DialFault::Tls => {
                self.parts.pacing.reach.tls_failed(address, now);
                self.said_nothing(DialogStage::StartTls);
            }
            DialFault::SentAway { reading, .. } => {
                if reading.meaning.is_about_us().is_some() {
                    site.refused_us(now, reading.retry_after_ms, policy);
                } else {
                    self.parts.pacing.reach.ended(address, Silence::Closed, now);
                }
            }
        }
        self.plan.dial_failed(fault);
    }
}
