//! One list with one node and with two, on one database.

use probity_benches::place::Place;
use probity_benches::process::float;
use probity_benches::program::Program;

use crate::job::Service;
use crate::report::Report;
use crate::{Arguments, whole};

pub(crate) async fn measure(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let place = Place::new(&arguments.place)?;
    let service = Service::first(|| place.sandbox()).await?;
    let rows = arguments.rows;
    let alone = whole::run(&service, rows, 1).await?;
    let second = Program::start(&mut place.sandbox()?).await?;
    let cpu = second.cpu()?;
    let both = whole::run(&service, rows, 2).await?;
    let cpu = second.cpu()?.saturating_sub(cpu).as_secs_f64();
    let rate = |seconds: f64| float(rows) / seconds;
    let figure =
        format!("{:.0} and {:.0}, {:.2} times", rate(alone.seconds), rate(both.seconds), alone.seconds / both.seconds);
    report.line(format!("{rows}: addresses/s with one node and with two"), figure, "")?;
    let share = cpu / (cpu + both.cpu_seconds) * 100.0;
    report.line("the second node's part of the CPU time", format!("{share:.0} %"), "")?;
    second.stop().await?;
    service.program.stop().await
}
