//! Forecasts of a batch: before it, and while it runs in a simulated internet under a paused clock.

use jiff::tz::TimeZone;
use probity_engine::net::ProbeSource;
use probity_engine::{AddressOutcome, Engine, EngineConfig};
use probity_mailworld::{Greylist, Mailboxes, Personality, ServerPace, Tls, World, Zone};

use super::super::forecast::shown::shown;
use super::super::forecast::{ListForecast, LongestSite};
use super::super::writer::WriterEvent;
use super::*;

const MINUTE_MS: i64 = 60_000;
const OUTLOOK: &str = "hotmail-com.olc.protection.outlook.com";

fn engine(world: &Arc<World>) -> Arc<Engine> {
    let source = |n: u8| {
        let public = Some(format!("198.51.100.{n}").parse().unwrap());
        Arc::new(ProbeSource { bind: None, public, helo: "probe.example.org".into(), proxy: None })
    };
    let config = EngineConfig {
        sources: vec![source(7), source(8)],
        mail_from: "probe@example.org".into(),
        networks_allowed: vec!["0.0.0.0/0".into(), "::/0".into()],
        seed: Some(1),
        ..EngineConfig::default()
    };
    Arc::new(Engine::new(config, world.net_without_trace(1)).unwrap())
}

fn users(domain: &str, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |n| format!("user{n}@{domain}\n"))
}

fn imported(bench: &Bench) -> (WorkFile, Batch) {
    let request = BatchRequest::of(&bench.args("in.txt", "out.csv", &[])).unwrap();
    load(&request, &AtomicBool::new(false)).unwrap()
}

fn forecast(engine: &Arc<Engine>, work: &WorkFile, order: &Arc<Order>) -> ListForecast {
    ListForecast::of(engine.clone(), order, work.reader(), |_| true).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_list_is_forecast_by_the_domains_of_providers_alone() {
    let world = World::builder().build().unwrap();
    let engine = engine(&world);
    let text = |lists: &[(&str, usize)]| {
        let list: String = lists.iter().flat_map(|(domain, count)| users(domain, *count)).collect();
        let bench = Bench::new("in.txt", list.as_bytes());
        let (work, batch) = imported(&bench);
        let forecast = forecast(&engine, &work, &Arc::new(batch.order));
        // 17 March 2027, noon.
        shown(&forecast, Millis(1_805_284_800_000), &TimeZone::UTC)
    };
    let some = text(&[("hotmail.com", 2_402), ("yahoo.com", 40), ("firm.example", 75), ("shop.example", 5)]);
    let expected = "\
Done in 4 h 1 min at the earliest, at about 16:00. Outlook.com takes longest: 2402 addresses at 10 a minute.
No name was looked up: 80 of 2522 addresses are in domains whose provider is not known, each a site of its own here.
Missing and deferred addresses take longer.

SITE           ADDRESSES  A MINUTE  MISSING AN HOUR  LEAST TIME
Outlook.com    2402       10        120              4 h 1 min
other domains  80         60        40               2 min
Yahoo          40                                    not probed
";
    assert_eq!(some, expected);
    let long = text(&[("hotmail.com", 8_642)]);
    assert!(long.starts_with("Done in 14 h 25 min at the earliest, on 2027-03-18 at about 02:24. "), "{long}");
    assert!(text(&[("firm.example", 3)]).starts_with("No limit delays this list.\n"));
    let none = text(&[("yahoo.com", 3)]);
    assert!(none.starts_with("No limit delays this list.\n") && none.contains("not probed"), "{none}");
    assert_eq!(engine.counters().queries, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forecast_asks_nothing_and_leaves_no_file() {
    let bench = Bench::new("in.csv", csv(600).as_bytes());
    let fake = Arc::new(Fake::default());
    assert_eq!(bench.run(&fake, "in.csv", "out.csv", &["--forecast"]).await.unwrap(), Exit::Done);
    assert_eq!(fake.asked(), 0);
    let left = ["out.csv", "out.csv.part", "out.csv.probity-work"].map(|name| Path::new(&bench.path(name)).exists());
    assert_eq!(left, [false; 3]);
    // The work file of an interrupted batch stays.
    bench.crash(100, "in.csv", "out.csv").await;
    bench.run(&fake, "in.csv", "out.csv", &["--forecast"]).await.unwrap();
    assert!(Path::new(&bench.path("out.csv.probity-work")).exists());
    assert_eq!(fake.asked(), 0);
}

/// Runs a list to its end, and notes at each second which site was forecast to end it, and when.
async fn simulated(world: &Arc<World>, list: &str) -> (Millis, Millis, Vec<(Millis, Option<LongestSite>)>) {
    let bench = Bench::new("in.txt", list.as_bytes());
    let (work, batch) = imported(&bench);
    let (engine, order) = (engine(world), Arc::new(batch.order));
    let mut forecast = forecast(&engine, &work, &order);
    let (writer, events) = std::sync::mpsc::channel();
    let (_halt, halted) = watch::channel(None);
    let open = Arc::new(vec![true; order.ask.len()]);
    let lanes = lanes(&order);
    let feed = Feed { verifier: engine.clone(), order, reader: work.reader(), writer, halt: halted };
    let started = engine.now();
    let running = tokio::spawn(feed.run(lanes, open, Vec::new()));
    let mut seen = Vec::new();
    loop {
        let now = engine.now();
        for event in events.try_iter() {
            let outcomes = match event {
                WriterEvent::Outcomes(outcomes, _) => outcomes,
                WriterEvent::Failed(error) => panic!("{error:#}"),
                WriterEvent::End => {
                    running.await.unwrap();
                    return (started, now, seen);
                }
            };
            for (key, outcome) in outcomes {
                let row = u32::try_from(key).unwrap();
                match outcome {
                    AddressOutcome::Settled(verification) => forecast.settled(row, &verification, now),
                    AddressOutcome::PutOff { not_before, tries, why, held } => {
                        forecast.put_off(row, not_before, &tries, (why, held.is_some()), now);
                    }
                }
            }
        }
        seen.push((now, forecast.longest(now)));
        engine.wait_until(now + 1_000).await;
    }
}

/// Checks that at 10 and at 50 percent of the run the time left was right within 15 percent, and named the site.
async fn holds(world: &Arc<World>, list: &str, site: &str, least_ms: i64) {
    let (started, ended, seen) = simulated(world, list).await;
    let took = ended.since(started);
    assert!(took >= least_ms, "{site}: {took} ms");
    for percent in [10, 50] {
        let at = started + took * percent / 100;
        let (_, longest) = seen.iter().rfind(|(seen, _)| *seen <= at).unwrap();
        let LongestSite { name, ends } = longest.clone().unwrap();
        let (left, truth) = (ends.since(at), ended.since(at));
        assert_eq!(&*name, site, "{percent} percent");
        assert!((left - truth).abs() * 100 <= truth * 15, "{site} at {percent} percent: {left} ms forecast of {truth}");
    }
}

/// Some domains that are soon done, of whose addresses so many exist: at a host of their own, at Microsoft, and at a provider that
/// reveals nothing.
fn small(exist_percent: u8) -> (probity_mailworld::Builder, String) {
    let quick = Personality { tls: Tls::None, ..Personality::default() };
    let people = Mailboxes::percent_of("user", exist_percent);
    let mut world = World::builder().dns_latency_ms(20);
    let mut list: String = users("yahoo.com", 30).collect();
    for n in 0..30 {
        let (domain, firm) = (format!("shop{n}.example.com"), format!("firm{n}.example.org"));
        let host = format!("firm{n}-example-org.mail.protection.outlook.com");
        world = world.site(&domain, people.clone(), quick.clone());
        world = world.zone(&firm, Zone::served_by(&[&host]).with_mailboxes(people.clone())).host(&host, quick.clone());
        list.extend(users(&domain, 3).chain(users(&firm, 4)));
    }
    (world.zone("yahoo.com", Zone::served_by(&["mta5.am0.yahoodns.net"])), list)
}

#[tokio::test(start_paused = true)]
async fn a_forecast_holds_where_a_rate_decides() {
    let (world, list) = small(92);
    let quick = Personality { tls: Tls::None, ..Personality::default() };
    let people = Mailboxes::percent_of("user", 92);
    let world = world.zone("hotmail.com", Zone::served_by(&[OUTLOOK]).with_mailboxes(people)).host(OUTLOOK, quick);
    let list = users("hotmail.com", 302).collect::<String>() + &list;
    holds(&world.build().unwrap(), &list, "Outlook.com", 30 * MINUTE_MS).await;
}

#[tokio::test(start_paused = true)]
async fn a_forecast_holds_where_misses_decide() {
    let (world, list) = small(92);
    let quick = Personality { tls: Tls::None, ..Personality::default() };
    let host = "mx01.mail.icloud.com";
    let zone = Zone::served_by(&[host]).with_mailboxes(Mailboxes::percent_of("user", 72));
    let world = world.zone("icloud.com", zone).host(host, quick).build().unwrap();
    let list = users("icloud.com", 1_000).collect::<String>() + &list;
    holds(&world, &list, "iCloud", 90 * MINUTE_MS).await;
}

/// A list with 600 addresses that exist at one small host of this personality.
fn at_one_host(personality: Personality) -> (Arc<World>, String) {
    let (world, list) = small(100);
    let people = Mailboxes::percent_of("user", 100);
    let world = world.site("one.example.net", people, Personality { tls: Tls::None, ..personality });
    (world.build().unwrap(), users("one.example.net", 600).collect::<String>() + &list)
}

#[tokio::test(start_paused = true)]
async fn a_forecast_holds_where_a_server_greylists() {
    let greylist = Some(Greylist { delay_s: 300, hint: true });
    let (world, list) = at_one_host(Personality { greylist, ..Personality::default() });
    holds(&world, &list, "one.example.net", 15 * MINUTE_MS).await;
}

#[tokio::test(start_paused = true)]
async fn a_forecast_holds_where_a_server_is_slow() {
    let pace = ServerPace { banner_ms: 2_000, reply_ms: 2_000, byte_ms: 0 };
    let (world, list) = at_one_host(Personality { pace, ..Personality::default() });
    holds(&world, &list, "mx.one.example.net", 20 * MINUTE_MS).await;
}
