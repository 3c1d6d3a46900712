//! Submission of lists during live calls at a steady pace.

use std::time::Duration;

use probity_benches::load::{Callers, Load, percentile_ms};
use probity_benches::place::Place;
use probity_benches::process;

use crate::job::Service;
use crate::report::Report;
use crate::{Arguments, list};

/// Number of submissions.
const ROUNDS: usize = 5;
/// Connections that send live calls.
const CONNECTIONS: u32 = 16;
/// Time over which calls are measured without a list, before each submission.
const QUIET: Duration = Duration::from_secs(2);

pub(crate) async fn measure(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let place = Place::new(&arguments.place)?;
    let service = Service::first(|| place.sandbox()).await?;
    let callers = Callers::paced(CONNECTIONS, arguments.calls);
    let load = Load::start(service.address(), &service.key, "valid@sandbox.test", callers).await?;
    tokio::time::sleep(QUIET).await;

    let (mut quiet, mut beside, mut took, mut peaks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let body = list::body(arguments.rows, u64::try_from(round)?)?;
        load.taken();
        tokio::time::sleep(QUIET).await;
        quiet.extend(load.taken());
        process::forget_peak(service.program.process())?;
        let (id, accepted) = service.submit(body).await?;
        beside.extend(load.taken());
        took.push(u32::try_from(accepted.as_micros())?);
        peaks.push(process::peak_mib(service.program.process())?);
        // Verifying the list is measured elsewhere.
        service.cancel(&id).await?;
        tokio::time::sleep(QUIET).await;
    }
    let rows = arguments.rows;
    report.line(format!("{rows} accepted, median"), format!("{:.0} ms", percentile_ms(&mut took, 50)), "5,000 ms")?;
    report.line("the same, slowest", format!("{:.0} ms", percentile_ms(&mut took, 100)), "5,000 ms")?;
    report.line("peak memory until then", format!("{:.0} MiB", peaks.iter().copied().fold(0.0, f64::max)), "200 MB")?;
    calls(report, "without a list", &mut quiet, "")?;
    calls(report, "while lists arrive", &mut beside, "as without")?;

    let (id, _) = service.submit(list::body(rows, 99)?).await?;
    load.taken();
    service.completed(&id, rows).await?;
    let mut working = load.taken();
    calls(report, "while a list is worked on", &mut working, "as without")?;
    let p99 = [&mut quiet, &mut beside, &mut working].map(|took| percentile_ms(took, 99));
    let ratios = format!("{:.1}, {:.1} times", p99[1] / p99[0], p99[2] / p99[0]);
    report.line("their p99 against that without a list: arriving, worked on", ratios, "1")?;
    load.stop().await?;
    service.program.stop().await
}

fn calls(report: &mut Report, when: &str, took: &mut [u32], target: &str) -> anyhow::Result<()> {
    let at = [50, 99, 100].map(|percent| percentile_ms(took, percent));
    let figure = format!("{:.2}, {:.2}, {:.1} ms of {}", at[0], at[1], at[2], took.len());
    report.line(format!("live calls {when}: p50, p99, most"), figure, target)
}
