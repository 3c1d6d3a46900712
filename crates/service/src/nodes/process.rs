//! Which process a node is, in words that another process on the same machine understands.
//!
//! A node that was killed leaves leases that end after a while. One that starts on the same machine need not wait for that
//! where it can be sure that the holder is dead: the same boot of the same kernel, the same numbers of processes, and
//! nobody runs under that number since that time. Where any of this is not known, nobody is declared dead.

/// This process; empty where the system does not say.
pub(super) fn own() -> String {
    imp::own().unwrap_or_default()
}

/// Whether a process is known not to run any more.
pub(super) fn is_dead(process: &str) -> bool {
    imp::is_dead(process).unwrap_or(false)
}

#[cfg(target_os = "linux")]
mod imp {
    use std::fs;

    use rustix::io::Errno;
    use rustix::process::{Pid, getpid, test_kill_process};

    /// `boot/space/pid/start`.
    pub(super) fn own() -> Option<String> {
        let pid = getpid();
        let (started, _) = look(pid)?;
        Some(format!("{}/{}/{started}", space()?, pid.as_raw_nonzero()))
    }

    /// Whose process numbers these are: one boot of one kernel, and one of its containers.
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
        // The signal that is none says whether there is a process, also where `/proc` hides those of others.
        if test_kill_process(pid) == Err(Errno::SRCH) {
            return Some(true);
        }
        let (since, state) = look(pid)?;
        Some(since != started || matches!(state.as_str(), "Z" | "X"))
    }

    /// When a process began, in ticks since the boot, and its state.
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

/// The 22nd and the third field of `/proc/*/stat`; the second is a name in brackets that may hold anything.
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
