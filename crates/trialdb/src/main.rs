//! Starts a private PostgreSQL with one database, prints its address, and holds it until standard input ends.
//!
//! For a look at something by hand (`cargo run -p probity-trialdb`), and for this crate's own tests: it is a process
//! that can be killed. The second and third line are the number of the server's first process and its directory.

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
