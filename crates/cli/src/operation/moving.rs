//! `probity move`: output of moving an installation from SQLite to PostgreSQL.
//!
//! The moved tables go to standard output, everything else to standard error. The URL is never repeated: it contains a password.

use std::io::Write as _;
use std::sync::Mutex;

use anyhow::{Context as _, Result};
use probity_engine::clock::EngineClock;
use probity_service::store::{CopiedTable, MoveOutcome};
use secrecy::SecretString;
use serde::Serialize;

use crate::args::MoveArgs;
use crate::config::Settings;
use crate::exit::Exit;
use crate::log;
use crate::output::Style;
use crate::output::table::{self, moment_text};
use crate::service::moving;

/// Interval of progress messages, in milliseconds.
const TOLD_EVERY_MS: i64 = 5_000;

/// Next steps.
const NEXT: &str = "\
The PostgreSQL database passed the audit. Next:
  1. Set database.url (PROBITY_DATABASE__URL) to the PostgreSQL database on every node.
  2. Give every node the same pepper: this `server.data` with its file `pepper`, a copy of that file, or secrets.pepper.
  3. Start `probity serve`.
The SQLite database is unchanged and cannot be served; `probity move --undo` makes it usable again.";

pub(crate) async fn run(args: &MoveArgs, settings: &Settings) -> Result<Exit> {
    if args.undo {
        let undone = moving::undo(settings).await?;
        log::say(if undone { "The SQLite database is usable again." } else { "Nothing to undo: never moved." });
        return Ok(Exit::Done);
    }
    let clock = EngineClock::system();
    let last = Mutex::new(clock.now());
    let told = |table: &str, rows: u64| {
        let mut last = last.lock().expect("nobody panics with it");
        if clock.now().since(*last) >= TOLD_EVERY_MS {
            *last = clock.now();
            log::say(&format!("{table}: {rows} rows so far"));
        }
    };
    let to = args.to.as_deref().map(SecretString::from);
    match moving::run(settings, to.as_ref(), &told).await? {
        MoveOutcome::Done(copied) => {
            say(&copied, Style::choose(args.json))?;
            let rows: u64 = copied.iter().map(|copied| copied.rows).sum();
            let tables = copied.len();
            log::say(&format!("Moved {rows} rows of {tables} tables in {:.1} s.", clock.elapsed().as_secs_f64()));
            log::say(NEXT);
        }
        MoveOutcome::Before(at) => {
            log::say(&format!("Already moved there at {}; nothing to do.", moment_text(at)));
        }
    }
    Ok(Exit::Done)
}

/// A table, as JSON for programs.
#[derive(Serialize)]
struct Line<'a> {
    table: &'a str,
    rows: u64,
}

fn say(copied: &[CopiedTable], style: Style) -> Result<()> {
    let text = match style {
        Style::Table { .. } => {
            let row = |copied: &CopiedTable| vec![copied.table.clone(), copied.rows.to_string()];
            table::lines(&["TABLE", "ROWS"], copied.iter().map(row))
        }
        Style::Json => {
            let mut text = String::new();
            for CopiedTable { table, rows } in copied {
                text += &serde_json::to_string(&Line { table, rows: *rows }).context("a line that is no JSON")?;
                text.push('\n');
            }
            text
        }
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to standard output")
}
