//! Speed of reading the body of a job, on one core: from network buffers to packed blocks.
//!
//! `cargo run --release -p probity-benches --bin submission -- --count 1000000`

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use probity_account::block::{Filling, UnfitBlock};
use probity_lists::submission::{Intake, SubmissionFormat};
use probity_mail::rng::Rng;

/// Reads a generated list in each format; prints the fastest time and the size of the blocks.
#[derive(Parser)]
struct Arguments {
    /// Number of addresses.
    #[arg(long, default_value_t = 1_000_000)]
    count: usize,
    /// Size of the network buffers, in bytes.
    #[arg(long, default_value_t = 65_536)]
    piece: usize,
    /// Rounds per body; the fastest time counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

const NAMES: [&str; 7] = ["anna", "bernd.meyer", "c.dupont", "info", "x9", "sales+2024", "long.name"];
const HOSTS: [&str; 6] = ["gmail.com", "example.de", "post.firma-nord.de", "a.co.uk", "3com.com", "uni.example.org"];

fn addresses(count: usize) -> Vec<String> {
    let mut rng = Rng::new(1);
    let mut one = || {
        let (name, number, host) = (NAMES[rng.below(NAMES.len())], rng.below(10_000), HOSTS[rng.below(HOSTS.len())]);
        format!("{name}{number}@{host}")
    };
    (0..count).map(|_| one()).collect()
}

#[expect(clippy::disallowed_methods, reason = "a measurement of real time")]
fn once(format: SubmissionFormat, body: &[u8], arguments: &Arguments) -> Result<(Duration, usize)> {
    let start = Instant::now();
    let mut intake = Intake::new(format, arguments.count);
    let (mut blocks, mut packed_bytes) = (Vec::new(), 0);
    for piece in body.chunks(arguments.piece.max(1)) {
        intake.push(piece, &mut blocks)?;
        packed_bytes += blocks.drain(..).map(|block| block.bytes.len()).sum::<usize>();
    }
    let submission = intake.finish(&mut blocks)?;
    packed_bytes += blocks.drain(..).map(|block| block.bytes.len()).sum::<usize>();
    anyhow::ensure!(submission.rows == arguments.count, "addresses were lost");
    Ok((start.elapsed(), packed_bytes))
}

/// Measures packing alone, which is part of every format's time.
#[expect(clippy::disallowed_methods, reason = "a measurement of real time")]
fn packing(addresses: &[String]) -> Result<Duration, UnfitBlock> {
    let start = Instant::now();
    let mut filling = Filling::default();
    for address in addresses {
        filling.push(address.as_bytes())?;
        if filling.is_full() {
            std::hint::black_box(filling.take());
        }
    }
    std::hint::black_box(filling.take());
    Ok(start.elapsed())
}

#[expect(clippy::print_stdout, reason = "the result of a measurement")]
fn report(format: SubmissionFormat, body: &[u8], arguments: &Arguments) -> Result<()> {
    let runs = (0..arguments.rounds.max(1)).map(|_| once(format, body, arguments)).collect::<Result<Vec<_>>>()?;
    let (time, packed_bytes) = runs.into_iter().min().unwrap_or_default();
    let per_second = body.len() as u128 * 1_000 / time.as_nanos().max(1);
    println!(
        "{format:?}: {} bytes in {} ms, {per_second} MB/s; packed {packed_bytes} bytes",
        body.len(),
        time.as_millis(),
    );
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the result of a measurement")]
fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let addresses = addresses(arguments.count);
    let json = serde_json::to_vec(&serde_json::json!({ "emails": addresses }))?;
    let objects: Vec<String> = addresses.iter().map(|address| format!("{{\"email\":\"{address}\"}}")).collect();
    let packing = (0..arguments.rounds.max(1)).map(|_| packing(&addresses)).collect::<Result<Vec<_>, _>>()?;
    println!("packing alone: {} ms", packing.into_iter().min().unwrap_or_default().as_millis());
    report(SubmissionFormat::Json, &json, &arguments)?;
    report(SubmissionFormat::Csv, addresses.join("\n").as_bytes(), &arguments)?;
    report(SubmissionFormat::Ndjson, objects.join("\n").as_bytes(), &arguments)
}
