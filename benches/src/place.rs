//! Data directory or database of a service under test, and the command that starts the service there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use clap::Args;
use probity_trialdb::{Cluster, TrialDatabase};

/// Program to measure, and its data.
#[derive(Args, Clone, Debug)]
pub struct PlaceArguments {
    /// Database directory [default: a temporary directory].
    #[arg(long)]
    pub directory: Option<PathBuf>,
    /// Use a private PostgreSQL that syncs its log, instead of SQLite.
    #[arg(long)]
    pub postgres: bool,
    /// Program to measure [default: the one beside this].
    #[arg(long)]
    pub program: Option<PathBuf>,
    /// Additional settings of the program, as for `--set`.
    #[arg(long)]
    pub set: Vec<String>,
}

/// Data of the service under test. Dropping it deletes the data.
pub struct Place {
    program: PathBuf,
    directory: tempfile::TempDir,
    set: Vec<String>,
    postgres: Option<(TrialDatabase, Cluster)>,
}

impl Place {
    /// Creates an empty place.
    ///
    /// # Errors
    /// If the program or PostgreSQL is missing.
    pub fn new(arguments: &PlaceArguments) -> anyhow::Result<Self> {
        let beside = || Ok::<_, anyhow::Error>(std::env::current_exe()?.with_file_name("probity"));
        let program = arguments.program.clone().map_or_else(beside, Ok)?;
        ensure!(program.exists(), "{} is missing: `cargo build --release -p probity-cli` makes it", program.display());
        let directory = match &arguments.directory {
            Some(directory) => tempfile::tempdir_in(directory)?,
            None => tempfile::tempdir()?,
        };
        let postgres = if arguments.postgres {
            let cluster = Cluster::private().context("PostgreSQL is not installed")?;
            Some((cluster.create_database(), cluster))
        } else {
            None
        };
        Ok(Self { program, directory, set: arguments.set.clone(), postgres })
    }

    /// Returns the command that serves here, with limits that are never reached and more credits than can be spent.
    pub fn command(&self) -> anyhow::Result<Command> {
        let mut command = Command::new(&self.program);
        let data = self.directory.path().to_str().context("a path in UTF-8")?;
        command.args(["serve", "--data", data]);
        let mut set = |pair: &str| {
            command.args(["--set", pair]);
        };
        set("server.listen=127.0.0.1:0");
        set("rate.key_per_minute=60000000");
        set("rate.organization_per_minute=60000000");
        set("credits.plan=metered");
        set("credits.initial=1000000000");
        if let Some((database, _)) = &self.postgres {
            set(&format!("database.url={}", database.url()));
        }
        self.set.iter().for_each(|pair| set(pair));
        Ok(command)
    }

    /// Like [`Place::command`], with the sandbox instead of the network.
    pub fn sandbox(&self) -> anyhow::Result<Command> {
        let mut command = self.command()?;
        command.arg("--sandbox");
        Ok(command)
    }

    /// Database on PostgreSQL; `None` for SQLite.
    pub fn database(&self) -> Option<&TrialDatabase> {
        self.postgres.as_ref().map(|(database, _)| database)
    }

    /// Returns the process of PostgreSQL; `None` for SQLite.
    pub fn postmaster(&self) -> Option<i32> {
        self.postgres.as_ref()?.1.postmaster_pid()
    }

    /// Returns the size of one of SQLite's files; 0 if it does not exist.
    pub fn size_bytes(&self, name: &str) -> u64 {
        let file: &Path = &self.directory.path().join(name);
        std::fs::metadata(file).map_or(0, |metadata| metadata.len())
    }
}
