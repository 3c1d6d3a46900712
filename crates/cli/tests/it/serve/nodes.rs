//! Two nodes on one PostgreSQL: shared limits, and the same keys.

use std::time::{Duration, Instant};

use probity_trialdb::postgres;

use crate::serve::bench::client::Client;
use crate::serve::bench::node::{Installation, wait_for};

const PER_MINUTE: u32 = 600;
/// Time over which requests continue after the first refusal, so that refilled tokens are counted too.
const REFUSED_FOR: Duration = Duration::from_secs(4);

/// Sends requests to the nodes in turn until they have refused for a while; returns how many passed.
fn hammer(mut clients: Vec<Client>) -> u32 {
    let (mut passed, mut refused) = (0, None);
    loop {
        for client in &mut clients {
            match client.get("/v1/organization").unwrap().status {
                200 => passed += 1,
                429 => drop(refused.get_or_insert_with(Instant::now)),
                status => panic!("{status}"),
            }
        }
        if refused.is_some_and(|at| at.elapsed() > REFUSED_FOR) {
            return passed;
        }
    }
}

/// Checks the limit: a burst of a whole minute, then the rate, with a tolerance of 10%.
fn within_a_tenth(passed: u32, begun: Instant) {
    let allowed = f64::from(PER_MINUTE) * (1.0 + begun.elapsed().as_secs_f64() / 60.0);
    let share = f64::from(passed) / allowed;
    println!("{passed} of {allowed:.0} passed: {share:.3}");
    assert!((0.9..=1.1).contains(&share), "{passed} of {allowed:.0}");
}

fn new_key(installation: &Installation) -> (String, String) {
    let key = installation.ask(&["keys", "create", "--rate", &PER_MINUTE.to_string(), "--json"]);
    let text = |name: &str| key[name].as_str().unwrap().to_owned();
    (text("secret"), text("id"))
}

#[test]
#[ignore = "thorough"]
fn nodes_share_a_limit_and_notice_a_revoked_key() {
    let Some(cluster) = postgres() else { return };
    let installation = Installation::on(cluster.create_database());
    let (one, other) = (installation.start(), installation.start());
    let (key, _) = new_key(&installation);
    let begun = Instant::now();
    within_a_tenth(hammer(vec![one.client(&key), other.client(&key)]), begun);

    let (key, _) = new_key(&installation);
    let begun = Instant::now();
    let passed = std::thread::scope(|scope| {
        let at_once = [&one, &other].map(|node| vec![node.client(&key)]).map(|clients| scope.spawn(|| hammer(clients)));
        at_once.map(|thread| thread.join().unwrap()).iter().sum()
    });
    within_a_tenth(passed, begun);

    let (key, id) = new_key(&installation);
    assert_eq!(other.client(&key).verify("valid@sandbox.test").unwrap().status, 200);
    let revoked = one.client(&one.key("Live key")).send("DELETE", &format!("/v1/api-keys/{id}")).unwrap();
    assert!((200..300).contains(&revoked.status), "{revoked:?}");
    let begun = Instant::now();
    assert_eq!(one.client(&key).verify("valid@sandbox.test").unwrap().status, 401, "here at once");
    wait_for("the refusal", || (other.client(&key).verify("valid@sandbox.test").unwrap().status == 401).then_some(()));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    one.stop();
    other.stop();
}
