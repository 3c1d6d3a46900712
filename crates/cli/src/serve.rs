//! `probity serve` and `probity migrate`: what they say, around the service that does the work.
//!
//! The first start says where the data lies and prints the two first keys and the owner's link, which are nowhere else; every later one only says
//! where the service listens. Both go to standard output, terminal or not: in a container that is the log.

mod text;

use std::io::Write as _;

use anyhow::{Context, Result};

use crate::args::{MigrateArgs, ServeArgs};
use crate::config::Settings;
use crate::exit::Exit;
use crate::log;
use crate::service;

/// Runs `serve` until it is told to stop.
pub(crate) async fn run(args: &ServeArgs, settings: &Settings) -> Result<Exit> {
    let running = service::start(settings, args.sandbox).await?;
    let first =
        running.first.as_ref().map(|keys| text::first_start(&settings.serve, &running.listening, keys, args.sandbox));
    let listening = text::listening(&running.listening, args.sandbox);
    if say(&format!("{}{listening}", first.as_deref().unwrap_or_default())).is_err() && first.is_some() {
        // The service works all the same; without this line nobody would know how to get in.
        log::say(
            "probity: cannot print the first keys and link; create others: `probity keys create`, `probity users reset-link`",
        );
    }
    running.ended.await?;
    Ok(Exit::Done)
}

pub(crate) async fn migrate(_: &MigrateArgs, settings: &Settings) -> Result<Exit> {
    service::migrate(settings).await?;
    say("The database is up to date.\n").context("cannot write to standard output")?;
    Ok(Exit::Done)
}

fn say(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
