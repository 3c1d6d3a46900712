//! `probity serve` and `probity migrate`: their output, around the service.
//!
//! The first start prints the owner's link and the two first keys, which are shown only once, and the data's location. Every later
//! start prints only the listening addresses. All go to standard output, even without a terminal: in a container, that is the log.
//! A terminal shows the link in color, because it comes first. With `--open`, it is opened in a browser.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use anyhow::Result;
use clap::Args;
use probity_access::links;
use probity_service::operator::first_start::FirstKeys;
use secrecy::ExposeSecret as _;

use crate::config::Settings;
use crate::config::serve::{Database, Pepper};
use crate::exit::Exit;
use crate::{log, output, service};

/// Shown below the help of `serve`.
pub(crate) const SERVE_EXAMPLES: &str = "\
Examples:
    probity serve                                    on 127.0.0.1:8080, with the data in `server.data`
    probity serve --sandbox                          needs no port 25
    probity serve --open                             opens the link, later the dashboard, in a browser
    probity serve --data /srv/probity --listen 0.0.0.0:8080
    probity serve --roles worker,delivery            one of several nodes on one PostgreSQL database

The first start prints a live key, a test key and a link, once. The link sets the owner's password and is valid for a day.
SIGTERM or Ctrl-C stops the service; requests in flight may finish.";

/// Shown below the help of `migrate`.
pub(crate) const MIGRATE_EXAMPLES: &str = "\
Example:
    PROBITY_DATABASE__URL=postgres://probity@db/probity probity migrate";

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Data directory, with the database and the pepper; overrides `server.data`
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
    /// Listen address; repeatable; overrides `server.listen`
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Vec<String>,
    /// Roles of this node, separated by commas: api, worker, delivery, schedule; overrides `server.roles`
    #[arg(long, value_name = "ROLE", value_delimiter = ',')]
    pub roles: Vec<String>,
    /// Use the sandbox for live keys too, instead of real mail servers
    #[arg(long)]
    pub sandbox: bool,
    /// Open the link of the first start, later the dashboard, in the browser of this machine
    #[arg(long)]
    pub open: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// Data directory, with the database and the pepper; overrides `server.data`
    #[arg(long, value_name = "DIR")]
    pub data: Option<String>,
}

/// Bold black on green, which is readable on every background.
const HIGHLIGHT: [&str; 2] = ["\x1b[1;30;42m", "\x1b[0m"];
/// For output that is not a terminal, and for users who disable colors.
const PLAIN: [&str; 2] = ["", ""];
/// Program that opens a URL in the browser of this machine's user.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Runs `serve` until it is stopped.
pub(crate) async fn run(args: &ServeArgs, settings: &Settings) -> Result<Exit> {
    let running = service::start(settings, args.sandbox).await?;
    let mark = if std::io::stdout().is_terminal() && output::colours_wanted() { HIGHLIGHT } else { PLAIN };
    let first = running.first.as_ref().map(|keys| first_start(settings, &running.listening, keys, args.sandbox, mark));
    let listens = listening(&running.listening, args.sandbox);
    if output::print(&format!("{}{listens}", first.as_deref().unwrap_or_default())).is_err() && first.is_some() {
        // The service works regardless, but without this line, nobody could sign in.
        log::say(
            "probity: cannot print the first keys and link; create others: `probity keys create`, `probity users reset-link`",
        );
    }
    if args.open {
        open_browser(&address(settings, &running.listening, running.first.as_ref()));
    }
    running.ended.await?;
    Ok(Exit::Done)
}

/// Returns the owner's link at the first start, and the dashboard's address later.
fn address(settings: &Settings, listening: &[SocketAddr], first: Option<&FirstKeys>) -> String {
    let base = listening.first().map_or_else(String::new, |address| settings.base_url(*address));
    first.map_or(base.clone(), |keys| links::url(Some(&base), keys.link.expose_secret()))
}

/// Opens a URL in a browser, which need not end before the service.
fn open_browser(url: &str) {
    let quiet = Command::new(OPENER).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    match quiet {
        // Waits for it, so that no defunct process remains.
        Ok(mut opener) => drop(std::thread::spawn(move || opener.wait())),
        Err(_) => log::say(&format!("probity: cannot run {OPENER}; open the address above in a browser")),
    }
}

pub(crate) async fn migrate(_: &MigrateArgs, settings: &Settings) -> Result<Exit> {
    service::migrate(settings).await?;
    output::print("The database is up to date.\n")
}

/// Formats the owner's link, both keys, a command to paste, and the data's locations. No line is longer than 72 columns
/// unless a path or the public URL is long: wrapped lines are hard to copy.
fn first_start(
    settings: &Settings,
    listening: &[SocketAddr],
    keys: &FirstKeys,
    sandbox: bool,
    [before, after]: [&str; 2],
) -> String {
    let base = address(settings, listening, None);
    let (live, test) = (keys.live.expose_secret(), keys.test.expose_secret());
    let link = address(settings, listening, Some(keys));
    let live_keys = if sandbox {
        "With --sandbox, live keys use the sandbox too, and spend credits."
    } else {
        "Live keys probe mail servers; `probity doctor` checks this machine."
    };
    format!(
        "Probity is running. Open this link to set your password:\n\n\
         {before}{link}{after}\n\n\
         It works once, for 24 hours.\n\n\
         Test key: {test}\n\
         Live key: {live}\n\n\
         Save both keys: they are shown only once.\n\
         {live_keys}\n\
         Test keys use the sandbox, free of charge:\n\n  \
         key={test}\n  \
         curl -H \"Authorization: Bearer $key\" \\\n    \
         '{base}/v1/verify?email=valid@sandbox.test'\n\n{}",
        places(settings),
    )
}

/// Formats the locations to back up: the database, and the pepper that its API keys need.
fn places(settings: &Settings) -> String {
    let database = match &settings.database {
        Database::Sqlite(path) => path.display().to_string(),
        Database::Postgres(_) => "PostgreSQL (database.url)".to_owned(),
    };
    let pepper = match &settings.pepper {
        Pepper::File(path) => path.display().to_string(),
        Pepper::Given(_) => "secrets.pepper".to_owned(),
    };
    format!(
        "Database: {database}\nPepper:   {pepper}\n\nBack up both, in separate places: API keys need the pepper.\n\n"
    )
}

/// Formats the listening addresses.
fn listening(listening: &[SocketAddr], sandbox: bool) -> String {
    let urls: Vec<String> = listening.iter().map(|address| format!("http://{address}")).collect();
    let sandbox = if sandbox { " (live keys use the sandbox)" } else { "" };
    format!("Listening on {}{sandbox}\n", urls.join(", "))
}

#[cfg(test)]
mod tests {
    use probity_account::api_key::{self, KeyKind};
    use secrecy::SecretString;

    use super::*;
    use crate::config::{Layers, Overlay};

    fn printed(set: &[&str], sandbox: bool) -> String {
        let set: Vec<String> = set.iter().map(|pair| (*pair).to_owned()).collect();
        let settings =
            Layers::load(&Overlay { file: None, environment: vec![], set: &set }).unwrap().settings().unwrap();
        let [link, live, test] = ["L1NK", "probity_live_L", "probity_test_T"].map(SecretString::from);
        let keys = FirstKeys { link, live, test };
        first_start(&settings, &settings.sections.server.listen.0, &keys, sandbox, PLAIN)
    }

    #[test]
    fn the_first_start_says_all_that_is_needed() {
        let expected = "\
Probity is running. Open this link to set your password:

http://127.0.0.1:8080/#/link/L1NK

It works once, for 24 hours.

Test key: probity_test_T
Live key: probity_live_L

Save both keys: they are shown only once.
Live keys probe mail servers; `probity doctor` checks this machine.
Test keys use the sandbox, free of charge:

  key=probity_test_T
  curl -H \"Authorization: Bearer $key\" \\
    'http://127.0.0.1:8080/v1/verify?email=valid@sandbox.test'

Database: /srv/probity/probity.db
Pepper:   /srv/probity/pepper

Back up both, in separate places: API keys need the pepper.

";
        assert_eq!(printed(&["server.data=/srv/probity"], false), expected);
    }

    #[test]
    fn with_the_sandbox_no_real_server_is_promised() {
        let text = printed(&["server.data=/srv/probity"], true);
        assert!(!text.contains("probe mail servers"), "{text}");
        assert!(text.contains("live keys use the sandbox too"), "{text}");
    }

    #[test]
    fn no_other_secret_is_printed() {
        let set = [
            "database.url=postgres://u:hunter2@h/d",
            "secrets.pepper=hunter2hunter2hunter2hunter2hunter2",
            "server.public_url=https://verify.example.com",
        ];
        let text = printed(&set, false);
        assert!(!text.contains("hunter2"), "{text}");
        assert!(text.contains("'https://verify.example.com/v1/verify?"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        let settings =
            Layers::load(&Overlay { file: None, environment: vec![], set: &[] }).unwrap().settings().unwrap();
        let [live, test] = [KeyKind::Live, KeyKind::Test].map(|kind| api_key::mint("probity", kind, [0xff; 32]).into());
        let keys = FirstKeys { link: "L".repeat(43).into(), live, test };
        for sandbox in [false, true] {
            let printed = first_start(&settings, &settings.sections.server.listen.0, &keys, sandbox, PLAIN);
            let wide: Vec<&str> = printed.lines().filter(|line| line.chars().count() > 72).collect();
            assert!(wide.is_empty(), "{wide:?}");
        }
    }

    #[test]
    fn only_the_link_is_highlighted() {
        let settings =
            Layers::load(&Overlay { file: None, environment: vec![], set: &[] }).unwrap().settings().unwrap();
        let [link, live, test] = ["L1NK", "L", "T"].map(SecretString::from);
        let printed = first_start(
            &settings,
            &settings.sections.server.listen.0,
            &FirstKeys { link, live, test },
            false,
            HIGHLIGHT,
        );
        assert!(printed.contains("\n\x1b[1;30;42mhttp://127.0.0.1:8080/#/link/L1NK\x1b[0m\n"), "{printed:?}");
        assert_eq!(printed.matches('\x1b').count(), 2);
    }

    #[test]
    fn the_browser_opens_the_link_once_and_the_dashboard_later() {
        let settings =
            Layers::load(&Overlay { file: None, environment: vec![], set: &[] }).unwrap().settings().unwrap();
        let [link, live, test] = ["L1NK", "L", "T"].map(SecretString::from);
        let listening = &settings.sections.server.listen.0;
        let first = address(&settings, listening, Some(&FirstKeys { link, live, test }));
        assert_eq!(first, "http://127.0.0.1:8080/#/link/L1NK");
        assert_eq!(address(&settings, listening, None), "http://127.0.0.1:8080");
    }

    #[test]
    fn a_later_start_says_where_it_listens() {
        let addresses = ["127.0.0.1:8080".parse().unwrap(), "[::1]:80".parse().unwrap()];
        assert_eq!(listening(&addresses, false), "Listening on http://127.0.0.1:8080, http://[::1]:80\n");
        assert!(listening(&addresses[..1], true).ends_with("(live keys use the sandbox)\n"));
    }
}
