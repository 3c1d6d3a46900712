//! Organizations with which most tests begin: on the plan without months, with or without credits.

use probity_account::credits::CreditBucket;
use probity_account::id::OrgId;
use probity_mail::time::Millis;
use probity_store::accounts::organization::{self, OrgRecord};
use probity_store::credits::{self, CreditBooking};
use probity_store::{OrgNo, Result, ScopedFutureExt as _, Store};

/// Returns the `n`th organization of that time, not yet stored.
pub(crate) fn nth(n: u8, at: Millis) -> OrgRecord {
    OrgRecord::new(OrgId::new(at, [n; 10]), None, "metered".into(), at)
}

pub(crate) async fn add(store: &Store, org: &OrgRecord) {
    store.write(|tx| organization::insert(tx, org).scope_boxed()).await.unwrap();
}

/// Adds the `n`th organization.
pub(crate) async fn add_nth(store: &Store, n: u8, at: Millis) -> OrgNo {
    let org = nth(n, at);
    add(store, &org).await;
    org.no
}

/// Adds an organization with prepaid credits.
pub(crate) async fn add_with(store: &Store, org: &OrgRecord, prepaid: i64) -> Result<()> {
    let booking = CreditBooking {
        org: org.no,
        bucket: CreditBucket::Prepaid,
        amount: prepaid,
        cause: "first",
        at: org.created_at,
    };
    let made = store.write(|tx| {
        async {
            organization::insert(tx, org).await?;
            credits::grant(tx, &booking, None).await
        }
        .scope_boxed()
    });
    made.await
}
