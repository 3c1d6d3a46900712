//! `probity move`: output of moving an installation from SQLite to PostgreSQL.
//!
//! The moved tables go to standard output, everything else to standard error. The URL is never repeated: it contains a password.

use std::sync::Mutex;

use anyhow::Result;
use clap::Args;
use probity_engine::clock::EngineClock;
use probity_service::store::{CopiedTable, MoveOutcome};
use secrecy::SecretString;

use crate::config::Settings;
use crate::exit::Exit;
use crate::output::Style;
use crate::output::printout::{AnswerView, OneField, Printout, join};
use crate::output::table::{AnswerColumn, at, moment_text};
use crate::service::moving;
use crate::{log, output};

/// Shown below the help of `move`.
pub(crate) const MOVE_EXAMPLES: &str = "\
Examples:
    PROBITY_DATABASE__URL=postgres://probity:password@db/probity probity move
    probity move --data /srv/probity --to postgres://probity@db/probity
    probity move --undo                              makes the SQLite database usable again

Stop the service first. The PostgreSQL database must be empty, and needs the same pepper afterwards.";

#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    /// Data directory, with the database and the pepper; overrides `server.data`
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    /// Target, as in `postgres://user:password@host/name`; default: `database.url`, which other users of this machine
    /// cannot see
    #[arg(long, value_name = "URL")]
    pub to: Option<String>,
    /// Make a moved SQLite database usable again; PostgreSQL stays unchanged
    #[arg(long, conflicts_with = "to")]
    pub undo: bool,
    /// Write one JSON object per table; the default if the output is not a terminal
    #[arg(long)]
    pub json: bool,
}

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
            output::print(&printed(&copied)?.render(Style::choose(args.json))?)?;
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

const MOVED: &[AnswerColumn] = &[at("TABLE", "/table"), at("ROWS", "/rows")];

/// Prints the moved tables with their rows.
fn printed(copied: &[CopiedTable]) -> Result<Printout> {
    let rows = copied.iter().map(|copied| join(OneField("table", &copied.table), OneField("rows", copied.rows)));
    Printout::of(rows, AnswerView::Rows(MOVED))
}
