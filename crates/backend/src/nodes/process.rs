//! Identity of a node's process, which other processes on the same machine can check.
//!
//! The leases of a killed node expire only after a while. A node that starts on the same machine need not wait if the holder is
//! certainly dead. It must have run in the same boot and PID namespace, and no process may have its PID and start time. If any
//! of this is unknown, the holder is not declared dead.

/// Returns the identity of this process; empty if the system does not provide it.
pub(super) fn own() -> String {
    imp::own().unwrap_or_default()
}

/// Whether a process is certain to have ended.
pub(super) fn is_dead(process: &str) -> bool {
    imp::is_dead(process).unwrap_or(false)
}

#[cfg(target_os = "linux")]
mod imp {
    use std::fs;

    use rustix::io::Errno;
    use rustix::process::{Pid, getpid, test_kill_process};

    /// Returns `boot/space/pid/start`.
    pub(super) fn own() -> Option<String> {
        let pid = getpid();
        let (started, _) = look(pid)?;
        Some(format!("{}/{}/{started}", space()?, pid.as_raw_nonzero()))
    }

    /// Returns the boot and the PID namespace, within which PIDs are unique.
    fn space() -> Option<String> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let space = fs::read_link("/proc/self/ns/pid").ok()?;
        Some(format!("{}/{}", boot.trim(), space.to_str()?))
    }

    pub(super) fn is_dead(process: &str) -> Option<bool> {
        let (rest, started) = process.rsplit_once('/')?;
        let (of, pid) = rest.rsplit_once('/')?;
        if of != space()? {
            return None;
        }
        let pid = Pid::from_raw(pid.parse().ok()?)?;
        // Signal 0 tests whether a process exists, even if `/proc` hides those of other users.
        if test_kill_process(pid) == Err(Errno::SRCH) {
            return Some(true);
        }
        let (since, state) = look(pid)?;
        Some(since != started || matches!(state.as_str(), "Z" | "X"))
    }

    /// Returns the start of a process, in ticks since the boot, and its state.
    fn look(pid: Pid) -> Option<(String, String)> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        super::began(&stat)
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    pub(super) fn own() -> Option<String> {
        None
    }

    pub(super) fn is_dead(_: &str) -> Option<bool> {
        None
    }
}

/// Returns fields 22 and 3 of `/proc/*/stat`. Field 2 is a name in parentheses, which may contain anything.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "read on Linux"))]
fn began(stat: &str) -> Option<(String, String)> {
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?.to_owned();
    Some((fields.nth(18)?.to_owned(), state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_text_is_read_as_it_is_written() {
        let stat = "42 (a ) name) S 1 42 42 0 -1 4194560 1 2 3 4 250 50 7 8 20 0 9 0 12345 99 1";
        assert_eq!(began(stat), Some(("12345".into(), "S".into())));
        assert_eq!(began("42 (cut"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn who_runs_is_alive_and_who_is_not_known_is_not_dead() {
        let own = own();
        assert!(!is_dead(&own), "{own}");
        let (rest, started) = own.rsplit_once('/').unwrap();
        assert!(is_dead(&format!("{rest}/{started}0")), "another process has its number by now");
        let (space, _) = rest.rsplit_once('/').unwrap();
        assert!(is_dead(&format!("{space}/4194304/1")), "numbers do not go that far");
        for unknown in [String::new(), "x".into(), format!("other{own}"), format!("{space}/0/1"), format!("{rest}x/1")]
        {
            assert!(!is_dead(&unknown), "{unknown}");
        }
    }
}
