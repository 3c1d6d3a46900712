//! Tests the memory that a thousand hostile webhooks cost the deliverer, measured in a separate process.

use std::path::Path;
use std::process::Command;

use probity_backend::webhooks::{DeliveryConfig, SendLimits};
use probity_engine::clock::EngineClock;

use super::super::delivery::{AllAtLoopback, Outbox, START};
use super::super::receivers::{HASTY, Manner, Receiver, guard_allowing};
use super::{Fleet, WEBHOOKS, sort_of};

/// Environment variable with the path of the outbox, for the delivering process.
const OUTBOX: &str = "PROBITY_TEST_OUTBOX";
/// Behavior of the webhooks, in turn. None of them is honest.
const SORTS: [&str; 10] = ["body", "head", "body", "chunks", "body", "fields", "drip", "body", "head", "hang"];
/// Size of each receiver's response, in bytes. Concurrent responses could exceed the limit below 16 times over. The size is
/// bounded, so that the machine survives a deliverer that reads everything.
const POURED: usize = 4 << 20;
/// Number of webhooks served first, so that everything that any delivery needs once is allocated. Covers every sort.
const FIRST: usize = 40;
/// Delay of the other deliveries, in milliseconds.
const LATER_MS: i64 = 3_600_000;
/// Maximum growth of the deliverer, in KiB. Attempts take 4 MiB: 64 at once, each with two copies of a head and a body of 16
/// KiB. The rest is connections, tasks, and storing responses in the database and its caches.
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

/// Returns a number from `/proc/self/status`, in KiB.
fn own(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Delivers first a few deliveries of the outbox, then all others. Returns by how many KiB the latter raised the peak memory.
async fn deliver(outbox: &Outbox) -> u64 {
    let limits = SendLimits { total_ms: 2_000, ..HASTY };
    let deliver_at = async |at| {
        let guard = guard_allowing(&["127.0.0.0/8"], std::sync::Arc::new(AllAtLoopback));
        outbox.worker_by(EngineClock::starting_at(at), guard, limits, DeliveryConfig::default()).run_once().await;
    };
    deliver_at(START).await;
    let before = own("VmRSS");
    deliver_at(START + LATER_MS).await;
    own("VmHWM").saturating_sub(before)
}

#[test]
#[ignore = "thorough"]
fn a_thousand_hostile_webhooks_cost_bounded_memory() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        if let Some(file) = std::env::var_os(OUTBOX) {
            // As in the program. Systems without this call have no huge pages.
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
            "--ignored",
            "--nocapture",
            "webhooks::fleet::memory::a_thousand_hostile_webhooks_cost_bounded_memory",
        ]);
        child.env(OUTBOX, fleet.outbox.file());
        let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        eprintln!("{}", said.lines().find(|line| line.contains("cost")).unwrap());
        // Each webhook was attempted, and no response was stored beyond the limit.
        for (sort, rows) in fleet.rows().await {
            assert!(rows.iter().all(|row| row.attempts > 0), "{sort}");
            assert!(
                rows.iter().all(|row| row.last_answer.len() <= probity_store::webhooks::outbox::ANSWER_MAX),
                "{sort}"
            );
        }
    });
}
