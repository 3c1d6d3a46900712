//! Tests that recorded values appear in the text of the metrics.

use std::time::Duration;

use probity_engine::EngineSnapshot;
use probity_engine::snapshot::{BreakerCounts, PausedSite, TightBudget};
use probity_engine::snapshot::{LimitUsage, PauseCause, SessionUsage, SiteLimit};
use probity_mail::verdict::Reason;
use probity_store::PoolUse;

use super::*;
use crate::metrics::AnsweredRequest;

struct Fixed(Gauges);

impl Observed for Fixed {
    fn look(&self) -> futures_util::future::BoxFuture<'_, Gauges> {
        Box::pin(std::future::ready(self.0.clone()))
    }
}

struct Stuck;

impl Observed for Stuck {
    fn look(&self) -> futures_util::future::BoxFuture<'_, Gauges> {
        Box::pin(std::future::pending())
    }
}

fn metrics() -> Metrics {
    Metrics::new(&Start { version: "1.2.3", at: Millis(1_700_000_000_500), providers: ["google", "yahoo"].into() })
}

async fn plain(metrics: &Metrics) -> String {
    metrics.render(&Fixed(Gauges::default()), ExpositionForm::Plain).await
}

#[track_caller]
fn has(text: &str, line: &str) {
    assert!(text.lines().any(|one| one == line), "{line} is not in:\n{text}");
}

fn busy() -> Gauges {
    let site = |site: &str, is_provider, source| PausedSite {
        site: site.into(),
        is_provider,
        source,
        why: PauseCause::Blocked,
        until: Millis(1),
    };
    let budget = |site: &str, is_provider, used| TightBudget {
        site: site.into(),
        is_provider,
        source: 0,
        budget: SiteLimit::Rate,
        used,
        limit: 20,
    };
    let engine = EngineSnapshot {
        sessions: SessionUsage { all: LimitUsage { used: 7, limit: 100 }, ..SessionUsage::default() },
        breakers: BreakerCounts { closed: 5, half_open: 1, open: 3, paused: 0 },
        held: vec![site("google", true, 0), site("google", true, 1), site("mx.customer.example", false, 0)],
        tight: 3,
        budgets: vec![budget("yahoo", true, 16), budget("yahoo", true, 18), budget("mx.customer.example", false, 20)],
        ..EngineSnapshot::default()
    };
    let database = DatabaseGauges { up: true, pool: PoolUse { open: 5, idle: 3, retries: 2 } };
    let waiting = QueueDepth { waiting: 12, oldest: Some(Duration::from_millis(1_500)) };
    let cluster = ClusterGauges {
        roles: vec![("api", 2), ("schedule", 0)],
        leases: vec![("source", 1)],
        jobs: probity_store::jobs::JobQueueDepth {
            queued: 3,
            processing: 1,
            ..probity_store::jobs::JobQueueDepth::default()
        },
    };
    let own = OwnGauges { chunks: 5, imports: 1, holds_sources: true, clock_ahead_ms: -2_500, hears: false };
    let queues = vec![(Queue::Ledger, waiting)];
    Gauges { engine: Some(engine), database: Some(database), queues, own: Some(own), cluster: Some(cluster) }
}

#[tokio::test]
async fn requests_are_counted_by_route_method_and_status() {
    let metrics = metrics();
    let answered = |method, route, status, ms| {
        let duration = Duration::from_millis(ms);
        metrics.http().answered(&AnsweredRequest { method, route, status, duration });
    };
    (0..3).for_each(|_| answered("GET", "/v1/verify", 200, 4));
    answered("GET", "/v1/verify", 402, 2_000);
    answered("GET", "none", 418, 1);
    answered("BREW", "none", 404, 1);
    let guard = metrics.http().enter();
    let text = plain(&metrics).await;
    has(&text, "probity_http_requests_total{route=\"/v1/verify\",method=\"GET\",status=\"200\"} 3");
    has(&text, "probity_http_requests_total{route=\"/v1/verify\",method=\"GET\",status=\"402\"} 1");
    has(&text, "probity_http_requests_total{route=\"none\",method=\"GET\",status=\"other\"} 1");
    has(&text, "probity_http_requests_total{route=\"none\",method=\"OTHER\",status=\"404\"} 1");
    has(&text, "probity_http_request_duration_seconds_bucket{le=\"0.005\",route=\"/v1/verify\",method=\"GET\"} 3");
    has(&text, "probity_http_request_duration_seconds_bucket{le=\"2.5\",route=\"/v1/verify\",method=\"GET\"} 4");
    has(&text, "probity_http_request_duration_seconds_count{route=\"/v1/verify\",method=\"GET\"} 4");
    has(&text, "probity_http_requests_in_flight 1");
    drop(guard);
    has(&plain(&metrics).await, "probity_http_requests_in_flight 0");
}

#[tokio::test]
async fn verdicts_are_counted_by_reason_and_by_known_provider() {
    let metrics = metrics();
    let verdicts = metrics.verdicts();
    verdicts.record_reason(Origin::Live, Reason::Valid, Some("google"));
    verdicts.record_reason(Origin::Live, Reason::Valid, Some("made-up"));
    verdicts.record_reason(Origin::Batch, Reason::Nonexistent, None);
    let text = plain(&metrics).await;
    has(&text, "probity_verdicts_total{reason=\"valid\",source=\"live\"} 2");
    has(&text, "probity_verdicts_total{reason=\"nonexistent\",source=\"batch\"} 1");
    has(&text, "probity_verdicts_total{reason=\"spam\",source=\"sandbox\"} 0");
    has(&text, "probity_provider_verdicts_total{status=\"passed\",provider=\"google\",source=\"live\"} 1");
    has(&text, "probity_provider_verdicts_total{status=\"passed\",provider=\"other\",source=\"live\"} 1");
    has(&text, "probity_provider_verdicts_total{status=\"undeliverable\",provider=\"other\",source=\"batch\"} 1");
    assert!(!text.contains("made-up") && !text.contains("yahoo"), "only providers that were met");
}

#[tokio::test]
async fn accounts_are_counted() {
    let metrics = metrics();
    let accounts = metrics.accounts();
    accounts.credits(CreditMove::Captured, 50);
    accounts.window(120, Duration::from_millis(3), true);
    accounts.window(1, Duration::from_millis(3), false);
    accounts.idempotent(Idempotent::Replayed);
    accounts.limited(LimitedBy::Key);
    accounts.auth_failed(AuthFailure::Unknown);
    accounts.passwords_hashed().inc();
    let text = plain(&metrics).await;
    has(&text, "probity_credits_total{move=\"captured\"} 50");
    has(&text, "probity_credits_total{move=\"refused\"} 0");
    has(&text, "probity_ledger_window_calls_bucket{le=\"100.0\"} 1");
    has(&text, "probity_ledger_window_calls_sum 121.0");
    has(&text, "probity_ledger_window_failures_total 1");
    has(&text, "probity_idempotent_requests_total{outcome=\"replayed\"} 1");
    has(&text, "probity_rate_limited_total{limit=\"key\"} 1");
    has(&text, "probity_auth_failures_total{why=\"unknown\"} 1");
    has(&text, "probity_passwords_hashed_total 1");
}

#[tokio::test]
async fn states_are_those_of_the_moment_and_name_only_known_providers() {
    let metrics = metrics();
    let text = metrics.render(&Fixed(busy()), ExpositionForm::Plain).await;
    has(&text, "probity_smtp_sessions{kind=\"all\"} 7.0");
    has(&text, "probity_smtp_sessions_limit{kind=\"all\"} 100.0");
    has(&text, "probity_breakers{state=\"open\"} 3.0");
    has(&text, "probity_provider_held{provider=\"google\",why=\"blocked\"} 2.0");
    has(&text, "probity_budgets_tight 3.0");
    has(&text, "probity_provider_budget_used_ratio{provider=\"yahoo\",budget=\"rate\"} 0.9");
    has(&text, "probity_database_up 1.0");
    has(&text, "probity_database_connections{state=\"busy\"} 2.0");
    has(&text, "probity_database_retries_total 2");
    has(&text, "probity_queue_depth{queue=\"ledger\"} 12.0");
    has(&text, "probity_queue_oldest_seconds{queue=\"ledger\"} 1.5");
    has(&text, "probity_nodes{role=\"api\"} 2.0");
    has(&text, "probity_nodes{role=\"schedule\"} 0.0");
    has(&text, "probity_leases{kind=\"source\"} 1.0");
    has(&text, "probity_jobs_open{state=\"queued\"} 3.0");
    has(&text, "probity_working_on{work=\"chunks\"} 5.0");
    has(&text, "probity_sources_held 1.0");
    has(&text, "probity_clock_ahead_seconds -2.5");
    has(&text, "probity_bells_heard 0.0");
    has(&text, "probity_build_info{version=\"1.2.3\"} 1");
    has(&text, "probity_process_start_time_seconds 1700000000.0");
    assert!(!text.contains("customer.example"), "{text}");
    assert!(!plain(&metrics).await.contains("probity_smtp_sessions"), "what was seen before is not told again");
}

#[tokio::test(start_paused = true)]
async fn a_part_that_does_not_answer_is_left_out() {
    let text = metrics().render(&Stuck, ExpositionForm::OpenMetrics).await;
    has(&text, "probity_up 1");
    assert!(text.ends_with("# EOF\n") && !text.contains("probity_database_up"));
}

/// Returns the names of all metrics with their types and labels, as readers see them.
fn shown(text: &str) -> std::collections::BTreeMap<String, (String, String)> {
    let mut shown: std::collections::BTreeMap<String, (String, String)> = std::collections::BTreeMap::new();
    for line in text.lines() {
        if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            shown.insert(name.to_owned(), (kind.to_owned(), String::new()));
        } else if let Some((name, rest)) = line.split_once('{') {
            let name = ["_bucket", "_count", "_sum"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            let labels = rest.split_once('}').expect("labels end").0.split(',');
            let labels =
                labels.filter_map(|label| label.split_once('=')).map(|(key, _)| key).filter(|key| *key != "le");
            let labels: Vec<_> = labels.map(|key| format!("`{key}`")).collect();
            if let Some(one) = shown.get_mut(name) {
                one.1 = labels.join(", ");
            }
        }
    }
    shown
}

#[tokio::test]
async fn the_documents_table_names_every_metric_and_no_other() {
    let metrics = metrics();
    let duration = Duration::from_millis(1);
    metrics.http().answered(&AnsweredRequest { method: "GET", route: "/v1/verify", status: 200, duration });
    metrics.verdicts().record_reason(Origin::Live, Reason::Valid, None);
    metrics.platforms().called("ghost", PlatformOutcome::Ok, duration);
    metrics.platforms().heard(Some("ghost"), PlatformEvent::Accepted);
    let text = metrics.render(&Fixed(busy()), ExpositionForm::Plain).await;
    let document = include_str!("../../../../docs/operations.md");
    let mut documented = std::collections::BTreeMap::new();
    for line in document.lines().filter(|line| line.starts_with("| `probity_")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        documented.insert(cells[1].trim_matches('`').to_owned(), (cells[2].to_owned(), cells[3].to_owned()));
    }
    assert_eq!(shown(&text), documented);
}
