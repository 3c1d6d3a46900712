//! What our own limits hold back: it is asked later, and nothing is decided by it.

use probity_engine::net::Source;
use probity_engine::{Item, Live, Outcome, Tries};
use probity_mailworld::{Personality, World};

use super::site;
use crate::world::{Lab, brief};

#[tokio::test(start_paused = true)]
async fn our_budget_for_a_zone_delays_answers_and_does_not_replace_them() {
    let lab = Lab::polite(&World::builder().build().expect("a world"));
    let emails: Vec<String> = (0..500).map(|n| format!("a@d{n}.example.com")).collect();
    for said in lab.batch(&emails).await {
        assert_eq!(brief(&said), "undeliverable/illegitimate/nxdomain", "{}", said.email);
    }
}

#[tokio::test(start_paused = true)]
async fn budgets_put_off_and_never_decide() {
    let lab = Lab::polite(&site(Personality::default()));
    let items = |n: u64| {
        (0..n)
            .map(|key| probity_engine::Item {
                key,
                email: format!("nobody{key}@one.example.com").into(),
                customer: 0,
                tries: probity_engine::Tries::default(),
            })
            .collect()
    };
    let outcomes = lab.once(items(200)).await;
    assert_eq!(outcomes.len(), 200);
    let put_off =
        outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::PutOff { why: "budget", .. })).count();
    assert!(put_off > 150, "{put_off}");
    assert!(lab.net.hosts().rcpt <= 25, "{:?}", lab.net.hosts());
    for (_, outcome) in outcomes {
        if let Outcome::Settled(said) = outcome {
            assert_eq!(said.verdict.reason.as_str(), "nonexistent");
        }
    }
    let said = lab.engine.verify("ann@one.example.com", Live { timeout_ms: 20_000, scope: 0 }).await;
    assert_ne!(said.verdict.status().as_str(), "undeliverable");
}

#[tokio::test(start_paused = true)]
async fn a_source_on_its_first_day_asks_a_tenth() {
    let asked = |since| async move {
        let lab = Lab::new(&site(Personality::default()), 1, |config| config.in_use_since = vec![since]);
        let item = |key: u64| probity_engine::Item {
            key,
            email: format!("nobody{key}@one.example.com").into(),
            customer: 0,
            tries: probity_engine::Tries::default(),
        };
        lab.once((0..100).map(item).collect()).await;
        lab.net.hosts().rcpt
    };
    let today = probity_engine::clock::Clock::system().now();
    let (young, old) = (asked(Some(today)).await, asked(None).await);
    assert!(young * 4 < old, "{young} of {old}");
}

#[tokio::test(start_paused = true)]
async fn sources_behind_one_address_share_its_limits() {
    let asked = |addresses: &[&str]| {
        let sources: Vec<_> = addresses
            .iter()
            .map(|address| {
                let public = Some(address.parse().expect("an address"));
                std::sync::Arc::new(Source { bind: None, public, helo: "probe.example.org".into(), proxy: None })
            })
            .collect();
        let names: Vec<_> = sources.iter().map(|source| source.name()).collect();
        async move {
            let lab = Lab::new(&site(Personality::default()), 1, |config| config.sources = sources);
            let fixed = |key: u64| Item {
                key,
                email: format!("nobody{key}@one.example.com").into(),
                customer: 0,
                tries: Tries { source: Some(names[usize::from(key % 2 == 1)].clone()), ..Tries::default() },
            };
            lab.once((0..200).map(fixed).collect()).await;
            lab.net.hosts().rcpt
        }
    };
    let (shared, separate) =
        (asked(&["198.51.100.7", "198.51.100.7"]).await, asked(&["198.51.100.7", "198.51.100.8"]).await);
    assert!(shared * 3 < separate * 2, "{shared} from one address, {separate} from two");
}

#[tokio::test(start_paused = true)]
async fn what_only_our_budget_holds_back_is_asked_within_the_day() {
    let lab = Lab::new(&site(Personality::default()), 1, |config| config.patience_ms = 600_000);
    let emails: Vec<String> = (0..60).map(|n| format!("nobody{n}@one.example.com")).collect();
    for said in lab.batch(&emails).await {
        assert_eq!(said.verdict.reason.as_str(), "nonexistent", "{:?}", said.verdict);
    }
}
