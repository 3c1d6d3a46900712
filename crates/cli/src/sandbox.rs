//! The simulated mail internet: for `--sandbox`, and on loopback for other programs.
//!
//! [`probity_mailworld::sandbox::Sandbox`] answers `--sandbox`. This module has the doctor's settings for it and the server on
//! loopback.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use clap::{Args, Subcommand};
use probity_mailworld::{Bind, LoopbackWorld, World, sandbox};

use crate::config::{DoctorSection, Settings};
use crate::exit::Exit;
use crate::output;

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Serve the sandbox on loopback, for other programs
    Serve(SandboxServeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SandboxServeArgs {
    /// Listen address of the name server
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5300")]
    pub dns: std::net::SocketAddr,
    /// Port of all MX hosts
    #[arg(long, value_name = "PORT", default_value_t = 2525)]
    pub smtp_port: u16,
    /// World to serve; default: the built-in one
    #[arg(long, value_name = "FILE")]
    pub world: Option<PathBuf>,
}

/// Returns the settings with which the doctor checks the simulated internet.
pub(crate) fn settings(settings: &Settings) -> Settings {
    let engine = sandbox::config(&settings.engine);
    let mut sections = settings.sections.clone();
    sections.doctor = DoctorSection { probe_domains: vec![sandbox::DOMAIN.to_owned()], block_lists: Vec::new() };
    Settings { engine, mail_from_assumed: false, sections, ..settings.clone() }
}

/// Serves a world on loopback until interrupted.
pub(crate) async fn serve(args: &SandboxServeArgs) -> Result<Exit> {
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
    output::print(&format!(
        "# The sandbox is running: name server at {dns}, MX hosts at port {port} of addresses in 127.0.0.0/8.\n\
         # Use this configuration to probe it. Press Ctrl-C to stop it.\n\
         [probe]\nport = {port}\nprofile = \"open\"\n\n\
         [dns]\nnameservers = [\"{dns}\"]\n\n\
         [allow]\nnetworks = [\"127.0.0.0/8\"]\nspecial_use = [\"test\"]\n\n\
         [doctor]\nprobe_domains = [\"sandbox.test\"]\nblock_lists = []\n"
    ))?;
    tokio::signal::ctrl_c().await.context("cannot handle signals")?;
    Ok(Exit::Done)
}
