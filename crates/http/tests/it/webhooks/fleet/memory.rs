//! What a thousand hostile webhooks make the deliverer hold: measured in a process that does nothing else.

use std::path::Path;
use std::process::Command;

use probity_engine::clock::Clock;
use probity_service::webhooks::{DeliveryConfig, SendLimits};

use super::super::delivery::{AllAtLoopback, Outbox, START};
use super::super::receivers::{HASTY, Manner, Receiver, guard_allowing};
use super::{Fleet, WEBHOOKS, sort_of};

/// Tells the process that delivers where the outbox is.
const OUTBOX: &str = "PROBITY_TEST_OUTBOX";
/// How the webhooks behave, in turn. None of them is honest.
const SORTS: [&str; 10] = ["body", "head", "body", "chunks", "body", "fields", "drip", "body", "head", "hang"];
/// What each receiver sends where it is let: enough for the limit below to be broken sixteen times over by those that are asked at
/// the same time, and bounded, so that a machine survives a deliverer that reads it all.
const POURED: usize = 4 << 20;
/// Those that are asked first, so that what any delivery needs once is there: one of each sort, and more.
const FIRST: usize = 40;
/// How much later the others are due, in milliseconds.
const LATER_MS: i64 = 3_600_000;
/// What the deliverer may grow by, in KiB: 64 attempts at a time with a head and a body of 16 KiB each in two copies are 4 MiB; the
/// rest is connections, tasks, the answers' way into the database and its caches.
const GROWTH_MAX: u64 = 16 * 1_024;

fn hostile(request: &str) -> Manner {
    let head = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}");
    match sort_of(request) {
        "body" => Manner::Pour(head("content-length: 9999999999\r\n\r\n"), POURED),
        "chunks" => Manner::Pour(head("transfer-encoding: chunked\r\n\r\nfffffff0\r\n"), POURED),
        "head" => Manner::Pour(head("x: "), POURED),
        "fields" => Manner::Say(head(&"x: y\r\n".repeat(POURED / 6))),
        "drip" => Manner::Drip(head("\r\n")),
        _ => Manner::Hang,
    }
}

/// A number of `/proc/self/status`, in KiB.
fn own(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Delivers what is in the outbox, first a few and then all of the others, and says by how much the latter made this process
/// larger at its largest, in KiB.
async fn deliver(outbox: &Outbox) -> u64 {
    let limits = SendLimits { total_ms: 2_000, ..HASTY };
    let deliver_at = async |at| {
        let guard = guard_allowing(&["127.0.0.0/8"], std::sync::Arc::new(AllAtLoopback));
        outbox.worker_by(Clock::starting_at(at), guard, limits, DeliveryConfig::default()).run_once().await;
    };
    deliver_at(START).await;
    let before = own("VmRSS");
    deliver_at(START + LATER_MS).await;
    own("VmHWM").saturating_sub(before)
}

#[test]
fn a_thousand_hostile_webhooks_cost_bounded_memory() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        if let Some(file) = std::env::var_os(OUTBOX) {
            // As the program does; where the system cannot, it has none.
            let _ = rustix::thread::disable_transparent_huge_pages(true);
            let growth = deliver(&Outbox::at(Path::new(&file)).await).await;
            println!("a thousand hostile webhooks cost {growth} KiB");
            assert!(growth < GROWTH_MAX, "{growth} KiB");
            return;
        }
        let receiver = Receiver::start(Manner::ByRequest(hostile)).await;
        let fleet = Fleet::new(receiver.address.port(), WEBHOOKS, |n| SORTS[n % SORTS.len()]).await;
        let (first, others) = fleet.webhooks.split_at(FIRST);
        fleet.put(0, START, first).await;
        fleet.put(0, START + LATER_MS, others).await;
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "--nocapture",
            "webhooks::fleet::memory::a_thousand_hostile_webhooks_cost_bounded_memory",
        ]);
        child.env(OUTBOX, fleet.outbox.file());
        let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        eprintln!("{}", said.lines().find(|line| line.contains("cost")).unwrap());
        // Each was asked, and of none more was kept than may be.
        for (sort, rows) in fleet.rows().await {
            assert!(rows.iter().all(|row| row.attempts > 0), "{sort}");
            assert!(rows.iter().all(|row| row.last_answer.len() <= probity_store::outbox::ANSWER_MAX), "{sort}");
        }
    });
}
