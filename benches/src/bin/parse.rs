//! Speed of parsing addresses, alone on one core.
//!
//! `cargo run --release -p probity-benches --bin parse -- --count 2000000`

use std::hint::black_box;
use std::time::{Duration, Instant};

use clap::Parser;
use probity_mail::address::Address;
use probity_mail::rng::Rng;

/// Parses a generated list of addresses; prints addresses per second and nanoseconds per address.
#[derive(Parser)]
struct Arguments {
    /// Addresses per mix.
    #[arg(long, default_value_t = 1_000_000)]
    count: usize,
    /// Rounds per list; the fastest time counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seed of the lists.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

const NAMES: &[&str] = &["anna", "Bernd.Meyer", "c.dupont", "info", "x9", "sales+2024", "long.name.with-many_parts"];
const HOSTS: &[&str] = &["gmail", "Example", "post.firma-nord", "mx1.research.university", "a", "3com"];
const TOPS: &[&str] = &["com", "de", "co.uk", "org", "technology"];
const OTHERS: &[&str] = &[
    "\"anna maria\"@firma.com",
    "jörg@firma.com",
    "anna@münchen.de",
    "太郎@山田.jp",
    "anna@xn--mnchen-3ya.de",
    "anna maria@firma.com",
    "anna@firma",
    "anna@firma..de",
];

fn plain(rng: &mut Rng) -> String {
    let number = rng.below(10_000);
    let (name, host, top) = (pick(NAMES, rng), pick(HOSTS, rng), pick(TOPS, rng));
    format!("{name}{number}@{host}.{top}")
}

/// Returns addresses of which 1 in 10 is quoted, internationalized or invalid.
fn mixed(rng: &mut Rng) -> String {
    if rng.below(10) == 0 { pick(OTHERS, rng).to_owned() } else { plain(rng) }
}

fn pick<'a>(words: &[&'a str], rng: &mut Rng) -> &'a str {
    words[rng.below(words.len())]
}

#[expect(clippy::disallowed_methods, reason = "a measurement of real time")]
fn fastest(addresses: &[String], rounds: usize) -> (Duration, usize) {
    let mut fastest = Duration::MAX;
    let mut read = 0;
    for _ in 0..rounds.max(1) {
        let start = Instant::now();
        read = addresses.iter().filter(|text| black_box(Address::parse(black_box(text))).is_ok()).count();
        fastest = fastest.min(start.elapsed());
    }
    (fastest, read)
}

#[expect(clippy::print_stdout, reason = "the result of a measurement")]
fn report(mix: &str, addresses: &[String], rounds: usize) {
    let (time, read) = fastest(addresses, rounds);
    let nanoseconds = time.as_nanos().max(1);
    let count = addresses.len() as u128;
    let per_second = count * 1_000_000_000 / nanoseconds;
    let each = nanoseconds / count.max(1);
    println!("{mix}: {count} texts, {read} addresses, {per_second} texts/s, {each} ns/text");
}

fn main() {
    let arguments = Arguments::parse();
    let mut rng = Rng::new(arguments.seed);
    for (mix, generate) in [("plain", plain as fn(&mut Rng) -> String), ("mixed", mixed)] {
        let addresses: Vec<String> = (0..arguments.count).map(|_| generate(&mut rng)).collect();
        report(mix, &addresses, arguments.rounds);
    }
}
