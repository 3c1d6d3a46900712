//! Process figures from Linux (proc(5)).

use std::time::Duration;

use anyhow::Context;

/// Clock ticks per second in `/proc/PID/stat` on Linux.
const TICKS: f64 = 100.0;

/// Returns user and system time so far, in steps of 10 ms.
pub fn cpu(process: u32) -> anyhow::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The command's name may contain blanks; it ends with the last parenthesis.
    let fields: Vec<&str> = stat.rsplit_once(") ").context("a command's name")?.1.split(' ').collect();
    let ticks = |n: usize| fields.get(n).context("a field")?.parse::<f64>().context("a number");
    Ok(Duration::from_secs_f64((ticks(11)? + ticks(12)?) / TICKS))
}

/// Returns the current resident memory, in MiB.
pub fn resident_mib(process: u32) -> anyhow::Result<f64> {
    memory_mib(process, "VmRSS:")
}

/// Returns the maximum resident memory since the start, or since [`forget_peak`], in MiB.
pub fn peak_mib(process: u32) -> anyhow::Result<f64> {
    memory_mib(process, "VmHWM:")
}

/// Resets the peak.
///
/// # Errors
/// If the process does not exist or belongs to another user.
pub fn forget_peak(process: u32) -> anyhow::Result<()> {
    Ok(std::fs::write(format!("/proc/{process}/clear_refs"), "5")?)
}

/// Returns the bytes that the process has caused to be written to disks.
///
/// # Errors
/// If the process does not exist or belongs to another user.
pub fn written_bytes(process: u32) -> anyhow::Result<u64> {
    let io = std::fs::read_to_string(format!("/proc/{process}/io"))?;
    let bytes = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).context("bytes")?;
    Ok(bytes.trim().parse()?)
}

fn memory_mib(process: u32, name: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).context("a size")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1_024.0)
}

/// Converts a count for division.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52, the bits of a mantissa")]
pub fn float(count: u64) -> f64 {
    count as f64
}
