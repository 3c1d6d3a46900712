//! Every statement and every commit fails once, and the story ends in the same state.
//!
//! The story covers the life of batch jobs: submitted, imported, processed in parts with deferred rows, completed, canceled,
//! stopped, reported, packed ([`story`]). It runs once to record its failpoints. Then it runs again for each of them: the
//! statement or the commit fails there, and its caller continues as the service does. A commit that fails *after* it took effect
//! leaves its caller uncertain.

mod story;

use probity_store::Store;
use probity_store::credits::audit;
use probity_store::failpoint::{ArmedFailpoint, FailpointAction, FailpointSide};

use crate::databases::{on_postgres, on_sqlite};
use story::Story;

/// Returns the failures to provoke: each statement at its first pass; each commit at every pass, because commits of different
/// transactions may share a name; and each commit once as a lost race, so that the transaction runs again.
fn points(traced: impl Iterator<Item = (probity_store::failpoint::Failpoint, u32)>) -> Vec<ArmedFailpoint> {
    let mut all = Vec::new();
    for (point, passes) in traced {
        let commit = point.name.starts_with("commit/");
        let most = if commit { passes } else { 1 };
        all.extend((1..=most).map(|nth| ArmedFailpoint { point: point.clone(), nth, action: FailpointAction::Error }));
        if commit && point.when == FailpointSide::Before {
            all.push(ArmedFailpoint { point, nth: 1, action: FailpointAction::Race });
        }
    }
    all
}

/// Runs the story for every second failpoint, so that two tests share the work.
async fn fails_everywhere(store: Store, start: usize) {
    let failpoints = store.failpoints();
    let mut undisturbed = Story::new(&store, 0).await;
    failpoints.trace();
    undisturbed.play().await;
    let points = points(failpoints.traced().into_iter());
    undisturbed.check("undisturbed").await;
    assert!(points.len() > 100, "the story passes much: {}", points.len());
    for (n, armed) in (1..).zip(points.iter().skip(start).step_by(2)) {
        let mut again = Story::new(&store, n).await;
        failpoints.arm(armed.clone());
        again.play().await;
        let what = format!("{} (pass {}, {:?}), story {n}", armed.point, armed.nth, armed.action);
        assert_eq!(failpoints.disarm(), 1, "{what}");
        again.check(&what).await;
    }
    eprintln!("{} failpoints", points.len());
    assert_eq!(audit::everything(&store).await.unwrap(), []);
}

#[tokio::test]
async fn whatever_fails_once_in_sqlite_the_story_has_the_same_end() {
    on_sqlite(&async |store| fails_everywhere(store, 0).await).await;
}

#[tokio::test]
async fn whatever_else_fails_once_in_sqlite_the_story_has_the_same_end() {
    on_sqlite(&async |store| fails_everywhere(store, 1).await).await;
}

#[tokio::test]
async fn whatever_fails_once_in_postgresql_the_story_has_the_same_end() {
    on_postgres(&async |store| fails_everywhere(store, 0).await).await;
}

#[tokio::test]
async fn whatever_else_fails_once_in_postgresql_the_story_has_the_same_end() {
    on_postgres(&async |store| fails_everywhere(store, 1).await).await;
}
