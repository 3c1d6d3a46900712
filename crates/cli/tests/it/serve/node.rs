//! A running `probity serve`, and the commands about its data.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use probity_trialdb::{Database, postgres};
use rustix::process::{Pid, Signal, kill_process};

use super::client::Client;
use crate::program::{Place, Ran};

/// What no test should ever have to wait for.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A service that asks simulated mail servers, at a port of its own.
const SERVE: [&str; 4] = ["serve", "--sandbox", "--listen", "127.0.0.1:0"];

/// A number that the environment may set.
pub(crate) fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// Looks again and again until there is something to see.
pub(crate) fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_within(PATIENCE, what, look)
}

/// The same for what may take its time.
pub(crate) fn wait_within<T>(patience: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(begun.elapsed() < patience, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A copy of an installation's database.
pub(crate) enum Backup {
    Files(Vec<(PathBuf, Vec<u8>)>),
    Database(Database),
}

/// An installation: a directory, perhaps with a database on a server, and how its service is configured.
pub(crate) struct Installation {
    pub(crate) place: Place,
    database: Option<Database>,
    settings: Vec<String>,
}

impl Installation {
    /// On SQLite, in a data directory that the first start makes.
    pub(crate) fn on_sqlite() -> Self {
        Self { place: Place::new(), database: None, settings: Vec::new() }
    }

    /// On a database of a PostgreSQL server.
    pub(crate) fn on(database: Database) -> Self {
        Self { place: Place::new(), database: Some(database), settings: Vec::new() }
    }

    /// The same directory, from here on with a database of a PostgreSQL server.
    pub(crate) fn moved_to(self, database: Database) -> Self {
        Self { database: Some(database), ..self }
    }

    /// Sets keys of the configuration, as `key=value`.
    pub(crate) fn set(mut self, pairs: &[&str]) -> Self {
        self.settings.extend(pairs.iter().map(|pair| (*pair).to_owned()));
        self
    }

    /// Counts credits, and not requests.
    pub(crate) fn counted(self, credits: u32) -> Self {
        self.set(&["credits.plan=metered", &format!("credits.initial={credits}")])
            .set(&["rate.key_per_minute=60000000", "rate.organization_per_minute=60000000"])
    }

    /// Counts credits under short deadlines: a verification takes 2 s at most, a request 3 s.
    pub(crate) fn metered(self, credits: u32) -> Self {
        self.counted(credits).set(&["server.request_timeout=3s"])
    }

    pub(super) fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.place.command(args);
        command.args(["--data", "data"]);
        for pair in &self.settings {
            command.args(["--set", pair]);
        }
        if let Some(database) = &self.database {
            command.env("PROBITY_DATABASE__URL", database.url());
        }
        command
    }

    /// Runs a command about the data, such as `keys list`.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.command(args).stdin(Stdio::null()).output().unwrap().into()
    }

    /// Runs a command that knows nothing of the data.
    pub(crate) fn run_plainly(&self, args: &[&str]) -> Ran {
        self.place.command(args).stdin(Stdio::null()).output().unwrap().into()
    }

    /// Runs a command that must succeed and answers with one JSON object.
    pub(crate) fn ask(&self, args: &[&str]) -> serde_json::Value {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        serde_json::from_str(ran.out.trim()).unwrap()
    }

    /// Starts `serve --sandbox` at a port of its own, and waits until it says that it listens.
    pub(crate) fn start(&self) -> Node {
        self.start_as(&[])
    }

    /// Starts `serve --sandbox` with these flags at a port of its own, and waits until it says that it listens.
    pub(crate) fn start_as(&self, flags: &[&str]) -> Node {
        let started = self.launch_with(&[&SERVE, flags].concat()).listening();
        started.unwrap_or_else(|ended| panic!("it ended without listening, after {:?}", ended.seen))
    }

    /// The same with a failpoint: what happens to the process as it passes a statement or a commit. An error: it ended before it
    /// listened.
    pub(crate) fn start_armed(&self, failpoint: &str) -> Result<Node, Launched> {
        self.start_in(&[("PROBITY_FAILPOINT", failpoint.as_ref())])
    }

    /// The same in an environment with these variables.
    pub(crate) fn start_in(&self, environment: &[(&str, &OsStr)]) -> Result<Node, Launched> {
        let mut command = self.command(&SERVE);
        command.envs(environment.iter().copied());
        self.spawn(command).listening()
    }

    /// Starts `serve --sandbox` and kills it at some moment of its start, which is drawn from a random number.
    pub(crate) fn killed_early(&self, random: u64) {
        let launched = self.launch();
        let moment = Instant::now() + Duration::from_micros(random % 150_000);
        while Instant::now() < moment {
            std::thread::yield_now();
        }
        launched.kill();
    }

    /// Starts `serve --sandbox` and waits for nothing.
    pub(crate) fn launch(&self) -> Launched {
        self.launch_at("127.0.0.1:0")
    }

    /// Starts `serve --sandbox` at an address, and waits for nothing.
    pub(crate) fn launch_at(&self, listen: &str) -> Launched {
        self.launch_with(&["serve", "--sandbox", "--listen", listen])
    }

    /// Starts `serve --sandbox` where only so many files may be open, and waits until it says that it listens.
    pub(crate) fn start_with_few_files(&self, files: u32) -> Node {
        let command = self.command(&SERVE);
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", &format!("ulimit -n {files}; exec \"$@\""), "sh"]);
        limited.arg(command.get_program()).args(command.get_args());
        limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        limited.current_dir(command.get_current_dir().unwrap());
        let started = self.spawn(limited).listening();
        started.unwrap_or_else(|ended| panic!("it ended without listening, after {:?}", ended.seen))
    }

    /// Starts a command that serves, and waits for nothing.
    pub(crate) fn launch_with(&self, args: &[&str]) -> Launched {
        self.spawn(self.command(args))
    }

    fn spawn(&self, mut command: std::process::Command) -> Launched {
        let log = std::fs::File::options().create(true).append(true).open(self.place.path("log")).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (lines, printed) = channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| lines.send(line)));
        Launched { child, printed, seen: String::new() }
    }

    /// Asks or changes the database behind the program's back; PostgreSQL only.
    pub(crate) fn sql(&self, statement: &str) -> String {
        self.try_sql(statement).unwrap()
    }

    /// The same for what may be ended from elsewhere.
    pub(crate) fn try_sql(&self, statement: &str) -> Result<String, String> {
        self.database.as_ref().unwrap().query(statement)
    }

    /// What its database holds while no service runs: a backup.
    pub(crate) fn backup(&self) -> Backup {
        match &self.database {
            Some(database) => Backup::Database(postgres().unwrap().clone_of(database)),
            None => {
                Backup::Files(self.sqlite_files().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect())
            }
        }
    }

    /// Puts a backup into the database's place, as docs/operations.md says.
    pub(crate) fn restored(self, backup: Backup) -> Self {
        match backup {
            Backup::Database(database) => Self { database: Some(database), ..self },
            Backup::Files(files) => {
                self.sqlite_files().for_each(|path| std::fs::remove_file(path).unwrap());
                for (path, bytes) in files {
                    std::fs::write(path, bytes).unwrap();
                }
                self
            }
        }
    }

    /// `probity.db`, and what SQLite has beside it.
    fn sqlite_files(&self) -> impl Iterator<Item = PathBuf> {
        let paths = std::fs::read_dir(self.place.path("data")).unwrap().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("probity.db"))
    }

    /// What the services of this installation have logged.
    pub(crate) fn log(&self) -> String {
        let mut text = String::new();
        std::fs::File::open(self.place.path("log")).unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

/// A process that was started and may not answer yet. It is killed with the value.
pub(crate) struct Launched {
    child: Child,
    printed: Receiver<String>,
    seen: String,
}

impl Launched {
    /// Waits until it listens; gives it back where it ends before that.
    fn listening(mut self) -> Result<Node, Self> {
        let Some(listening) = self.find_line("Listening on ") else { return Err(self) };
        let url = listening.split_whitespace().nth(2).unwrap().trim_start_matches("http://").trim_end_matches(',');
        Ok(Node { address: url.parse().unwrap(), launched: self })
    }

    /// Waits for a line of standard output that holds this; fails where the output ends without it.
    pub(crate) fn line_with(&mut self, text: &str) -> String {
        self.find_line(text).unwrap_or_else(|| panic!("it ended without {text:?}, after {:?}", self.seen))
    }

    /// Waits for a line of standard output that holds this; none where the output ends without it.
    fn find_line(&mut self, text: &str) -> Option<String> {
        loop {
            let line = match self.printed.recv_timeout(PATIENCE) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => panic!("no {text:?} in time after {:?}", self.seen),
                Err(RecvTimeoutError::Disconnected) => return None,
            };
            self.seen += &line;
            self.seen.push('\n');
            if line.contains(text) {
                return Some(line);
            }
        }
    }

    /// Ends it as `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.die();
    }

    /// The same where others still hold it.
    pub(crate) fn die(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end; gives back what it printed, too.
    pub(crate) fn ended(&mut self) -> (ExitStatus, String) {
        let status = wait_for("the end of the process", || self.child.try_wait().unwrap());
        self.seen.extend(self.printed.iter().map(|line| line + "\n"));
        (status, std::mem::take(&mut self.seen))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Whether SIGSTOP has stopped it.
    pub(crate) fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid().as_raw_nonzero())).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with('T')
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        // One that has ended by itself shows in the assertions.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A service that answers.
pub(crate) struct Node {
    pub(crate) address: SocketAddr,
    pub(crate) launched: Launched,
}

impl Node {
    /// What it printed until it listened.
    pub(crate) fn printed(&self) -> &str {
        &self.launched.seen
    }

    /// A key that the first start printed, by its label.
    pub(crate) fn key(&self, label: &str) -> String {
        let line = self.printed().lines().find(|line| line.starts_with(label));
        let line = line.unwrap_or_else(|| panic!("no {label} in {:?}", self.printed()));
        line.split_whitespace().last().unwrap().to_owned()
    }

    pub(crate) fn client(&self, key: &str) -> Client {
        Client::new(self.address, key)
    }

    /// The status of `/readyz`; none where nobody answers.
    pub(crate) fn readiness(&self) -> Option<u16> {
        Client::new(self.address, "").get("/readyz").ok().map(|answer| answer.status)
    }

    pub(crate) fn kill(self) {
        self.launched.kill();
    }

    /// Stops it with SIGTERM; it must end well.
    pub(crate) fn stop(mut self) {
        self.launched.signal(Signal::TERM);
        let (status, _) = self.launched.ended();
        assert_eq!(status.code(), Some(0));
    }
}
