//! Plans over time: months, trials, changes, refills and low balances, with a consistent ledger after each.

mod account;
mod changes;
mod low_balance;
mod months;
mod once;
mod refills;
mod unlimited;

use probity_account::credits::Split;
use probity_account::plans::{Plan, Plans, Refill, TrialTerms};
use probity_mail::time::{Date, Millis, days_from_civil};
use probity_store::accounts::plans;
use probity_store::credits::audit;
use probity_store::{OrgNo, Store};

use crate::databases::for_each_database;

const HOUR_MS: i64 = 3_600_000;

fn day(year: i32, month: u8, day: u8) -> Millis {
    Millis::from_utc_day(days_from_civil(Date { year, month, day }))
}

const fn split(subscription: i64, prepaid: i64) -> Split {
    Split { subscription, prepaid }
}

fn catalogue() -> Plans {
    let team = Plan { monthly: 1_000, low_balance: Some(100), ..Plan::bare("team") };
    let saving = Plan { monthly: 50, keeps_unused: true, ..Plan::bare("saving") };
    let trial = Plan { monthly: 700, trial: Some(TrialTerms { days: 14, credits: 20 }), ..Plan::bare("trial") };
    let refill = Plan { refill: Some(Refill { credits: 10, times: 3 }), ..Plan::bare("refill") };
    Plans::new([team, saving, trial, refill], "team", 5).unwrap()
}

/// Runs a test against each database, and audits the ledger at its end.
async fn for_each_books(test: impl AsyncFn(&Store)) {
    for_each_database(async |store| {
        test(&store).await;
        assert_eq!(audit::everything(&store).await.unwrap(), []);
    })
    .await;
}

/// Returns the organizations whose month has ended under these plans.
async fn due(store: &Store, plans: &Plans, now: Millis) -> Vec<OrgNo> {
    plans::due(&mut store.read().await.unwrap(), plans, now, 10).await.unwrap()
}
