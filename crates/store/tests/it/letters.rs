//! Claims of letters, for tests of what causes them.

use probity_mail::time::Millis;
use probity_store::activity::letters::{self, ClaimedLetter, LetterKind};
use probity_store::{ScopedFutureExt as _, Store, StoreError};

pub(crate) async fn any_due(store: &Store, kind: LetterKind, now: Millis) -> bool {
    letters::any_due(&mut store.read().await.unwrap(), kind, now).await.unwrap()
}

/// Claims letters for a second.
pub(crate) async fn claim(store: &Store, kind: LetterKind, now: Millis, run: &str) -> Vec<ClaimedLetter> {
    let any = any_due(store, kind, now).await;
    let claim = store.write(|tx| letters::claim(tx, kind, now, 1_000, run, 100).scope_boxed());
    let claimed = claim.await.unwrap();
    assert!(any || claimed.is_empty());
    claimed
}

pub(crate) async fn record(store: &Store, claimed: &ClaimedLetter, again: Option<Millis>) -> Result<(), StoreError> {
    store.write(|tx| letters::record(tx, claimed, again).scope_boxed()).await
}
