//! Ends an instance with the process that started it, however that process ends.
//!
//! A shell waits on a pipe whose other end only this process holds. The pipe closes when the instance is dropped, or the process
//! ends (statics are never dropped) or is killed. The shell then stops the server and removes its files. The shell has its own
//! process group and ignores terminal signals, so that ending a whole group of tests does not interrupt it. Every instance ends
//! this way, so that the one path is always tested.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::installation::Installation;

/// `$1` is `pg_ctl`, `$2` the instance's directory. A paused server would not receive the stop request, so its processes are
/// resumed first. An `initdb` or a start in progress when its caller died may still write: then the removal fails and is retried.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
read -r nothing
for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    if read -r postmaster <"$2/data/postmaster.pid"; then
        kill -CONT "$postmaster" $(cat "/proc/$postmaster/task/$postmaster/children")
        "$1" stop --pgdata="$2/data" --mode=immediate
    fi
    rm -rf "$2" && exit
    sleep 1
done
"#;

#[derive(Debug)]
pub(crate) struct Watchdog {
    shell: Child,
}

impl Watchdog {
    /// Starts a watchdog for the instance in this directory; call before starting anything there.
    pub(crate) fn set(installation: &Installation, directory: &Path) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "watchdog"]).arg(installation.path("pg_ctl")).arg(directory);
        // Inherited output files would make a test runner wait for the shell.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.current_dir("/").process_group(0);
        installation.account.run(&mut command);
        Ok(Self { shell: command.spawn()? })
    }
}

impl Drop for Watchdog {
    /// Triggers the shell and waits until it is done.
    fn drop(&mut self) {
        // `wait` closes the pipe first. A failure cannot be reported here; the files are temporary in any case.
        let _ = self.shell.wait();
    }
}
