//! Settings are returned as stored, for their own organization only.

use probity_account::overrides::{IGNORABLE, IgnorableReason, Wishes};
use probity_mail::time::Millis;
use probity_store::accounts::settings::{self, OrgSettings};
use probity_store::{OrgNo, ScopedFutureExt as _, Store, StoreError};

use crate::databases::for_each_database;
use crate::organizations;

const NOW: Millis = Millis(1_800_000_000_000);

async fn add_org(store: &Store, n: u8) -> OrgNo {
    organizations::add_nth(store, n, NOW).await
}

fn everything() -> OrgSettings {
    OrgSettings {
        time_zone: Some("Europe/Berlin".to_owned()),
        overrides: Wishes {
            ignored_reasons: IgnorableReason::ALL.to_vec(),
            ignored_statuses: IGNORABLE.to_vec(),
            banned_words: vec!["\u{1}\"\\'".into(), "größe 賭博 \u{1f4a9}".into()],
            role_words: vec!["x".repeat(64); 3],
        },
        retention_days: Some(3_650),
        delivery_retention_days: Some(365),
        rate_limit_per_minute: Some(1),
    }
}

async fn read(store: &Store, org: OrgNo) -> OrgSettings {
    settings::read(&mut store.read().await.unwrap(), org).await.unwrap()
}

#[tokio::test]
async fn settings_come_back_as_they_went_in() {
    for_each_database(async |store| {
        let (one, other) = (add_org(&store, 1).await, add_org(&store, 2).await);
        assert_eq!(read(&store, one).await, OrgSettings::default());
        let few = OrgSettings { retention_days: Some(1), ..OrgSettings::default() };
        for wished in [everything(), few, OrgSettings::default(), everything()] {
            store.write(|tx| settings::write(tx, one, &wished, NOW).scope_boxed()).await.unwrap();
            assert_eq!(read(&store, one).await, wished);
        }
        assert_eq!(read(&store, other).await, OrgSettings::default());
        let nobody = store.write(|tx| settings::lock(tx, OrgNo(7)).scope_boxed()).await;
        assert!(matches!(nobody, Err(StoreError::NotFound)), "{nobody:?}");
    })
    .await;
}

#[tokio::test]
async fn changes_at_once_do_not_lose_each_other() {
    for_each_database(async |store| {
        let org = add_org(&store, 1).await;
        let ban = |word: String| {
            let store = store.clone();
            async move {
                let changed = store.write(|tx| {
                    async {
                        let mut standing = settings::lock(tx, org).await?;
                        standing.overrides.banned_words.push(word.clone());
                        settings::write(tx, org, &standing, NOW).await
                    }
                    .scope_boxed()
                });
                changed.await.unwrap();
            }
        };
        futures_util::future::join_all((0..20).map(|number| ban(number.to_string()))).await;
        let mut words = read(&store, org).await.overrides.banned_words;
        words.sort_by_key(|word| word.parse::<u32>().unwrap());
        assert_eq!(words, (0..20).map(|number| number.to_string()).collect::<Vec<_>>());
    })
    .await;
}
