//! Ends an instance with the process that started it, however that ends.
//!
//! A shell waits at a pipe whose other end only this process holds. When the pipe closes, because the instance is
//! dropped, the process has ended (nobody drops statics) or was killed, the shell stops the server and removes its
//! files. It has a process group of its own and ignores the signals of a terminal, so that what ends a whole group of
//! tests leaves it to do its work. It is the only way by which an instance ends: the one path is tested all the time.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::installation::Installation;

/// `$1` is `pg_ctl`, `$2` the instance's directory. A paused server would not hear that it shall stop, so its processes
/// are continued first. An `initdb` or a start that was under way when its caller died may still write: then the removal
/// fails and is tried again.
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

/// The shell that waits.
#[derive(Debug)]
pub(crate) struct Watchdog {
    shell: Child,
}

impl Watchdog {
    /// Sets one on the instance whose directory this is, before anything is started there.
    pub(crate) fn set(installation: &Installation, directory: &Path) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "watchdog"]).arg(installation.path("pg_ctl")).arg(directory);
        // Open files of the tests' output would make a runner wait for the shell.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.current_dir("/").process_group(0);
        installation.account.run(&mut command);
        Ok(Self { shell: command.spawn()? })
    }
}

impl Drop for Watchdog {
    /// Lets it do its work, and waits for the end of it.
    fn drop(&mut self) {
        // `wait` closes the pipe first. A failure cannot be told from here; the files are temporary ones in any case.
        let _ = self.shell.wait();
    }
}
