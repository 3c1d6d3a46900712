//! Starts a private PostgreSQL with one database, prints its URL, and keeps it running until standard input ends.
//!
//! For manual inspection (`cargo run -p probity-trialdb`), and for this crate's tests, which need a process to kill. The second and
//! third lines are the postmaster's process ID and its directory.

use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

use probity_trialdb::Cluster;

fn main() -> io::Result<ExitCode> {
    let Some(cluster) = Cluster::private() else { return Ok(ExitCode::FAILURE) };
    let database = cluster.create_database();
    let postmaster = cluster.postmaster_pid().expect("a started server runs");
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}\n{postmaster}\n{}", database.url(), cluster.directory().display())?;
    stdout.flush()?;
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    Ok(ExitCode::SUCCESS)
}
