//! A full or read-only disk under a SQLite file. Only root can create a small file system, and only a C compiler can build the
//! library that simulates a read-only one; elsewhere, these tests report that they were skipped.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::Place;
use crate::serve::bench::account::nothing_lost;
use crate::serve::bench::client::Answer;
use crate::serve::bench::node::{Installation, Node, wait_for};
use crate::serve::bench::traffic::{Asking, Traffic};

const GRANTED: u32 = 50_000;
const ROOM: &str = "6m";

/// A small file system on the data directory. Dropping it unmounts the file system.
pub(crate) struct Small(PathBuf);

impl Small {
    /// Mounts the file system with this capacity, as `mount` reads it.
    pub(crate) fn under(installation: &Installation, room: &str) -> Option<Self> {
        Self::at(installation.place.path("data"), room)
    }

    /// Mounts the file system on a new directory.
    pub(crate) fn at(data: PathBuf, room: &str) -> Option<Self> {
        std::fs::create_dir(&data).unwrap();
        let options = format!("size={room},mode=700");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&data).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(data));
        }
        eprintln!("SKIPPED: no small file system can be mounted here, so the full disk is not tested");
        None
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Makes another user the owner.
    pub(crate) fn give_to(&self, uid: u32) {
        std::os::unix::fs::chown(&self.0, Some(uid), None).unwrap();
    }

    pub(crate) fn remount(&self, how: &str) {
        let done = Command::new("mount").args(["-o", how]).arg(&self.0).status().unwrap();
        assert!(done.success(), "{how}");
    }

    /// Fills the remaining space.
    pub(crate) fn fill(&self) {
        let mut file = File::create(self.0.join("filler")).unwrap();
        let piece = [0; 4096];
        while file.write_all(&piece).is_ok() {}
    }

    pub(crate) fn clear(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // Unmounts lazily: a failed test may still have open files there.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Waits until the node is not ready. Even an idle node gets there, because its heartbeat needs space.
fn is_not_ready(node: &Node) {
    wait_for("the end of readiness", || {
        let answer = node.client("").get("/readyz").unwrap();
        (answer.status == 503 && answer.body.contains("writes")).then_some(())
    });
}

#[test]
#[ignore = "thorough"]
fn a_full_disk_costs_answers_and_no_credits() {
    let installation = Installation::on_sqlite().metered(GRANTED);
    let Some(small) = Small::under(&installation, ROOM) else { return };
    let node = installation.start();
    let key = node.key("Live key");
    let traffic = Traffic::start(node.address, &key, 8);
    let mut one = Asking::new(&node, &key);
    for _ in 0..2 {
        small.fill();
        one.until("503", Answer::is_unavailable);
        traffic.fails();
        is_not_ready(&node);
        small.clear();
        one.until("a verdict", |answer| answer.status == 200);
        wait_for("readiness", || (node.readiness() == Some(200)).then_some(()));
    }
    let mut seen = traffic.end();
    seen.add(one.seen);
    let account = nothing_lost(&installation, u64::from(GRANTED), &seen);
    println!("{account:?}, {seen:?}");
    node.stop();
}

/// Builds the library that is preloaded before the C library (`read_only.c`).
fn shim(place: &Place) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/serve/failures/read_only.c");
    let library = place.path("read_only.so");
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl").output();
    match made {
        Ok(made) => {
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
            Some(library)
        }
        Err(error) => {
            eprintln!("SKIPPED: no C compiler ({error}), so a file system that becomes read-only is not tested");
            None
        }
    }
}

#[test]
#[ignore = "thorough"]
fn a_disk_that_becomes_read_only_costs_answers_and_no_credits() {
    let installation = Installation::on_sqlite().metered(GRANTED);
    let Some(library) = shim(&installation.place) else { return };
    let read_only = installation.place.path("read-only");
    let environment = [("LD_PRELOAD", library.as_os_str()), ("READ_ONLY_WHILE", read_only.as_os_str())];
    let node = installation.start_in(&environment).unwrap_or_else(|_| panic!("it listens"));
    let key = node.key("Live key");
    let mut customer = node.client(&key);
    let traffic = Traffic::start(node.address, &key, 8);
    let mut one = Asking::new(&node, &key);
    for n in 0..2 {
        File::create(&read_only).unwrap();
        one.until("503", Answer::is_unavailable);
        traffic.fails();
        is_not_ready(&node);
        let (retry_key, list) = (format!("list-{n}"), r#"{"emails":["valid@sandbox.test"]}"#);
        let refused = customer.post("/v1/batch-verify", &retry_key, list).unwrap();
        assert!(refused.is_unavailable(), "{refused:?}");
        std::fs::remove_file(&read_only).unwrap();
        one.until("a verdict", |answer| answer.status == 200);
        let accepted = wait_for("the list", || {
            let answer = customer.post("/v1/batch-verify", &retry_key, list).unwrap();
            (answer.status == 200).then_some(answer)
        });
        let id = accepted.json()["id"].as_str().unwrap().to_owned();
        wait_for("the end of the job", || {
            let status = customer.get(&format!("/v1/batch-verify/{id}/status")).unwrap();
            (status.status == 200 && status.json()["status"] == "completed").then_some(())
        });
        one.seen.charged += 1;
    }
    let mut seen = traffic.end();
    seen.add(one.seen);
    let account = nothing_lost(&installation, u64::from(GRANTED), &seen);
    println!("{account:?}, {seen:?}");
    node.stop();
}

#[test]
#[ignore = "thorough"]
fn a_database_that_cannot_be_written_is_told_at_the_start() {
    let installation = Installation::on_sqlite();
    let Some(small) = Small::under(&installation, ROOM) else { return };
    let first = installation.start();
    let key = first.key("Live key");
    first.stop();
    small.remount("remount,ro");
    let (status, printed) = installation.launch().ended();
    let log = installation.log();
    assert_eq!((status.code(), printed.as_str()), (Some(5), ""), "{log}");
    assert!(log.contains("readonly database") || log.contains("unable to open database file"), "{log}");
    small.remount("remount,rw");
    let again = installation.start();
    assert_eq!(again.client(&key).verify("valid@sandbox.test").unwrap().status, 200);
    again.stop();
}
