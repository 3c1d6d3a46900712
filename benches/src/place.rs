//! Where a service under test keeps its data, and how it is started there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use clap::Args;
use probity_trialdb::{Cluster, Database};

/// Which program is measured, and over what.
#[derive(Args, Clone, Debug)]
pub struct PlaceArguments {
    /// Where the database goes; a temporary directory where nobody says.
    #[arg(long)]
    pub directory: Option<PathBuf>,
    /// A private PostgreSQL that syncs its log, instead of SQLite.
    #[arg(long)]
    pub postgres: bool,
    /// The program; the one beside this where nobody says.
    #[arg(long)]
    pub program: Option<PathBuf>,
    /// Settings of the program besides, as `--set` takes them.
    #[arg(long)]
    pub set: Vec<String>,
}

/// Where the service under test keeps its data. Dropped, it is gone.
pub struct Place {
    program: PathBuf,
    directory: tempfile::TempDir,
    set: Vec<String>,
    postgres: Option<(Database, Cluster)>,
}

impl Place {
    /// An empty one.
    ///
    /// # Errors
    /// Where the program or PostgreSQL is missing.
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

    /// The command that serves here, with limits that are never reached and more credits than can be spent.
    ///
    /// # Errors
    /// Where the directory's path is not UTF-8.
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

    /// The same with the sandbox instead of the network.
    ///
    /// # Errors
    /// As [`Place::command`].
    pub fn sandbox(&self) -> anyhow::Result<Command> {
        let mut command = self.command()?;
        command.arg("--sandbox");
        Ok(command)
    }

    /// The database on PostgreSQL; none on SQLite.
    pub fn database(&self) -> Option<&Database> {
        self.postgres.as_ref().map(|(database, _)| database)
    }

    /// The size of one of SQLite's files; nothing where there is none.
    pub fn size_bytes(&self, name: &str) -> u64 {
        let file: &Path = &self.directory.path().join(name);
        std::fs::metadata(file).map_or(0, |metadata| metadata.len())
    }
}
