//! Cost of an address's facts: lists, gibberish score and suggestion, on one core.
//!
//! The mix resembles customer lists: mostly popular domains, many unknown company domains, some typos and disposable domains.
//! Nothing is cached between addresses, so repeating the list is fair. Its 20,000 different addresses exceed the processor's
//! first-level cache.

use std::hint::black_box;
use std::time::{Duration, Instant};

use clap::Parser;
use probity_mail::facts::lists::Lists;
use probity_mail::rng::Rng;

/// Measures addresses per second.
#[derive(Parser)]
struct Arguments {
    /// Seconds per kind of domain.
    #[arg(long, default_value_t = 2)]
    seconds: u64,
}

const GIVEN: [&str; 20] = [
    "anna",
    "john",
    "maria",
    "wei",
    "mohammed",
    "olga",
    "priya",
    "lukas",
    "chidinma",
    "hiroshi",
    "jean-luc",
    "siobhan",
    "nguyen",
    "katarzyna",
    "mehmet",
    "bjorn",
    "fatima",
    "carlos",
    "elena",
    "tom",
];
const LAST: [&str; 20] = [
    "smith",
    "mueller",
    "garcia",
    "zhang",
    "kowalski",
    "rossi",
    "silva",
    "ivanova",
    "okafor",
    "tanaka",
    "dubois",
    "oconnor",
    "tran",
    "novak",
    "yilmaz",
    "larsson",
    "haddad",
    "patel",
    "papadopoulos",
    "lee",
];
const POPULAR: [&str; 14] = [
    "gmail.com",
    "yahoo.com",
    "hotmail.com",
    "outlook.com",
    "icloud.com",
    "aol.com",
    "gmx.de",
    "web.de",
    "hotmail.fr",
    "yahoo.co.uk",
    "comcast.net",
    "qq.com",
    "mail.ru",
    "orange.fr",
];
const WORDS: [&str; 24] = [
    "acme", "blue", "north", "consult", "green", "data", "river", "works", "studio", "garden", "metal", "cloud",
    "health", "trade", "solar", "legal", "art", "sport", "food", "travel", "smart", "city", "group", "house",
];
const ENDINGS: [&str; 10] = ["com", "net", "org", "de", "co.uk", "fr", "io", "com.br", "nl", "edu"];
const SLIPS: [&str; 8] =
    ["gmial.com", "hotmail.con", "yaho.com", "outlok.com", "gmail.co", "icluod.com", "acme.cmo", "wanadoof.r"];
const THROW_AWAY: [&str; 4] = ["mailinator.com", "yopmail.com", "guerrillamail.com", "trashmail.com"];

const ADDRESSES: usize = 20_000;

fn pick<T: Copy>(items: &[T], rng: &mut Rng) -> T {
    items[rng.below(items.len())]
}

fn local(rng: &mut Rng) -> String {
    let (given, last) = (pick(&GIVEN, rng), pick(&LAST, rng));
    match rng.below(8) {
        0..=2 => format!("{given}.{last}"),
        3 => format!("{}{last}", &given[..1]),
        4 => format!("{given}{}", 1950 + rng.below(60)),
        5 => format!("{given}_{last}{}", rng.below(100)),
        6 => "info".to_owned(),
        _ => format!("{last}+news"),
    }
}

fn company(rng: &mut Rng) -> String {
    let joint = pick(&["", "-", ""], rng);
    format!("{}{joint}{}.{}", pick(&WORDS, rng), pick(&WORDS, rng), pick(&ENDINGS, rng))
}

fn domain(kind: &str, rng: &mut Rng) -> String {
    match kind {
        "popular" => pick(&POPULAR, rng).to_owned(),
        "company" => company(rng),
        "slip" => pick(&SLIPS, rng).to_owned(),
        "throw-away" => pick(&THROW_AWAY, rng).to_owned(),
        _ => match rng.below(100) {
            0..=59 => domain("popular", rng),
            60..=94 => domain("company", rng),
            95..=97 => domain("slip", rng),
            _ => domain("throw-away", rng),
        },
    }
}

#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock itself")]
#[expect(clippy::print_stdout, reason = "the figures are the program's output")]
fn main() {
    let arguments = Arguments::parse();
    let start = Instant::now();
    let lists = Lists::embedded();
    println!("lists indexed in {:.1} ms", start.elapsed().as_secs_f64() * 1000.0);
    for kind in ["mixed", "popular", "company", "slip", "throw-away"] {
        let mut rng = Rng::new(1);
        let addresses: Vec<_> = (0..ADDRESSES).map(|_| (local(&mut rng), domain(kind, &mut rng))).collect();
        let start = Instant::now();
        let mut rounds = 0_u32;
        while start.elapsed() < Duration::from_secs(arguments.seconds) {
            for (local, domain) in &addresses {
                black_box(lists.facts(black_box(local), black_box(domain)));
            }
            rounds += 1;
        }
        let count = f64::from(rounds) * f64::from(u32::try_from(ADDRESSES).unwrap_or(u32::MAX));
        let seconds = start.elapsed().as_secs_f64();
        println!("{kind:<10} {:>10.0} addresses/s, {:>5.0} ns each", count / seconds, seconds * 1e9 / count);
    }
}
