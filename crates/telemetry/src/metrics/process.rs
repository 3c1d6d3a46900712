//! Metrics of the process, read from `/proc`. On systems other than Linux, only the start time exists.

use std::fs;

use probity_mail::time::Millis;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use crate::metrics::gauges::GaugeWriter;

/// Ticks per second in `/proc`. Linux uses this value for all readers.
const TICKS: f64 = 100.0;

/// Reads the state of the process with each request for metrics.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) started: Millis,
}

impl Collector for Process {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let mut to = GaugeWriter(encoder);
        let started = f64::from(u32::try_from(self.started.0 / 1_000).unwrap_or_default());
        to.gauge("probity_process_start_time_seconds", "Start time of the process, Unix epoch", started)?;
        if let Some(bytes) = read("status").as_deref().and_then(resident_bytes) {
            to.gauge("probity_process_resident_memory_bytes", "Resident memory", bytes)?;
        }
        if let Some(seconds) = read("stat").as_deref().and_then(cpu_seconds) {
            to.counter_f64("probity_process_cpu_seconds", "CPU time", seconds)?;
        }
        if let Some(open) = open_descriptors() {
            to.gauge("probity_process_open_fds", "Open files and sockets", open)?;
        }
        if let Some(limit) = read("limits").as_deref().and_then(descriptors_max) {
            to.gauge("probity_process_max_fds", "Limit of open files and sockets", limit)?;
        }
        Ok(())
    }
}

fn read(name: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/self/{name}")).ok()
}

/// Parses `VmRSS:     12345 kB`.
fn resident_bytes(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1_024.0)
}

/// Returns user plus system time, fields 14 and 15. Field 2 is a name in parentheses, which may contain anything.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS)
}

/// Parses `Max open files            1024                 524288               files`.
fn descriptors_max(limits: &str) -> Option<f64> {
    limits.lines().find_map(|line| line.strip_prefix("Max open files"))?.split_whitespace().next()?.parse().ok()
}

fn open_descriptors() -> Option<f64> {
    // One of the entries is the directory itself.
    let open = fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1);
    u32::try_from(open).ok().map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_texts_are_read_as_they_are_written() {
        assert_eq!(resident_bytes("Name:\tx\nVmRSS:\t   20480 kB\nRssAnon:\t 1 kB\n"), Some(20_971_520.0));
        assert_eq!(resident_bytes("Name:\tx\n"), None);
        let stat = "42 (a ) name) S 1 42 42 0 -1 4194560 1 2 3 4 250 50 7 8 20 0 9 0 12345 99 1";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(cpu_seconds("42 (cut"), None);
        let limits =
            "Max processes  1 2 processes\nMax open files            1024                 524288               files\n";
        assert_eq!(descriptors_max(limits), Some(1_024.0));
        assert_eq!(descriptors_max("Max open files unlimited unlimited files"), None);
    }
}
