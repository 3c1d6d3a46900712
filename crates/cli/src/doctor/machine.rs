//! Checks of the configuration and this machine.

use probity_engine::clock::EngineClock;
use probity_engine::config::PaceProfile;

use super::Check;
use crate::config::Settings;
use crate::engine::FileRoom;

/// Minimum plausible time (1 January 2025); an earlier clock is not set.
const CLOCK_LEAST_MS: i64 = 1_735_689_600_000;

pub(super) fn checks(settings: &Settings) -> Vec<Check> {
    vec![configuration(settings), open_files(settings), clock()]
}

fn configuration(settings: &Settings) -> Check {
    let engine = &settings.engine;
    let mut odd = Vec::new();
    if engine.profile == PaceProfile::Open {
        odd.push("probe.profile is \"open\", and providers block clients that ignore their limits".to_owned());
    }
    if engine.port != 25 {
        odd.push(format!("probe.port is {}, but mail servers on the internet listen on port 25", engine.port));
    }
    if !engine.networks_allowed.is_empty() {
        odd.push(format!(
            "allow.networks permits connections to special networks ({})",
            engine.networks_allowed.join(", ")
        ));
    }
    if odd.is_empty() {
        Check::ok("configuration", "no unusual settings")
    } else {
        Check::warn("configuration", odd.join("; "), "remove the setting, unless you verify only your own mail servers")
    }
}

fn open_files(settings: &Settings) -> Check {
    let room = FileRoom::of(settings, settings.engine.sessions_max);
    let found = format!(
        "the limit is {}: the service gets {} sessions, and {} client connections per listener",
        room.open_files, room.sessions, room.connections
    );
    if room.is_enough {
        return Check::ok("open files", found);
    }
    let advice = format!(
        "raise the limit (LimitNOFILE=65536 or ulimit -n), or lower limits.sessions from {} or server.connections from {}",
        settings.engine.sessions_max,
        settings.sections.server.connections.get()
    );
    Check::warn("open files", found, advice)
}

fn clock() -> Check {
    let now = EngineClock::system().now().0;
    if now >= CLOCK_LEAST_MS {
        return Check::ok("clock", "plausible");
    }
    Check::fail(
        "clock",
        "set to a time before 2025",
        "set the clock, for example with timedatectl set-ntp true; stored times and TLS depend on it",
    )
}
