//! Pages of a job's results, at any depth, after the job ends and while another runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use probity_benches::client::{Connection, get};
use probity_benches::load::percentile_ms;
use probity_benches::process::float;
use probity_mail::rng::Rng;

use crate::job::Service;
use crate::list;
use crate::report::Report;

/// Rows per page.
const ROWS: u64 = 1_000;
/// Pages compared at each end.
const EDGE: usize = 50;
/// Number of passes over all pages.
const ROUNDS: usize = 4;
/// Connections that read random pages.
const READERS: u64 = 2;
/// Duration of the random reads.
const LENGTH: Duration = Duration::from_secs(5);

pub(crate) async fn measure(service: &Service, id: &str, rows: u64, report: &mut Report) -> anyhow::Result<()> {
    let cpu = service.program.cpu()?;
    let (cursors, walked) = walk(service, id, rows).await?;
    let cpu = service.program.cpu()?.saturating_sub(cpu).as_secs_f64() * 1e3 / float(u64::try_from(cursors.len())?);
    report.line("CPU of the service for each page", format!("{cpu:.2} ms"), "")?;
    report.line("pages/s, all of them in order", format!("{:.0}", float(rows.div_ceil(ROWS)) / walked), "300")?;
    let edge = EDGE.min(cursors.len() / 2);
    let (mut first, mut last) = (Vec::new(), Vec::new());
    let mut connection = Connection::open(service.address()).await?;
    for _ in 0..ROUNDS {
        for (cursors, took) in [(&cursors[..edge], &mut first), (&cursors[cursors.len() - edge..], &mut last)] {
            for cursor in cursors {
                took.push(page(&mut connection, service, id, cursor).await?.1);
            }
        }
    }
    let [first, last] = [first, last].map(|mut took| percentile_ms(&mut took, 50));
    report.line("a page, median: the first, the last", format!("{first:.2}, {last:.2} ms"), "alike")?;
    let cursors = Arc::new(cursors);
    let read = at_random(service, id, &cursors, Arc::default(), Some(LENGTH)).await?;
    report.line(format!("pages/s at random, {READERS} connections"), format!("{read:.0}"), "300")?;

    let (running, _) = service.submit(list::body(rows, 7)?).await?;
    let ended = Arc::new(AtomicBool::new(false));
    let wait = async {
        let completed = service.completed(&running, rows).await;
        ended.store(true, Ordering::Relaxed);
        completed
    };
    let (read, completed) = tokio::join!(at_random(service, id, &cursors, ended.clone(), None), wait);
    completed?;
    report.line("the same while another list is worked on", format!("{:.0}", read?), "")?;
    let (running, _) = service.submit(list::body(rows, 8)?).await?;
    while service.status(&running).await?["emailsProcessed"].as_u64().unwrap_or(0) < rows / 10 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (cursors, walked) = walk(service, &running, rows).await?;
    let pages = float(u64::try_from(cursors.len())?);
    report.line("pages/s in order of a list that is worked on", format!("{:.0}", pages / walked), "300")?;
    service.completed(&running, rows).await?;
    Ok(())
}

/// Reads every page in order. Returns each page's cursor, and the time in seconds.
#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
async fn walk(service: &Service, id: &str, rows: u64) -> anyhow::Result<(Vec<String>, f64)> {
    let mut connection = Connection::open(service.address()).await?;
    let mut cursors = vec![String::new()];
    let began = Instant::now();
    while let (Some(next), _) = page(&mut connection, service, id, cursors.last().map_or("", |last| last)).await? {
        cursors.push(next);
    }
    let took = began.elapsed().as_secs_f64();
    ensure!(u64::try_from(cursors.len())? == rows.div_ceil(ROWS), "pages are missing");
    Ok((cursors, took))
}

/// Reads random pages for [`LENGTH`]; returns pages per second.
#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
async fn at_random(
    service: &Service,
    id: &str,
    cursors: &Arc<Vec<String>>,
    ended: Arc<AtomicBool>,
    length: Option<Duration>,
) -> anyhow::Result<f64> {
    let began = Instant::now();
    let over = || ended.load(Ordering::Relaxed) || length.is_some_and(|length| began.elapsed() > length);
    let read = |seed| async move {
        let mut connection = Connection::open(service.address()).await?;
        let (mut rng, mut pages) = (Rng::new(seed), 0_u32);
        while !over() {
            page(&mut connection, service, id, &cursors[rng.below(cursors.len())]).await?;
            pages += 1;
        }
        anyhow::Ok(pages)
    };
    let mut pages = 0;
    for read in futures_util::future::join_all((0..READERS).map(read)).await {
        pages += read?;
    }
    Ok(f64::from(pages) / began.elapsed().as_secs_f64())
}

/// Reads one page. Returns the next page's cursor, and the time in microseconds.
#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
async fn page(
    connection: &mut Connection,
    service: &Service,
    id: &str,
    cursor: &str,
) -> anyhow::Result<(Option<String>, u32)> {
    let next = if cursor.is_empty() { String::new() } else { format!("&next={cursor}") };
    let target = format!("/v1/batch-verify/{id}/results?per_page={ROWS}{next}");
    let began = Instant::now();
    let (status, body) = connection.ask(&get(&target, Some(&service.key))).await?;
    let took = u32::try_from(began.elapsed().as_micros())?;
    ensure!(status == 200, "a page was answered with {status}: {}", String::from_utf8_lossy(body));
    // The cursor follows the rows.
    let tail = str::from_utf8(&body[body.len().saturating_sub(300)..]).context("a page in ASCII")?;
    let next = tail.rsplit_once("\"next\":\"").and_then(|(_, rest)| rest.split_once('"'));
    Ok((next.map(|(cursor, _)| cursor.to_owned()), took))
}
