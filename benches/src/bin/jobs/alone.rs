//! One list against simulated MX hosts on loopback: the service, then the engine alone, in the same world.

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use probity_benches::place::Place;
use probity_benches::process::{self, float};
use probity_benches::world::{self, Verdicts, World};

use crate::job::Service;
use crate::report::Report;
use crate::{Arguments, database, whole};

/// Number of measurements of each; the faster time counts.
const ROUNDS: usize = 2;

/// Cost of a list, for the engine or the service.
struct Figures {
    seconds: f64,
    cpu_seconds: f64,
    peak_mib: f64,
}

pub(crate) async fn measure(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let world = World::start(arguments.shape())?;
    let (mut alone, mut served) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(engine(arguments, &world)?);
        served.push(service(arguments, &world, report).await?);
    }
    world.stop()?;
    let least = |figures: Vec<Figures>| figures.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let (alone, served) = least(alone).zip(least(served)).context("figures")?;
    for (who, figures) in [("the engine alone", &alone), ("as a job", &served)] {
        let Figures { seconds, cpu_seconds, peak_mib } = figures;
        let count = float(arguments.asked);
        let (rate, cpu) = (count / seconds, cpu_seconds * 1e6 / count);
        let what = format!("{count} over {} domains, {who}: addresses/s, CPU, peak", arguments.domains);
        report.line(what, format!("{rate:.0}, {cpu:.1} µs, {peak_mib:.0} MiB"), "")?;
    }
    report.line("the job against the engine", format!("{:.2} times", served.seconds / alone.seconds), "1.2 times")?;
    Ok(())
}

/// Measures the engine alone, in its own process.
fn engine(arguments: &Arguments, world: &World) -> anyhow::Result<Figures> {
    let told = Command::new(std::env::current_exe()?)
        .args(["--alone", &world.dns.to_string(), &world.smtp_port.to_string()])
        .args(["--asked", &arguments.asked.to_string(), "--domains", &arguments.domains.to_string()])
        .output()?;
    ensure!(told.status.success(), "the engine alone failed: {}", String::from_utf8_lossy(&told.stderr));
    let text = String::from_utf8(told.stdout)?;
    let figures: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [seconds, cpu_seconds, peak_mib] = figures[..] else { bail!("the engine alone said {text}") };
    Ok(Figures { seconds, cpu_seconds, peak_mib })
}

/// Verifies the list in the child process.
#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
pub(crate) async fn ask(arguments: &Arguments) -> anyhow::Result<()> {
    let [dns, port] = &arguments.alone[..] else { bail!("an address and a port") };
    let engine = world::engine(dns.parse()?, port.parse()?, false)?;
    let verdicts = Arc::new(Verdicts::default());
    let (cpu, began) = (process::cpu(std::process::id())?, Instant::now());
    world::verify_all(&engine, arguments.asked, arguments.domains, &verdicts).await?;
    let seconds = began.elapsed().as_secs_f64();
    let cpu_seconds = process::cpu(std::process::id())?.saturating_sub(cpu).as_secs_f64();
    verdicts.check(arguments.asked)?;
    println!("{seconds} {cpu_seconds} {}", process::peak_mib(std::process::id())?);
    Ok(())
}

/// Measures the service in the same world, with an empty database and empty caches.
async fn service(arguments: &Arguments, world: &World, report: &mut Report) -> anyhow::Result<Figures> {
    let place = Place::new(&arguments.place)?;
    let asking = || {
        let mut command = place.command()?;
        for pair in [
            &format!("dns.nameservers={}", world.dns),
            &format!("probe.port={}", world.smtp_port),
            "probe.profile=open",
            "probe.starttls=false",
            "probe.helo=probe.example.org",
            "probe.mail_from=probe@example.org",
            "allow.networks=127.0.0.0/8",
            "allow.special_use=test",
            "cache.verdicts=0",
            "doctor.probe_domains=[]",
        ] {
            command.args(["--set", pair]);
        }
        anyhow::Ok(command)
    };
    let service = Service::first(asking).await?;
    let addresses: Vec<_> = (0..arguments.asked).map(|nth| world::address(nth, arguments.domains)).collect();
    let body = serde_json::to_vec(&serde_json::json!({ "emails": addresses }))?;
    let before = database::writes(&place, &service.program)?;
    let took = whole::run_body(&service, arguments.asked, body).await?;
    database::writes(&place, &service.program)?.since(&before).tell(arguments.asked, report)?;
    service.program.stop().await?;
    let whole::Took { seconds, cpu_seconds, peak_mib, .. } = took;
    Ok(Figures { seconds, cpu_seconds, peak_mib })
}
