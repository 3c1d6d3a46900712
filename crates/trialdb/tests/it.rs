//! Guarantees of an instance, tested with a real server. Without PostgreSQL, the tests print `SKIPPED`.

#![expect(clippy::unwrap_used, reason = "clippy knows tests by their attribute, and not what they call")]

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use probity_trialdb::{Cluster, Setup, TrialDatabase, postgres};

fn ask(database: &TrialDatabase, sql: &str) -> String {
    database.query(sql).unwrap()
}

/// Polls a state for up to 30 s.
fn comes_true(state: impl Fn() -> bool) -> bool {
    (0..3_000).any(|_| {
        let is = state();
        if !is {
            thread::sleep(Duration::from_millis(10));
        }
        is
    })
}

/// Reports whether the URL's port is free.
fn is_free(url: &str) -> bool {
    let port = url.rsplit_once(':').unwrap().1.split_once('/').unwrap().0;
    TcpListener::bind(("127.0.0.1", port.parse().unwrap())).is_ok()
}

/// Returns the state letter of a process; `None` if it has ended.
fn state(pid: &str) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ").unwrap().1.split(' ').next().map(str::to_owned)
}

/// Reports whether a process exists and is not dead.
fn runs(pid: &str) -> bool {
    state(pid).is_some_and(|state| state != "Z")
}

/// Returns the states of a process and its children, except zombies.
fn family(pid: &str) -> Vec<String> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.split_ascii_whitespace().chain([pid]).filter_map(state).filter(|state| state != "Z").collect()
}

#[test]
fn tests_share_one_instance_and_each_has_its_database() {
    let Some(cluster) = postgres() else { return };
    let (one, other) = (cluster.create_database(), cluster.create_database());
    assert_eq!(ask(&one, "select 1"), "1");
    ask(&one, "create table t (n int); insert into t values (7)");
    assert!(other.query("select n from t").unwrap_err().contains("does not exist"));
    assert_eq!(postgres().unwrap().postmaster_pid(), cluster.postmaster_pid());
    assert_eq!(cluster.url(one.name()), one.url());
    assert_eq!(ask(&one, "show fsync"), "off");
}

#[test]
fn a_clone_has_what_its_template_had_and_goes_its_own_way() {
    let Some(cluster) = postgres() else { return };
    let template = cluster.create_database();
    ask(&template, "create table t (n int); insert into t values (7)");
    let (one, other) = (cluster.clone_of(&template), cluster.clone_of(&template));
    ask(&one, "insert into t values (8)");
    let rows = [&template, &one, &other].map(|database| ask(database, "select count(*) from t"));
    assert_eq!(rows, ["1", "2", "1"]);
}

#[test]
fn a_dropped_database_is_gone() {
    let Some(cluster) = postgres() else { return };
    let (kept, dropped) = (cluster.create_database(), cluster.create_database());
    let count = format!("select count(*) from pg_database where datname = '{}'", dropped.name());
    assert_eq!(ask(&kept, &count), "1");
    drop(dropped);
    assert_eq!(ask(&kept, &count), "0");
}

#[test]
fn what_was_committed_outlives_an_immediate_stop() {
    for setup in [Setup::default(), Setup::default().fast()] {
        let Some(cluster) = setup.start() else { return };
        let database = cluster.create_database();
        ask(&database, "create table t (n int); insert into t select generate_series(1, 1000)");
        let first = cluster.postmaster_pid();
        cluster.stop_immediate();
        assert_eq!(cluster.postmaster_pid(), None);
        assert!(database.query("select 1").unwrap_err().contains("refused"));
        cluster.start_again();
        assert_ne!(cluster.postmaster_pid(), first);
        assert_eq!(ask(&database, "select count(*), sum(n) from t"), "1000|500500");
    }
}

#[test]
fn a_private_instance_is_durable_and_leaves_nothing_behind() {
    let Some(cluster) = Cluster::private() else { return };
    let database = cluster.create_database();
    assert_eq!(ask(&database, "select current_setting('fsync'), current_setting('full_page_writes')"), "on|on");
    let (directory, url) = (cluster.directory().to_owned(), database.url().to_owned());
    let pid = cluster.postmaster_pid().unwrap().to_string();
    drop(cluster);
    assert_eq!(ask(&database, "select 1"), "1");
    drop(database);
    assert!(!directory.exists() && !runs(&pid) && is_free(&url));
}

#[test]
fn nobody_gets_in_without_the_password() {
    let Some(cluster) = postgres() else { return };
    let database = cluster.create_database();
    let ways = "select distinct auth_method from pg_hba_file_rules";
    assert_eq!(ask(&database, ways), "scram-sha-256");
}

#[test]
fn a_paused_server_stands_until_it_is_resumed_or_stopped() {
    let Some(cluster) = Setup::default().fast().start() else { return };
    let database = cluster.create_database();
    let pid = cluster.postmaster_pid().unwrap().to_string();
    cluster.pause();
    let family = family(&pid);
    assert!(family.len() > 3, "a server has a checkpointer, a writer and more: {family:?}");
    assert!(family.iter().all(|state| state == "T"), "{family:?}");
    cluster.resume();
    assert_eq!(ask(&database, "select 1"), "1");
    cluster.pause();
    cluster.stop_immediate();
    assert_eq!(cluster.postmaster_pid(), None);
}

/// This crate's program, holding an instance.
struct Holder {
    process: Child,
    url: String,
    postmaster: String,
    directory: PathBuf,
}

impl Holder {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probity-trialdb"));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut line = || lines.next().expect("three lines");
        let (url, postmaster, directory) = (line(), line(), line().into());
        Self { process, url, postmaster, directory }
    }

    fn is_gone(&self) -> bool {
        !Path::new(&self.directory).exists() && !runs(&self.postmaster) && is_free(&self.url)
    }
}

#[test]
fn the_server_ends_with_a_process_that_is_killed() {
    if postgres().is_none() {
        return;
    }
    for pause in [false, true] {
        let mut holder = Holder::start();
        assert!(holder.directory.join("data").is_dir() && runs(&holder.postmaster));
        if pause {
            let pid = rustix::process::Pid::from_raw(holder.postmaster.parse().unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        }
        holder.process.kill().unwrap();
        holder.process.wait().unwrap();
        assert!(comes_true(|| holder.is_gone()), "{} is left", holder.directory.display());
    }
}

#[test]
fn without_programs_it_is_skipped_aloud_or_fails_where_required() {
    let errors = |bin: &str, required: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probity-trialdb"));
        command.env("PROBITY_PG_BIN", bin).env("PROBITY_REQUIRE_PG", required).stdin(Stdio::null());
        let output = command.output().unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let missing = "no PostgreSQL programs found (install postgresql, or set PROBITY_PG_BIN)";
    assert_eq!(errors("none", ""), format!("\nSKIPPED: {missing}\n"));
    assert!(errors("none", "1").contains(&format!("PROBITY_REQUIRE_PG=1, but {missing}")));
    assert!(errors("/nowhere", "").contains("PROBITY_PG_BIN=/nowhere does not hold all of"));
}
