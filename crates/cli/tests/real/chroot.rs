//! The root directory of unpacked servers: locates it, locks it, and runs programs in it.
//!
//! Only one [`Chroot`] exists at a time, because servers have fixed paths (OpenSMTPD's spool, `/etc/resolv.conf`). An exclusive
//! lock on the directory is held while they run, and the system releases it even if this process is killed. Under the lock, every
//! process with this root directory is ours. Children of servers and remains of a killed run are found and ended that way, without
//! guessing by name.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::poll;

/// Time for servers to end by themselves.
const END_LIMIT: Duration = Duration::from_secs(5);

/// Directory of a run's files, as seen by the servers.
pub(crate) const RUN: &str = "/worlds/run";

/// The servers' root directory, locked exclusively.
pub(crate) struct Chroot {
    root: PathBuf,
    children: Vec<(&'static str, Child)>,
    _lock: File,
}

impl Chroot {
    /// Locks the directory; the error says what is missing.
    pub(crate) fn open() -> Result<Self, String> {
        let root = root();
        if !root.join(".complete").exists() {
            return Err(format!("no servers in {} (run .ci/servers)", root.display()));
        }
        if !rustix::process::geteuid().is_root() {
            return Err("a chroot and mail servers need the rights of root".to_owned());
        }
        let lock = File::create(root.join(".lock")).and_then(|lock| lock.lock().map(|()| lock));
        let lock = lock.map_err(|error| format!("cannot lock {}: {error}", root.display()))?;
        let chroot = Self { root, children: Vec::new(), _lock: lock };
        chroot.end_all();
        match fs::remove_dir_all(chroot.host(RUN)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(format!("cannot clear {RUN}: {error}")),
            _ => Ok(chroot),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Converts a path inside the chroot to one of this process.
    fn host(&self, inside: &str) -> PathBuf {
        self.root.join(inside.trim_start_matches('/'))
    }

    /// Writes a file, creating its parent directories.
    pub(crate) fn write(&self, inside: &str, text: &str) {
        let path = self.host(inside);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory of the chroot");
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Returns a file's content; empty if the file does not exist.
    pub(crate) fn read(&self, inside: &str) -> String {
        fs::read(self.host(inside)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Creates a directory owned by a user of the chroot's `/etc/passwd`.
    pub(crate) fn directory(&self, inside: &str, user: &str, group: &str, mode: u32) {
        let path = self.host(inside);
        fs::create_dir_all(&path).expect("a directory of the chroot");
        self.give(inside, user, group, mode);
    }

    /// Sets a file's or directory's owner and mode.
    pub(crate) fn give(&self, inside: &str, user: &str, group: &str, mode: u32) {
        let path = self.host(inside);
        let ids = (self.id("/etc/passwd", user), self.id("/etc/group", group));
        std::os::unix::fs::chown(&path, Some(ids.0), Some(ids.1)).expect("an owner");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
    }

    fn id(&self, table: &str, name: &str) -> u32 {
        let text = self.read(table);
        let mut lines = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let line = lines.find(|fields| fields[0] == name).unwrap_or_else(|| panic!("{name} in {table}"));
        line[2].parse().expect("a numeric id")
    }

    fn command(&self, program: &[&str]) -> Command {
        let mut command = Command::new("chroot");
        command.arg(&self.root).args(program).env_clear().env("PATH", "/usr/sbin:/usr/bin").stdin(Stdio::null());
        command
    }

    /// Runs a program of the chroot to completion.
    pub(crate) fn run(&self, program: &[&str]) {
        let output = self.command(program).output().unwrap_or_else(|error| panic!("chroot: {error}"));
        assert!(output.status.success(), "{program:?}: {output:?}");
    }

    /// Starts a program of the chroot; its output goes to its log.
    pub(crate) fn start(&mut self, name: &'static str, program: &[&str]) {
        let log = File::create(self.host(&log_path(name))).expect("a log");
        let child = self
            .command(program)
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("chroot: {error}"));
        self.children.push((name, child));
    }

    /// Returns the names of servers that have ended, which none should.
    pub(crate) fn ended(&mut self) -> Vec<&'static str> {
        let ended = |child: &mut Child| matches!(child.try_wait(), Ok(Some(_)));
        self.children.iter_mut().filter_map(|(name, child)| ended(child).then_some(*name)).collect()
    }

    /// Returns all logs of the servers.
    pub(crate) fn logs(&self) -> String {
        let names = self.children.iter().map(|(name, _)| *name);
        names
            .flat_map(|name| ["--- ".to_owned(), name.to_owned(), "\n".to_owned(), self.read(&log_path(name))])
            .collect()
    }

    /// Returns the processes whose root is this directory.
    fn processes(&self) -> Vec<rustix::process::Pid> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        let ours = pids.filter(|pid| fs::read_link(format!("/proc/{pid}/root")).is_ok_and(|root| root == self.root));
        ours.filter_map(rustix::process::Pid::from_raw).collect()
    }

    /// Asks every process of the chroot to end, and kills it if it does not.
    fn end_all(&self) {
        for signal in [rustix::process::Signal::TERM, rustix::process::Signal::KILL] {
            for pid in self.processes() {
                // The process may have ended meanwhile.
                let _ = rustix::process::kill_process(pid, signal);
            }
            if poll::until(END_LIMIT, || self.processes().is_empty().then_some(())).is_some() {
                return;
            }
        }
    }
}

impl Drop for Chroot {
    fn drop(&mut self) {
        self.end_all();
        for (_, child) in &mut self.children {
            let _ = child.wait();
        }
    }
}

/// Path of a server's log.
pub(crate) fn log_path(name: &str) -> String {
    format!("{RUN}/{name}.log")
}

/// Returns `$PROBITY_REAL_SERVERS/root`, or `real-servers/root` in the build directory.
fn root() -> PathBuf {
    // The program is in the build directory's profile: target/debug/probity.
    let build = Path::new(env!("CARGO_BIN_EXE_probity")).ancestors().nth(2).expect("a build directory");
    let directory = std::env::var_os("PROBITY_REAL_SERVERS").map_or_else(|| build.join("real-servers"), PathBuf::from);
    let root = directory.join("root");
    fs::canonicalize(&root).unwrap_or(root)
}
