//! `probity serve` and `probity migrate`: their output, around the service.
//!
//! The first start prints the data's location, the two first keys and the owner's link, which are shown only once. Every later
//! start prints only the listening addresses. All go to standard output, even without a terminal: in a container, that is the log.

mod text;

use std::io::Write as _;

use anyhow::{Context, Result};

use crate::args::{MigrateArgs, ServeArgs};
use crate::config::Settings;
use crate::exit::Exit;
use crate::log;
use crate::service;

/// Runs `serve` until it is stopped.
pub(crate) async fn run(args: &ServeArgs, settings: &Settings) -> Result<Exit> {
    let running = service::start(settings, args.sandbox).await?;
    let first =
        running.first.as_ref().map(|keys| text::first_start(&settings.serve, &running.listening, keys, args.sandbox));
    let listening = text::listening(&running.listening, args.sandbox);
    if say(&format!("{}{listening}", first.as_deref().unwrap_or_default())).is_err() && first.is_some() {
        // The service works regardless, but without this line, nobody could sign in.
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
