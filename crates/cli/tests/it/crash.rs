//! Kills, interruptions, full disks: nothing is lost, nothing is probed twice.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::program::Place;

/// Returns a list with one slow address per domain, so that a run takes a while.
fn list(rows: usize) -> String {
    let mut text = String::from("id,email\n");
    for n in 0..rows {
        let local = if n % 3 == 0 { "valid".to_owned() } else { format!("nobody{n}") };
        let delay = if n % 40 == 7 { "+delay-1s" } else { "" };
        writeln!(text, "{n},{local}{delay}@sandbox.test").unwrap();
    }
    text
}

fn start(place: &Place, args: &[&str]) -> Child {
    place.command(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the work file has grown to this size or the run has ended.
fn wait_for_size(place: &Place, child: &mut Child, size: u64) {
    let work = place.path("out.csv.probity-work");
    while child.try_wait().unwrap().is_none() {
        if std::fs::metadata(&work).is_ok_and(|meta| meta.len() >= size) {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
#[ignore = "thorough"]
fn killed_again_and_again_the_batch_comes_to_the_same_end() {
    let place = Place::with("in.csv", list(160));
    let args = ["batch", "--sandbox", "in.csv", "-o", "out.csv"];
    assert_eq!(place.run(&["batch", "--sandbox", "in.csv", "-o", "expected.csv"]).code, Some(0));
    let mut size = 0;
    for _ in 0..6 {
        let mut child = start(&place, &args);
        wait_for_size(&place, &mut child, size);
        // The child may have ended already, which is as good a moment as any.
        let _ = child.kill();
        child.wait().unwrap();
        assert!(!place.has("out.csv") || place.read("out.csv") == place.read("expected.csv"));
        size = std::fs::metadata(place.path("out.csv.probity-work")).map_or(0, |meta| meta.len() + 400);
    }
    let ran = place.run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(place.read("out.csv"), place.read("expected.csv"));
    assert!(!place.has("out.csv.probity-work") && !place.has("out.csv.part"));
}

#[test]
#[ignore = "thorough"]
fn an_interruption_says_how_to_continue() {
    let place = Place::with("in.csv", list(160));
    let mut child = start(&place, &["batch", "--sandbox", "in.csv", "-o", "out.csv"]);
    // The rows take about 2.5 times their text; answers follow.
    let rows = u64::try_from(list(160).len()).unwrap() * 3;
    wait_for_size(&place, &mut child, rows);
    let interrupted = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    if interrupted.success() && output.status.code() == Some(130) {
        assert!(err.contains("--resume") && place.has("out.csv.probity-work"), "{err}");
        let mode = std::fs::metadata(place.path("out.csv.probity-work")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let ran = place.run(&["batch", "--resume", "out.csv.probity-work"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    assert_eq!(place.read("out.csv").lines().count(), 161);
}

#[test]
#[ignore = "thorough"]
fn interrupted_twice_the_output_has_what_is_known_and_the_batch_can_be_finished() {
    let rows = "1,valid@sandbox.test\n2,nobody+delay-50s@catchall.sandbox.test\n";
    let place = Place::with("in.csv", format!("id,email\n{rows}"));
    let mut child = start(&place, &["batch", "--sandbox", "in.csv", "-o", "out.csv"]);
    // The first row's answer follows the import as soon as it is known; the second row's takes 50 s.
    let answered = || {
        let work = std::fs::read(place.path("out.csv.probity-work")).unwrap_or_default();
        let end = b"\"warnings\":[]}";
        work.windows(end.len()).position(|part| part == end).is_some_and(|at| work.len() > at + end.len())
    };
    while !answered() {
        assert!(child.try_wait().unwrap().is_none(), "it waits for the second row");
        std::thread::yield_now();
    }
    // The program is paused while both signals are sent, so that its time limit for running probes cannot pass between them. The
    // signals differ, because two of one kind would merge.
    let child_id = Pid::from_child(&child);
    for signal in [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT] {
        kill_process(child_id, signal).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("Press Ctrl-C again to stop at once"), "{err}");
    assert!(err.contains("out.csv has all rows") && err.contains("--finish"), "{err}");
    let written = place.read("out.csv");
    assert!(written.contains("1,valid@sandbox.test,passed,valid"), "{written}");
    assert!(written.contains("2,nobody+delay-50s@catchall.sandbox.test,unknown,unverified,not_asked"), "{written}");
    let ran = place.run(&["batch", "--resume", "out.csv.probity-work", "--finish"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("Continuing") && ran.err.contains("rows without a verdict: 1"), "{}", ran.err);
    assert_eq!(place.read("out.csv"), written);
    assert!(!place.has("out.csv.probity-work") && !place.has("out.csv.part"));
}

#[test]
#[ignore = "thorough"]
fn two_runs_do_not_share_a_work_file() {
    let place = Place::with("in.csv", list(160));
    let args = ["batch", "--sandbox", "in.csv", "-o", "out.csv"];
    let mut child = start(&place, &args);
    wait_for_size(&place, &mut child, 1);
    let second = place.run(&args);
    let first = child.wait().unwrap();
    assert!(first.success());
    assert!(second.code == Some(2) && second.err.contains("another run") || second.code == Some(0), "{second:?}");
}

#[test]
#[ignore = "thorough"]
fn a_full_disk_is_said_and_nothing_is_lost() {
    let place = Place::with("in.csv", list(30));
    let ran = place.run(&["batch", "--sandbox", "in.csv", "-o", "/dev/full", "--work", "w"]);
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    assert!(ran.err.contains("the disk is full") && ran.err.contains("run again"), "{}", ran.err);
    assert!(place.has("w"));
    let ran = place.run(&["batch", "--resume", "w", "-o", "out.csv"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("30 of 30 addresses have verdicts") || ran.err.contains("of"), "{}", ran.err);
    assert_eq!(place.read("out.csv").lines().count(), 31);
}

#[test]
#[ignore = "thorough"]
fn what_is_no_work_file_is_left_alone() {
    let place = Place::with("in.csv", list(3));
    place.write("w", "my diary");
    let ran = place.run(&["batch", "--sandbox", "in.csv", "-o", "out.csv", "--work", "w"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert_eq!(place.read("w"), "my diary");
    assert_eq!(place.run(&["batch", "--sandbox", "in.csv", "-o", "out.csv", "--work", "w", "--fresh"]).code, Some(2));
    assert_eq!(place.read("w"), "my diary");
    assert_eq!(place.run(&["batch", "--resume", "w"]).code, Some(2));
    assert_eq!(place.run(&["batch", "--resume", "missing"]).code, Some(2));
}

#[test]
#[ignore = "thorough"]
fn two_runs_do_not_write_one_output() {
    let place = Place::with("in.csv", list(160));
    let mut child = start(&place, &["batch", "--sandbox", "in.csv", "-o", "out.csv"]);
    while child.try_wait().unwrap().is_none() && !place.has("out.csv.part") {
        std::thread::yield_now();
    }
    let second = place.run(&["batch", "--sandbox", "in.csv", "-o", "out.csv", "--work", "another"]);
    assert!(child.wait().unwrap().success());
    assert!(second.code == Some(2) && second.err.contains("another run is writing"), "{second:?}");
    assert_eq!(place.read("out.csv").lines().count(), 161);
}

#[test]
#[ignore = "thorough"]
fn no_file_overwrites_another() {
    let csv = list(3);
    let table: &[&[&str]] = &[
        &["in.csv", "-o", "in.csv"],
        &["in.csv", "-o", "link.csv"],
        &["in.csv", "-o", "out.csv", "--work", "in.csv", "--fresh"],
        &["in.csv", "-o", "out.csv", "--work", "./out.csv"],
        &["in.csv", "-o", "out.csv", "--work", "out.csv.part"],
        &["in.csv.part", "-o", "in.csv"],
    ];
    for args in table {
        let place = Place::with("in.csv", &csv);
        place.write("in.csv.part", &csv);
        std::os::unix::fs::symlink("in.csv", place.path("link.csv")).unwrap();
        let ran = place.run(&[&["batch", "--offline"], *args].concat());
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.err);
        assert!(ran.err.contains("would be both"), "{args:?}: {}", ran.err);
        assert_eq!((place.read("in.csv"), place.read("in.csv.part")), (csv.clone(), csv.clone()), "{args:?}");
    }
}

/// Uses a file system of a few hundred kilobytes, which only root can create; elsewhere, `/dev/full` above must do.
#[test]
#[ignore = "thorough"]
fn a_work_file_that_finds_no_room_can_be_continued_elsewhere() {
    let place = Place::with("in.csv", list(3_000));
    let small = place.path("small");
    std::fs::create_dir(&small).unwrap();
    let small_path = small.to_str().unwrap();
    let mounted =
        std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs", small_path]).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        return;
    }
    let ran = place.run(&["batch", "--offline", "in.csv", "-o", "out.csv", "--work", "small/w"]);
    let unmounted = std::process::Command::new("umount").arg(small_path).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    assert!(ran.err.contains("small/w") && ran.err.contains("the disk is full"), "{}", ran.err);
    let ran = place.run(&["batch", "--offline", "in.csv", "-o", "out.csv"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(place.read("out.csv").lines().count(), 3_001);
}
