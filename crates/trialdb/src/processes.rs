//! Processes of an instance: the postmaster and its children.
//!
//! Each backend leads its own session, so that no process group contains them all; /proc has each process's parent.

use std::fs;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

/// Number of polls until a stopped process must stand: it stops when it leaves its current system call.
const STOP_POLLS: u32 = 5_000;
/// Pause between polls.
const POLL: Duration = Duration::from_millis(1);

/// State letter and parent, from a line of /proc.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    state: char,
    parent: i32,
}

impl Stat {
    /// Reads the state of a process; `None` if it has ended.
    fn of(pid: Pid) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?)
    }

    /// Parses a line of `proc_pid_stat(5)`. The name, in parentheses, may contain anything, including parentheses and blanks.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.rsplit_once(')')?.1.split_ascii_whitespace();
        Some(Self { state: fields.next()?.chars().next()?, parent: fields.next()?.parse().ok()? })
    }
}

/// Sends SIGSTOP to the process and then to its children, and waits until each has stopped.
///
/// The parent goes first: once stopped, it starts no more children, and the process IDs of its dead children are not reused.
pub(crate) fn pause(parent: Pid) {
    stop(parent);
    children(parent).into_iter().for_each(stop);
}

/// Sends SIGCONT to the children and then to the process.
pub(crate) fn resume(parent: Pid) {
    for pid in children(parent).into_iter().chain([parent]) {
        send(pid, Signal::CONT);
    }
}

/// Returns the children of a process.
fn children(parent: Pid) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
        .filter(|pid| Stat::of(*pid).is_some_and(|stat| stat.parent == parent.as_raw_nonzero().get()))
        .collect()
}

fn stop(pid: Pid) {
    send(pid, Signal::STOP);
    for _ in 0..STOP_POLLS {
        match Stat::of(pid).map(|stat| stat.state) {
            None | Some('T' | 't' | 'Z' | 'X') => return,
            Some(_) => thread::sleep(POLL),
        }
    }
    panic!("process {pid:?} does not stop");
}

fn send(pid: Pid, signal: Signal) {
    match kill_process(pid, signal) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => panic!("cannot send a signal to process {pid:?}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_name_of_a_process_does_not_confuse() {
        let stat = |state, parent| Some(Stat { state, parent });
        assert_eq!(Stat::parse("7 (postgres) S 3 7 7 0"), stat('S', 3));
        assert_eq!(Stat::parse("7 (a) Z 9) (b) T 41 7 7 0"), stat('T', 41));
        assert_eq!(Stat::parse("7 (postgres"), None);
        assert_eq!(Stat::parse(""), None);
    }

    #[test]
    fn a_paused_process_stands_until_it_is_resumed() {
        let mut shell = Command::new("sh").args(["-c", "sleep 600 & wait"]).spawn().unwrap();
        let parent = Pid::from_child(&shell);
        let grandchild = (0..STOP_POLLS).find_map(|_| {
            thread::sleep(POLL);
            children(parent).first().copied()
        });
        let family = [parent, grandchild.expect("sh has started sleep")];
        let stands = |pid: &Pid| Stat::of(*pid).is_some_and(|stat| stat.state == 'T');
        pause(parent);
        assert!(family.iter().all(stands));
        resume(parent);
        assert!((0..STOP_POLLS).any(|_| {
            thread::sleep(POLL);
            !family.iter().any(stands)
        }));
        send(family[1], Signal::KILL);
        send(parent, Signal::KILL);
        shell.wait().unwrap();
    }
}
