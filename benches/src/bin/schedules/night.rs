//! Cost of a night: all connections are due at once, and each reads and verifies all of its contacts.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use probity_benches::place::PlaceArguments;
use probity_benches::process::{float, peak_mib};
use serde_json::json;

use super::service::{Service, worlds};

/// Platforms, each with many connections.
const PLATFORMS: u32 = 50;
/// Contacts of a platform.
const CONTACTS: u32 = 30;
/// Connections of an organization, at most.
const OF_ORGANIZATION: u32 = 100;
/// Time after which PostgreSQL reports transactions.
const STATISTICS: Duration = Duration::from_secs(2);
/// Maximum duration of a night.
const PATIENCE: Duration = Duration::from_hours(1);

pub(super) async fn measure(place: &PlaceArguments, connections: u32, nights: u32) -> anyhow::Result<()> {
    let worlds = worlds(u64::from(PLATFORMS), CONTACTS).await?;
    let mut service = Service::start(place, &worlds, &[]).await?;
    let mut key = String::new();
    let began = Instant::now();
    for number in 0..connections {
        if number % OF_ORGANIZATION == 0 {
            key = service.organization(number as usize).await?;
        }
        let world = &worlds[(number % PLATFORMS) as usize];
        service.connect(&key, world, &json!({ "autofloss": true })).await?;
    }
    println!("night: {connections} connections made in {:.0} s", began.elapsed().as_secs_f64());
    for number in 0..nights {
        // The first night knows nobody. Later ones read only new contacts, and a seventh of the connections all.
        let what = if number == 0 { "night: all contacts" } else { "night: nobody is new" };
        night(&mut service, "autofloss", connections).await?.print(what, connections);
    }
    let peak = peak_mib(service.program.process())?;
    println!("night: peak memory               {peak:.0} MiB");
    let began = Instant::now();
    let cpu = service.program.cpu()?;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let share = service.program.cpu()?.saturating_sub(cpu).as_secs_f64() / began.elapsed().as_secs_f64() * 100.0;
    println!("night: at rest, before the next   {share:.1} % of a core");
    service.program.stop().await
}

/// What a night cost.
struct Night {
    took: Duration,
    cpu: Duration,
    database_cpu: f64,
    transactions: u64,
    rows: u64,
}

/// Makes all slots of a kind due, and waits until each has its run.
async fn night(service: &mut Service, cause: &str, connections: u32) -> anyhow::Result<Night> {
    let ended = |state: &str| format!("SELECT COUNT(*) FROM connection_run WHERE cause = '{cause}' AND state {state}");
    let before: u64 = service.sql(&ended("= 'finished'"))?.parse()?;
    let rows = "SELECT COALESCE(SUM(rows_total), 0) FROM connection_run";
    let rows_before: u64 = service.sql(rows)?.parse()?;
    let (cpu, transactions, database) = (service.program.cpu()?, transactions(service)?, database_cpu(service)?);
    let began = Instant::now();
    // A slot of its own, which has had no run.
    service.sql(&format!(
        "UPDATE connection_schedule SET due_at = due_at - 86400000 - {before}, next_at = 1 WHERE cause = '{cause}'"
    ))?;
    let wanted = (before + u64::from(connections)).to_string();
    service.until(&ended("= 'finished'"), &wanted, PATIENCE).await?;
    let took = began.elapsed();
    ensure!(service.sql(&ended("<> 'finished'"))? == "0", "a run did not finish");
    let doubled = "SELECT COUNT(*) FROM (SELECT 1 FROM connection_run GROUP BY org_no, connection_id, cause, due_at \
                   HAVING COUNT(*) > 1) AS twice";
    ensure!(service.sql(doubled)? == "0", "a slot had two runs");
    Ok(Night {
        took,
        cpu: service.program.cpu()?.saturating_sub(cpu),
        database_cpu: database_cpu(service)? - database,
        transactions: transactions_since(service, transactions)?,
        rows: service.sql(rows)?.parse::<u64>()? - rows_before,
    })
}

fn transactions(service: &Service) -> anyhow::Result<u64> {
    let counted = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    Ok(service.sql(counted)?.parse()?)
}

fn transactions_since(service: &Service, before: u64) -> anyhow::Result<u64> {
    std::thread::sleep(STATISTICS);
    Ok(transactions(service)? - before)
}

/// Returns the time of PostgreSQL's processes, those that have ended included, in seconds.
fn database_cpu(service: &Service) -> anyhow::Result<f64> {
    let postmaster = service.place.postmaster().context("PostgreSQL runs")?.to_string();
    let mut ticks = 0.0;
    for process in std::fs::read_dir("/proc")?.flatten() {
        let Ok(stat) = std::fs::read_to_string(process.path().join("stat")) else { continue };
        let Some((_, rest)) = stat.rsplit_once(") ") else { continue };
        let fields: Vec<&str> = rest.split(' ').collect();
        let time = |from: usize, to: usize| -> f64 {
            fields.get(from..to).into_iter().flatten().filter_map(|field| field.parse::<f64>().ok()).sum()
        };
        if process.file_name().to_str() == Some(postmaster.as_str()) {
            ticks += time(11, 15);
        } else if fields.get(1) == Some(&postmaster.as_str()) {
            ticks += time(11, 13);
        }
    }
    Ok(ticks / 100.0)
}

impl Night {
    fn print(&self, what: &str, connections: u32) {
        let runs = f64::from(connections);
        let seconds = self.took.as_secs_f64();
        println!(
            "{what:<30} {connections} runs, {} addresses in {seconds:.0} s ({:.0} runs a second); a run: {:.1} ms of CPU, {:.1} ms of \
             PostgreSQL's, {:.0} transactions",
            self.rows,
            runs / seconds,
            self.cpu.as_secs_f64() * 1_000.0 / runs,
            self.database_cpu * 1_000.0 / runs,
            float(self.transactions) / runs
        );
    }
}
