//! A running `probity serve`, and commands on its data.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use probity_trialdb::{TrialDatabase, postgres};
use rustix::process::{Pid, Signal, kill_process};

use crate::program::{Place, Ran};
use crate::serve::bench::client::Client;

/// Time limit that no test should reach.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Arguments of a service with simulated mail servers, on its own port.
const SERVE: [&str; 4] = ["serve", "--sandbox", "--listen", "127.0.0.1:0"];

/// Returns a number from the environment, or a default.
pub(crate) fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// Polls until `look` returns something.
pub(crate) fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_within(PATIENCE, what, look)
}

/// Polls until `look` returns something; fails after `patience`.
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
    Database(TrialDatabase),
}

/// An installation: a directory, possibly a server's database, and the service's configuration.
pub(crate) struct Installation {
    pub(crate) place: Place,
    database: Option<TrialDatabase>,
    settings: Vec<String>,
}

impl Installation {
    /// Uses SQLite, in a data directory that the first start creates.
    pub(crate) fn on_sqlite() -> Self {
        Self { place: Place::new(), database: None, settings: Vec::new() }
    }

    /// Uses a database of a PostgreSQL server.
    pub(crate) fn on(database: TrialDatabase) -> Self {
        Self { place: Place::new(), database: Some(database), settings: Vec::new() }
    }

    /// Returns all rows in PostgreSQL as text, with printable bytes as they are. `None` if the database is a file.
    pub(crate) fn rows_in_postgresql(&self) -> Option<String> {
        let database = self.database.as_ref()?;
        let tables = database.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").unwrap();
        let rows = |table: &str| format!("SELECT one::text FROM \"{table}\" AS one");
        let all = tables.lines().map(rows).collect::<Vec<_>>().join(" UNION ALL ");
        Some(database.query(&format!("SET bytea_output = escape; {all}")).unwrap())
    }

    /// Returns another installation with a copy of this one's data, which nothing may be using.
    pub(crate) fn cloned(&self) -> Self {
        let place = Place::new();
        std::fs::create_dir(place.path("data")).unwrap();
        for entry in std::fs::read_dir(self.place.path("data")).unwrap() {
            let (name, path) = entry.map(|entry| (entry.file_name(), entry.path())).unwrap();
            std::fs::copy(path, place.path("data").join(name)).unwrap();
        }
        let database = self.database.as_ref().map(|database| postgres().unwrap().clone_of(database));
        Self { place, database, settings: self.settings.clone() }
    }

    /// Keeps the directory, and continues with a database of a PostgreSQL server.
    pub(crate) fn moved_to(self, database: TrialDatabase) -> Self {
        Self { database: Some(database), ..self }
    }

    /// Sets configuration keys, as `key=value`.
    pub(crate) fn set(mut self, pairs: &[&str]) -> Self {
        self.settings.extend(pairs.iter().map(|pair| (*pair).to_owned()));
        self
    }

    /// Meters credits, with the highest rate limits.
    pub(crate) fn counted(self, credits: u32) -> Self {
        self.set(&["credits.plan=metered", &format!("credits.initial={credits}")])
            .set(&["rate.key_per_minute=60000000", "rate.organization_per_minute=60000000"])
    }

    /// Meters credits with short deadlines: at most 2 s for a verification, 3 s for a request.
    pub(crate) fn metered(self, credits: u32) -> Self {
        self.counted(credits).set(&["server.request_timeout=3s"])
    }

    pub(crate) fn command(&self, args: &[&str]) -> std::process::Command {
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

    /// Runs a command on the data, such as `keys list`.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.command(args).stdin(Stdio::null()).output().unwrap().into()
    }

    /// Runs a command that needs no data.
    pub(crate) fn run_plainly(&self, args: &[&str]) -> Ran {
        self.place.command(args).stdin(Stdio::null()).output().unwrap().into()
    }

    /// Runs a command that must succeed and print one JSON object.
    pub(crate) fn ask(&self, args: &[&str]) -> serde_json::Value {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        serde_json::from_str(ran.out.trim()).unwrap()
    }

    /// Starts `serve --sandbox` on its own port, and waits until it listens.
    pub(crate) fn start(&self) -> Node {
        self.start_as(&[])
    }

    /// Starts `serve --sandbox` with these flags on its own port, and waits until it listens.
    pub(crate) fn start_as(&self, flags: &[&str]) -> Node {
        let started = self.launch_with(&[&SERVE, flags].concat()).listening();
        started.unwrap_or_else(|ended| panic!("it ended without listening, after {:?}", ended.seen))
    }

    /// Starts with a failpoint: an action at a statement or commit. Returns an error if the process ends before it listens.
    pub(crate) fn start_armed(&self, failpoint: &str) -> Result<Node, Launched> {
        self.start_in(&[("PROBITY_FAILPOINT", failpoint.as_ref())])
    }

    /// Starts with these environment variables.
    pub(crate) fn start_in(&self, environment: &[(&str, &OsStr)]) -> Result<Node, Launched> {
        let mut command = self.command(&SERVE);
        command.envs(environment.iter().copied());
        self.spawn(command).listening()
    }

    /// Starts `serve --sandbox` and kills it at a random moment of its start.
    pub(crate) fn killed_early(&self, random: u64) {
        let launched = self.launch();
        let moment = Instant::now() + Duration::from_micros(random % 150_000);
        while Instant::now() < moment {
            std::thread::yield_now();
        }
        launched.kill();
    }

    /// Starts `serve --sandbox` without waiting.
    pub(crate) fn launch(&self) -> Launched {
        self.launch_at("127.0.0.1:0")
    }

    /// Starts `serve --sandbox` on an address, without waiting.
    pub(crate) fn launch_at(&self, listen: &str) -> Launched {
        self.launch_with(&["serve", "--sandbox", "--listen", listen])
    }

    /// Starts `serve --sandbox` with a limit of open files, and waits until it listens.
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

    /// Starts a serving command, without waiting.
    pub(crate) fn launch_with(&self, args: &[&str]) -> Launched {
        self.spawn(self.command(args))
    }

    /// Starts a command that needs no data, without waiting.
    pub(crate) fn launch_plainly(&self, args: &[&str]) -> Launched {
        self.spawn(self.place.command(args))
    }

    fn spawn(&self, mut command: std::process::Command) -> Launched {
        let log = std::fs::File::options().create(true).append(true).open(self.place.path("log")).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (lines, printed) = channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| lines.send(line)));
        Launched { child, printed, seen: String::new() }
    }

    /// Queries or changes the database directly; PostgreSQL only.
    pub(crate) fn sql(&self, statement: &str) -> String {
        self.try_sql(statement).unwrap()
    }

    /// Like [`Installation::sql`], for a statement whose connection may be closed from elsewhere.
    pub(crate) fn try_sql(&self, statement: &str) -> Result<String, String> {
        self.database.as_ref().unwrap().query(statement)
    }

    /// Copies the database while no service runs.
    pub(crate) fn backup(&self) -> Backup {
        match &self.database {
            Some(database) => Backup::Database(postgres().unwrap().clone_of(database)),
            None => {
                Backup::Files(self.sqlite_files().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect())
            }
        }
    }

    /// Restores a backup, as docs/operations.md describes.
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

    /// Returns the paths of `probity.db` and SQLite's files beside it.
    fn sqlite_files(&self) -> impl Iterator<Item = PathBuf> {
        let paths = std::fs::read_dir(self.place.path("data")).unwrap().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("probity.db"))
    }

    /// Returns the log of this installation's services.
    pub(crate) fn log(&self) -> String {
        let mut text = String::new();
        std::fs::File::open(self.place.path("log")).unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

/// A started process that may not respond yet. Dropping it kills the process.
pub(crate) struct Launched {
    child: Child,
    printed: Receiver<String>,
    seen: String,
}

impl Launched {
    /// Waits until the process listens; returns it as an error if it ends first.
    pub(crate) fn listening(mut self) -> Result<Node, Self> {
        let Some(listening) = self.find_line("Listening on ") else { return Err(self) };
        let url = listening.split_whitespace().nth(2).unwrap().trim_start_matches("http://").trim_end_matches(',');
        Ok(Node { address: url.parse().unwrap(), launched: self })
    }

    /// Output so far.
    pub(crate) fn seen(&self) -> &str {
        &self.seen
    }

    /// Waits for a line of standard output with this text; fails if the output ends first.
    pub(crate) fn line_with(&mut self, text: &str) -> String {
        self.find_line(text).unwrap_or_else(|| panic!("it ended without {text:?}, after {:?}", self.seen))
    }

    /// Waits for a line of standard output with this text; `None` if the output ends first.
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

    /// Ends the process as `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.die();
    }

    /// Ends the process as `kill -9` does, while others still hold it.
    pub(crate) fn die(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end of the process; returns its status and output.
    pub(crate) fn ended(&mut self) -> (ExitStatus, String) {
        let status = wait_for("the end of the process", || self.child.try_wait().unwrap());
        self.seen.extend(self.printed.iter().map(|line| line + "\n"));
        (status, std::mem::take(&mut self.seen))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Reports whether SIGSTOP has stopped the process.
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
        // A process that has ended early shows in the assertions.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A service that responds.
pub(crate) struct Node {
    pub(crate) address: SocketAddr,
    pub(crate) launched: Launched,
}

impl Node {
    /// Output until it listened.
    pub(crate) fn printed(&self) -> &str {
        &self.launched.seen
    }

    /// Returns a key that the first start printed, by its label.
    pub(crate) fn key(&self, label: &str) -> String {
        let line = self.printed().lines().find(|line| line.starts_with(label));
        let line = line.unwrap_or_else(|| panic!("no {label} in {:?}", self.printed()));
        line.split_whitespace().last().unwrap().to_owned()
    }

    pub(crate) fn client(&self, key: &str) -> Client {
        Client::new(self.address, key)
    }

    /// Status of `/readyz`; `None` without a response.
    pub(crate) fn readiness(&self) -> Option<u16> {
        Client::new(self.address, "").get("/readyz").ok().map(|answer| answer.status)
    }

    pub(crate) fn kill(self) {
        self.launched.kill();
    }

    /// Stops the process with SIGTERM; it must exit successfully.
    pub(crate) fn stop(mut self) {
        self.launched.signal(Signal::TERM);
        let (status, _) = self.launched.ended();
        assert_eq!(status.code(), Some(0));
    }
}
