//! `probity completions` and `probity man`: shell completions and man pages, from the same source as `--help`.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap_complete::Shell;

use super::{Cli, CompletedShell};
use crate::exit::Exit;

pub(crate) fn completions(shell: CompletedShell) -> Result<Exit> {
    let shell = match shell {
        CompletedShell::Bash => Shell::Bash,
        CompletedShell::Zsh => Shell::Zsh,
        CompletedShell::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::complete_command(), "probity", &mut script);
    std::io::stdout().write_all(&script).context("cannot write to standard output")?;
    Ok(Exit::Done)
}

pub(crate) fn man(directory: &Path) -> Result<Exit> {
    let written =
        std::fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(Cli::complete_command(), directory));
    written.with_context(|| format!("cannot write to {}", directory.display()))?;
    Ok(Exit::Done)
}
