//! The printed table: quantity, figure, target.

use std::fmt::Display;
use std::io::{Stdout, Write as _, stdout};

/// Prints each line as soon as its figure is known.
pub(crate) struct Report {
    out: Stdout,
}

impl Report {
    pub(crate) fn begin() -> anyhow::Result<Self> {
        let mut out = stdout();
        writeln!(out, "| What | Figure | Target | Load |\n|---|---|---|---|")?;
        Ok(Self { out })
    }

    /// Prints a line; an empty `target` means none. The last column is the machine's load, of which the measurement itself causes
    /// 2.
    pub(crate) fn line(&mut self, what: impl Display, figure: impl Display, target: &str) -> anyhow::Result<()> {
        let load = std::fs::read_to_string("/proc/loadavg")?;
        let load = load.split(' ').next().unwrap_or_default();
        Ok(writeln!(self.out, "| {what} | {figure} | {target} | {load} |")?)
    }
}
