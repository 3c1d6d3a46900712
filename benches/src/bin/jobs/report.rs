//! The table that is printed: what was measured, the figure, the target beside it.

use std::fmt::Display;
use std::io::{Stdout, Write as _, stdout};

/// A table under way; each line is printed when it is known.
pub(crate) struct Report {
    out: Stdout,
}

impl Report {
    pub(crate) fn begin() -> anyhow::Result<Self> {
        let mut out = stdout();
        writeln!(out, "| What | Figure | Target | Load |\n|---|---|---|---|")?;
        Ok(Self { out })
    }

    /// A line with a target; without one it is `""`. The last column is the machine's load, of which measuring makes 2.
    pub(crate) fn line(&mut self, what: impl Display, figure: impl Display, target: &str) -> anyhow::Result<()> {
        let load = std::fs::read_to_string("/proc/loadavg")?;
        let load = load.split(' ').next().unwrap_or_default();
        Ok(writeln!(self.out, "| {what} | {figure} | {target} | {load} |")?)
    }
}
