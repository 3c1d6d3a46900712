//! Whole jobs in the sandbox, from acceptance to the last result.

use std::time::Duration;

use probity_benches::place::Place;
use probity_benches::process::{self, float};

use crate::job::Service;
use crate::report::Report;
use crate::{Arguments, Part, database, list, pages};

/// Shorter lists, besides the longest: rows and number of runs.
const SHORT: [(u64, usize); 2] = [(10_000, 5), (100_000, 3)];
/// Time for the service to become idle.
const REST: Duration = Duration::from_millis(500);

/// Cost of a list.
pub(crate) struct Took {
    pub(crate) id: String,
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
    pub(crate) peak_mib: f64,
}

pub(crate) async fn measure(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let place = Place::new(&arguments.place)?;
    let service = Service::first(|| place.sandbox()).await?;
    let mut seed = 0;
    let mut short = Vec::new();
    for (rows, rounds) in SHORT.into_iter().filter(|(rows, _)| *rows < arguments.rows) {
        let mut rounds_took = Vec::new();
        for _ in 0..rounds {
            seed += 1;
            rounds_took.push(run(&service, rows, seed).await?);
        }
        rounds_took.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let middle = &rounds_took[rounds / 2];
        speed(report, rows, middle)?;
        short.push((rows, middle.seconds / float(rows)));
    }
    let before = database::writes(&place, &service.program)?;
    let took = run(&service, arguments.rows, 99).await?;
    let rows = arguments.rows;
    speed(report, rows, &took)?;
    report.line(format!("{rows}: peak memory"), format!("{:.0} MiB", took.peak_mib), "300 MB")?;
    for (short, seconds_each) in &short {
        let ratio = took.seconds / float(rows) / seconds_each;
        report.line(
            format!("time for each address, {rows} against {short}"),
            format!("{ratio:.2} times"),
            "constant",
        )?;
    }
    database::writes(&place, &service.program)?.since(&before).tell(rows, report)?;
    if arguments.wants(Part::Pages) {
        pages::measure(&service, &took.id, rows, report).await?;
    }
    service.program.stop().await
}

fn speed(report: &mut Report, rows: u64, took: &Took) -> anyhow::Result<()> {
    let figure = format!("{:.2} s, {:.0}", took.seconds, float(rows) / took.seconds);
    report.line(format!("{rows} from acceptance to the end; addresses/s"), figure, "10,000/s")?;
    report.line(format!("{rows}: CPU for each address"), format!("{:.1} µs", took.cpu_seconds * 1e6 / float(rows)), "")
}

/// Submits a list and waits until it is completed. The CPU time includes submission; the seconds do not.
pub(crate) async fn run(service: &Service, rows: u64, seed: u64) -> anyhow::Result<Took> {
    run_body(service, rows, list::body(rows, seed)?).await
}

/// Like [`run`], with a given body.
#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
pub(crate) async fn run_body(service: &Service, rows: u64, body: Vec<u8>) -> anyhow::Result<Took> {
    tokio::time::sleep(REST).await;
    process::forget_peak(service.program.process())?;
    let cpu = service.program.cpu()?;
    let (id, _) = service.submit(body).await?;
    let began = std::time::Instant::now();
    let ended = service.completed(&id, rows).await?;
    Ok(Took {
        id,
        seconds: (ended - began).as_secs_f64(),
        cpu_seconds: service.program.cpu()?.saturating_sub(cpu).as_secs_f64(),
        peak_mib: process::peak_mib(service.program.process())?,
    })
}
