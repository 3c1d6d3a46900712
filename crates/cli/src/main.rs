//! The `probity` command: wires arguments, configuration and commands.
//!
//! Results go to standard output, everything else to standard error. Errors are printed once, here, with all their causes; the exit
//! code gives their kind ([`exit`]).

// A closed standard error must not end a batch; use `log::say` instead.
#![deny(clippy::print_stderr)]

mod admin;
mod args;
mod backup;
mod batch;
mod config;
mod doctor;
mod exit;
mod health;
mod log;
mod manual;
mod master_key;
mod moving;
mod net;
mod output;
mod room;
mod sandbox;
mod serve;
mod service;
mod verifier;
mod verify;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Parser;
use probity_mailworld::sandbox::Sandbox;
use probity_service::verifier::Verifier;

use crate::args::{Cli, Command, MasterKeyCommand, Reach, SandboxCommand};
use crate::config::{Layers, Overlay, Settings};
use crate::doctor::Patient;
use crate::exit::{Ends, Exit};
use crate::verifier::Offline;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ordinary_pages();
    let cli = Cli::parse();
    let exit = run(&cli).unwrap_or_else(|error| {
        let exit = exit::of_error(&error);
        log::say(&format!("probity: {}", message(&error)));
        exit
    });
    ExitCode::from(exit.code())
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
    let code_only = error.downcast_ref::<Ends>().map(ToString::to_string);
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
        Command::Completions { shell } => return manual::completions(*shell),
        Command::Man { directory } => return manual::man(directory),
        _ => {}
    }
    let mut set = cli.set.clone();
    set.extend(overrides(&cli.command));
    let environment = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
    let overlay = Overlay { file: cli.config.as_deref(), environment: environment.collect(), set: &set };
    let layers = Layers::load(&overlay)?;
    let settings = layers.settings()?;
    if matches!(cli.command, Command::Config) {
        write!(std::io::stdout(), "{}", layers.print()).context("cannot write to standard output")?;
        return Ok(Exit::Done);
    }
    log::start(&settings, cli.verbose);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
    let exit = runtime.block_on(command(&cli.command, &settings));
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
        Command::Migrate(args) => data(&args.data),
        Command::MasterKey(MasterKeyCommand::Rewrap(args)) => data(&args.data),
        Command::Move(args) => data(&args.data),
        Command::Backup(args) => data(&args.data),
        Command::Restore(args) => data(&args.data),
        Command::Orgs(args) => data(&args.options.data),
        Command::Plans(args) => data(&args.options.data),
        Command::Keys(args) => data(&args.options.data),
        Command::Credits(args) => data(&args.options.data),
        Command::Audit(args) => data(&args.options.data),
        Command::Deliveries(args) => data(&args.options.data),
        Command::Erasures(args) => data(&args.options.data),
        Command::Nodes(args) => data(&args.options.data),
        Command::Webhooks(args) => data(&args.options.data),
        Command::Suppressions(args) => data(&args.options.data),
        Command::Lists(args) => data(&args.options.data),
        Command::Settings(args) => data(&args.options.data),
        Command::Usage(args) => data(&args.options.data),
        Command::Timeline(args) => data(&args.options.data),
        Command::Users(args) => data(&args.options.data),
        Command::Verify(_)
        | Command::Doctor(_)
        | Command::Health(_)
        | Command::MasterKey(MasterKeyCommand::New { .. })
        | Command::Config
        | Command::Completions { .. }
        | Command::Man { .. }
        | Command::Sandbox(_) => vec![],
    };
    flags.into_iter().flatten().collect()
}

async fn command(command: &Command, settings: &Settings) -> Result<Exit> {
    match command {
        Command::Verify(args) => verify::run(args, verifier(settings, args.reach, false)?).await,
        Command::Batch(args) => {
            // Finishing a batch sends no probes.
            let reach = if args.finish { Reach { offline: true, sandbox: false } } else { batch::reach(args)? };
            batch::run(args, verifier(settings, reach, args.quiet)?).await
        }
        Command::Doctor(args) => doctor::run(args, &Patient::of(settings, args.sandbox)?).await,
        Command::Sandbox(SandboxCommand::Serve(args)) => sandbox::serve(args).await,
        Command::Serve(args) => serve::run(args, settings).await,
        Command::Health(args) => health::run(args, settings).await,
        Command::Migrate(args) => serve::migrate(args, settings).await,
        Command::MasterKey(command) => master_key::run(command, settings).await,
        Command::Move(args) => moving::run(args, settings).await,
        Command::Backup(args) => backup::make(args, settings).await,
        Command::Restore(args) => backup::restore(args, settings).await,
        Command::Orgs(args) => admin::orgs(args, settings).await,
        Command::Plans(args) => admin::plans(args, settings).await,
        Command::Keys(args) => admin::keys(args, settings).await,
        Command::Credits(args) => admin::credits(args, settings).await,
        Command::Audit(args) => admin::audit(args, settings).await,
        Command::Deliveries(args) => admin::deliveries(args, settings).await,
        Command::Erasures(args) => admin::erasures(args, settings).await,
        Command::Nodes(args) => admin::nodes(args, settings).await,
        Command::Webhooks(args) => admin::webhooks(args, settings).await,
        Command::Suppressions(args) => admin::suppressions(args, settings).await,
        Command::Users(args) => admin::users(args, settings).await,
        Command::Lists(args) => admin::lists(args, settings).await,
        Command::Settings(args) => admin::settings(args, settings).await,
        Command::Usage(args) => admin::usage(args, settings).await,
        Command::Timeline(args) => admin::timeline(args, settings).await,
        Command::Config | Command::Completions { .. } | Command::Man { .. } => {
            unreachable!("it needs no runtime and was answered before")
        }
    }
}

/// Builds the verifier within the command's reach.
fn verifier(settings: &Settings, reach: Reach, quiet: bool) -> Result<Arc<dyn Verifier>> {
    if reach.sandbox {
        return Ok(Arc::new(Sandbox::new(&settings.engine)?));
    }
    if reach.offline {
        return Ok(Arc::new(Offline(net::engine(settings, Arc::new(net::NoNet))?)));
    }
    if settings.mail_from_assumed && !quiet {
        log::say(&format!(
            "note: probe.mail_from is not set; probing as {}. Set it to an address of yours: many servers refuse others.",
            settings.engine.mail_from
        ));
    }
    Ok(Arc::new(net::engine(settings, net::real(settings)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_override_keys() {
        let set = |line: &str| overrides(&Cli::try_parse_from(line.split_whitespace()).unwrap().command);
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
