//! The configuration and this machine.

use probity_engine::clock::Clock;
use probity_engine::config::Profile;
use probity_engine::descriptors;

use super::Check;
use crate::config::Settings;

/// A clock that says less than this (1 January 2025) is not set.
const CLOCK_LEAST_MS: i64 = 1_735_689_600_000;

pub(super) fn checks(settings: &Settings) -> Vec<Check> {
    vec![configuration(settings), open_files(settings), clock()]
}

fn configuration(settings: &Settings) -> Check {
    let engine = &settings.engine;
    let mut odd = Vec::new();
    if engine.profile == Profile::Open {
        odd.push("probe.profile is \"open\": providers will block a machine that asks without restraint".to_owned());
    }
    if engine.port != 25 {
        odd.push(format!("probe.port is {}: exchangers on the internet listen at 25", engine.port));
    }
    if !engine.networks_allowed.is_empty() {
        odd.push(format!("allow.networks lets special networks be dialled: {}", engine.networks_allowed.join(", ")));
    }
    if odd.is_empty() {
        Check::ok("configuration", "reads without errors")
    } else {
        Check::warn("configuration", odd.join("; "), "change it if that is not what you want")
    }
}

fn open_files(settings: &Settings) -> Check {
    let limit = descriptors::descriptor_limit();
    let fitting = descriptors::sessions_max(limit);
    let found = format!("{limit} files may be open, enough for {fitting} sessions");
    if fitting >= settings.engine.sessions_max {
        return Check::ok("open files", found);
    }
    let advice = format!(
        "raise the limit (LimitNOFILE=65536 or ulimit -n) or lower limits.sessions from {}",
        settings.engine.sessions_max
    );
    Check::warn("open files", found, advice)
}

fn clock() -> Check {
    let now = Clock::system().now().0;
    if now >= CLOCK_LEAST_MS {
        return Check::ok("clock", "is set");
    }
    Check::fail("clock", "stands before 2025", "set it (timedatectl set-ntp true): cache times and TLS depend on it")
}
