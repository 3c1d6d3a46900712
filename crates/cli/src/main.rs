//! The `probity` command: wires arguments, configuration and commands.
//!
//! Results go to standard output, everything else to standard error. Errors are printed once, here, with all their causes; the exit
//! code gives their kind ([`exit`]).

// A closed standard error must not end a batch; use `log::say` instead.
#![deny(clippy::print_stderr)]

mod admin;
mod args;
mod batch;
mod config;
mod connectors;
mod doctor;
mod engine;
mod exit;
mod files;
mod log;
mod output;
mod sandbox;
mod service;
mod verify;

/// Commands that operate an installation: start, check, migrate, back up, move, change the master key. They print; [`service`]
/// does the work.
mod operation {
    pub(crate) mod backup;
    pub(crate) mod health;
    pub(crate) mod master_key;
    pub(crate) mod moving;
    pub(crate) mod serve;
}

use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use probity_backend::nodes::verifier::Verifier;
use probity_mailworld::sandbox::Sandbox;

use crate::args::{Cli, Command};
use crate::config::{Layers, Overlay, Settings};
use crate::connectors::ConnectorsCommand;
use crate::doctor::DoctorInputs;
use crate::engine::{NoNet, OfflineVerifier, ReachArgs};
use crate::exit::{Exit, ExitsWith};
use crate::operation::master_key::MasterKeyCommand;
use crate::operation::{backup, health, master_key, moving, serve};
use crate::sandbox::SandboxCommand;

/// Crates, data and scripts that are built into the program. `cargo xtask licenses` writes the list of crates.
const LICENSES: &str = concat!(
    include_str!("../licenses.txt"),
    "\n",
    include_str!("../../mail/data/LICENSES.md"),
    "\n",
    include_str!("../../../web/vendor/README.md")
);

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ordinary_pages();
    let cli = Cli::parse_line(std::env::args_os()).unwrap_or_else(|error| error.exit());
    let exit = run(&cli).unwrap_or_else(|error| {
        let exit = exit::of_error(&error);
        log::say(&format!("probity: {}", message(&error)));
        exit
    });
    ExitCode::from(exit as u8)
}

/// Declines huge pages: a heap of a few megabytes, spread over an arena, would take 2 MiB for each part that it touches. The
/// allocator is built not to request them (`no_thp`), but some systems provide them anyway.
fn ordinary_pages() {
    // If the system refuses, the program only takes more memory.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Formats an error with its causes, except one that only carries the exit code.
fn message(error: &anyhow::Error) -> String {
    let code_only = error.downcast_ref::<ExitsWith>().map(ToString::to_string);
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        // Some causes repeat the text above them.
        let said = causes.last().is_some_and(|last| last.ends_with(&cause));
        if !said && code_only.as_ref() != Some(&cause) {
            causes.push(cause);
        }
    }
    causes.join(": ")
}

fn run(cli: &Cli) -> Result<Exit> {
    match &cli.command {
        Command::Completions { shell } => return args::print_completions(*shell),
        Command::Man { directory } => return args::write_manual(directory),
        Command::Connectors(ConnectorsCommand::Check { file }) => return connectors::check(file),
        Command::Licenses => return output::print(LICENSES),
        _ => {}
    }
    let mut set = cli.set.clone();
    set.extend(overrides(&cli.command));
    let environment = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
    let overlay = Overlay { file: cli.config.as_deref(), environment: environment.collect(), set: &set };
    let layers = Layers::load(&overlay)?;
    let settings = layers.settings()?;
    if matches!(cli.command, Command::Config) {
        return output::print(&layers.print());
    }
    if matches!(cli.command, Command::Connectors(_)) {
        return connectors::list(&settings.sections.integrations);
    }
    log::start(settings.sections.log.level, settings.sections.log.format, cli.verbose);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
    // Through a pointer, the code that drives the future is compiled separately. Otherwise, the compiler would copy all of the
    // program's asynchronous code into three parts.
    let done: Pin<Box<dyn Future<Output = Result<Exit>>>> = Box::pin(command(cli, &settings));
    let exit = runtime.block_on(done);
    // A read from a terminal may never return; no remaining task is worth waiting for.
    runtime.shutdown_background();
    exit
}

/// Returns the configuration keys that flags override.
fn overrides(command: &Command) -> Vec<String> {
    let flag = |key: &str, value: &Option<String>| value.as_ref().map(|value| format!("{key}={value}"));
    let data = |value: &Option<String>| vec![flag("server.data", value)];
    let flags = match command {
        Command::Batch(args) => vec![
            flag("probe.profile", &args.profile),
            flag("probe.patience", &args.patience),
            flag("probe.held_back", &args.patience),
        ],
        Command::Serve(args) => {
            let listen = (!args.listen.is_empty()).then(|| args.listen.join(","));
            let roles = (!args.roles.is_empty()).then(|| args.roles.join(","));
            vec![flag("server.data", &args.data), flag("server.listen", &listen), flag("server.roles", &roles)]
        }
        Command::Connectors(ConnectorsCommand::List { directory }) => {
            let directory = directory.as_ref().map(|path| path.display().to_string());
            vec![flag("integrations.directory", &directory)]
        }
        Command::Migrate(args) => data(&args.data),
        Command::MasterKey(MasterKeyCommand::Rewrap(args)) => data(&args.data),
        Command::Move(args) => data(&args.data),
        Command::Backup(args) => data(&args.data),
        Command::Restore(args) => data(&args.data),
        Command::Admin(command) => data(&command.options().data),
        Command::Verify(_)
        | Command::Doctor(_)
        | Command::Health(_)
        | Command::MasterKey(MasterKeyCommand::New { .. })
        | Command::Config
        | Command::Connectors(ConnectorsCommand::Check { .. })
        | Command::Completions { .. }
        | Command::Man { .. }
        | Command::Licenses
        | Command::Sandbox(_) => vec![],
    };
    flags.into_iter().flatten().collect()
}

async fn command(cli: &Cli, settings: &Settings) -> Result<Exit> {
    match &cli.command {
        Command::Verify(args) => verify::run(args, verifier(settings, args.reach, false)?).await,
        Command::Batch(args) => {
            // Finishing a batch sends no probes.
            let reach = if args.finish { ReachArgs { offline: true, sandbox: false } } else { batch::reach(args)? };
            if !(reach.offline || reach.sandbox || args.keep_going) {
                doctor::require_reach(settings).await?;
            }
            batch::run(args, verifier(settings, reach, args.quiet)?).await
        }
        Command::Doctor(args) => doctor::run(args, &DoctorInputs::of(settings, args.sandbox)?).await,
        Command::Sandbox(SandboxCommand::Serve(args)) => sandbox::serve(args).await,
        Command::Serve(args) => serve::run(args, settings).await,
        Command::Health(args) => health::run(args, settings).await,
        Command::Migrate(args) => serve::migrate(args, settings).await,
        Command::MasterKey(command) => master_key::run(command, settings).await,
        Command::Move(args) => moving::run(args, settings).await,
        Command::Backup(args) => backup::make(args, settings).await,
        Command::Restore(args) => backup::restore(args, settings).await,
        Command::Admin(command) => admin::run(command, &cli.arguments, settings).await,
        Command::Config
        | Command::Connectors(_)
        | Command::Completions { .. }
        | Command::Man { .. }
        | Command::Licenses => {
            unreachable!("it needs no runtime and was answered before")
        }
    }
}

/// Builds the verifier within the command's reach.
fn verifier(settings: &Settings, reach: ReachArgs, quiet: bool) -> Result<Arc<dyn Verifier>> {
    if reach.sandbox {
        return Ok(Arc::new(Sandbox::new(&settings.engine)?));
    }
    if reach.offline {
        return Ok(Arc::new(OfflineVerifier(engine::with_net(settings, Arc::new(NoNet))?)));
    }
    if settings.mail_from_assumed && !quiet {
        log::say(&format!(
            "note: probe.mail_from is not set; probing as {}. Set it to an address of yours: many servers refuse others.",
            settings.engine.mail_from
        ));
    }
    Ok(Arc::new(engine::with_net(settings, engine::real_net(settings)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_override_keys() {
        let set = |line: &str| overrides(&Cli::parse_line(line.split_whitespace()).unwrap().command);
        let served = set("probity serve --data /d --listen 127.0.0.1:80 --listen [::1]:80");
        assert_eq!(served, ["server.data=/d", "server.listen=127.0.0.1:80,[::1]:80"]);
        assert_eq!(set("probity serve --roles worker,delivery"), ["server.roles=worker,delivery"]);
        for line in [
            "migrate",
            "move",
            "orgs list",
            "plans",
            "keys list",
            "credits show",
            "deliveries list",
            "nodes",
            "lists list",
            "settings show",
            "usage daily",
            "timeline",
            "users reset-link a",
        ] {
            assert_eq!(set(&format!("probity {line} --data /d")), ["server.data=/d"], "{line}");
        }
        assert!(set("probity serve").is_empty());
    }
}
