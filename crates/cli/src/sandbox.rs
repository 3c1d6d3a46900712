//! The simulated mail internet: for `--sandbox`, and on loopback for other programs.
//!
//! Nearly every outcome in the sandbox is real: the engine asks simulated servers and judges what they say. A few need what
//! no server can tell (a customer's complaints, a spam trap); for those [`Sandbox`] answers from mailworld's table.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use probity_core::time::Millis;
use probity_core::verdict::{EvidenceSource, Finding, Reason, Status, Verdict, Verification};
use probity_engine::config::Profile;
use probity_engine::net::{BoxFuture, Net};
use probity_engine::{Counters, Engine, EngineConfig, Item, Live, Outcome, Sink};
use probity_mailworld::{Bind, LoopbackWorld, World, sandbox};

use crate::args::ServeArgs;
use crate::config::Settings;
use crate::exit::Exit;
use crate::verifier::Verifier;

/// The seed of the simulated network: one run is like the other.
const SEED: u64 = 1;

/// The settings with which the engine may ask simulated servers.
pub(crate) fn settings(settings: &Settings) -> Settings {
    let mut special_use_allowed = settings.engine.special_use_allowed.clone();
    special_use_allowed.push("test".to_owned());
    let engine = EngineConfig {
        special_use_allowed,
        // Simulated servers have no feelings, and the internet of the sandbox listens at the usual port.
        profile: Profile::Open,
        port: 25,
        mail_from: "postmaster@sandbox.test".into(),
        seed: Some(SEED),
        ..settings.engine.clone()
    };
    let probe_domains = vec![sandbox::DOMAIN.to_owned()];
    Settings { engine, mail_from_assumed: false, probe_domains, block_lists: Vec::new(), ..settings.clone() }
}

/// The simulated network in memory.
pub(crate) fn net() -> Arc<dyn Net> {
    sandbox::world().net_without_trace(SEED)
}

/// The engine over the simulated network, and the table for what no server can tell.
pub(crate) struct Sandbox {
    engine: Engine,
}

impl Sandbox {
    /// Puts the table in front of an engine.
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine }
    }

    /// The table's answer, and how long it is to take.
    fn told(&self, email: &str) -> Option<(Verification, Duration)> {
        let (local, domain) = email.trim().rsplit_once('@')?;
        let told = sandbox::outcome(local, domain)?;
        let reason = Reason::from_name(told.reason)?;
        let mut verification = self.engine.facts_only(email);
        let rule: Arc<str> = "sandbox.table".into();
        let finding = Finding { reason, meta: "sandbox".into(), rule: rule.clone() };
        let findings = if reason.status() == Status::Passed { vec![] } else { vec![finding] };
        verification.verdict = Verdict::of(findings, &rule);
        verification.flags.role |= reason == Reason::RoleBased;
        verification.flags.disposable |= reason == Reason::Disposable;
        verification.evidence.source = EvidenceSource::Sandbox;
        Some((verification, Duration::from_millis(told.delay_ms)))
    }
}

impl Verifier for Sandbox {
    fn verify<'a>(&'a self, email: &'a str, live: Live) -> BoxFuture<'a, Verification> {
        Box::pin(async move {
            let Some((verification, delay)) = self.told(email) else { return self.engine.verify(email, live).await };
            tokio::time::sleep(delay.min(Duration::from_millis(live.timeout_ms))).await;
            verification
        })
    }

    fn verify_many(&self, items: Vec<Item>, sink: Sink) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let (mut told, mut rest) = (Vec::new(), Vec::new());
            for item in items {
                match self.told(&item.email) {
                    Some((verification, _)) => told.push((item.key, Outcome::Settled(verification))),
                    None => rest.push(item),
                }
            }
            if !told.is_empty() {
                sink(told);
            }
            self.engine.verify_many(rest, sink).await;
        })
    }

    fn now(&self) -> Millis {
        self.engine.now()
    }

    fn wait_until(&self, at: Millis) -> BoxFuture<'_, ()> {
        Box::pin(self.engine.wait_until(at))
    }

    fn counters(&self) -> Counters {
        self.engine.counters()
    }

    fn close(&self, timeout_ms: u64) -> BoxFuture<'_, ()> {
        Box::pin(self.engine.close(timeout_ms))
    }
}

/// Serves a world on loopback until it is interrupted.
pub(crate) async fn serve(args: &ServeArgs) -> Result<Exit> {
    let world = match &args.world {
        None => sandbox::world(),
        Some(path) => {
            let place = path.display();
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the world {place}"))?;
            let built = World::builder().file(&text).and_then(probity_mailworld::Builder::build);
            built.map_err(|error| anyhow!("{place}: {error}"))?
        }
    };
    let bind = Bind { dns: args.dns, smtp_port: args.smtp_port, command_latency_ms: 0 };
    let served = LoopbackWorld::start(world, bind).await.context("cannot listen on loopback")?;
    let (dns, port) = (served.dns(), served.smtp_port());
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "# The simulated mail internet is up: names at {dns}, every mail server at port {port} of an address in 127.0.0.0/8.\n\
         # With this configuration probity asks it; interrupt to end it.\n\
         [probe]\nport = {port}\nprofile = \"open\"\n\n\
         [dns]\nnameservers = [\"{dns}\"]\n\n\
         [allow]\nnetworks = [\"127.0.0.0/8\"]\nspecial_use = [\"test\"]"
    )
    .and_then(|()| out.flush())
    .context("cannot write to standard output")?;
    drop(out);
    tokio::signal::ctrl_c().await.context("cannot wait for an interruption")?;
    Ok(Exit::Done)
}
