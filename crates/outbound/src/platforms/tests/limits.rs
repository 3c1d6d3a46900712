//! Rate limits under a virtual clock: requests that an account may send, and their waits.

use std::time::Duration;

use super::*;

const SECOND_MS: i64 = 1_000;

/// Limits and an account, without a client.
struct Paced {
    account: AccountBudget,
    buckets: Buckets,
    clock: EngineClock,
}

impl Paced {
    fn new(rate: &str) -> Self {
        let text = format!("{FILE}{rate}");
        let catalog = Catalog::embedded().with_texts([("looped.toml", text.as_str())]).unwrap();
        let state = Arc::new(AccountState::new(catalog.get("looped").unwrap(), [7; 16]));
        let account = AccountBudget { state, credentials: [8; 16] };
        Self { account, buckets: Buckets::default(), clock: EngineClock::starting_at(Millis(1_800_000_000_000)) }
    }

    /// Waits for a turn and releases the slot immediately. Returns the time of the turn.
    async fn turn(&self, path: &str) -> Result<Millis, CallFault> {
        self.turn_of(&self.account, path).await
    }

    async fn turn_of(&self, account: &AccountBudget, path: &str) -> Result<Millis, CallFault> {
        let end = self.clock.now() + 1_000 * SECOND_MS;
        account.turn(&to(path), &self.buckets, self.clock, end).await.map(|_| self.clock.now())
    }

    fn heard(&self, path: &str, class: Option<ErrorClass>, wait_ms: Option<i64>) {
        self.account.state.heard(&to(path), (class, wait_ms), self.clock.now(), 0.0);
    }
}

fn to(path: &str) -> Request {
    request(Method::Get, &format!("https://esp.example.org{path}"))
}

/// Returns the largest number of turns in any span of this many milliseconds, both ends included.
fn most_within(turns: &[Millis], span_ms: i64) -> usize {
    let within = |from: &Millis| turns.iter().filter(|at| (0..=span_ms).contains(&(at.0 - from.0))).count();
    turns.iter().map(within).max().unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn no_span_has_more_calls_than_the_platform_allows_and_most_of_them_are_used() {
    for (max, per, per_ms) in [
        (1, "1s", 1_000),
        (3, "1s", 1_000),
        (5, "1s", 1_000),
        (10, "1s", 1_000),
        (100, "10s", 10_000),
        (120, "1m", 60_000),
        (150, "1m", 60_000),
    ] {
        let rate = format!("[rate]\nconcurrency = 8\nlimits = [{{ of = \"account\", per = \"{per}\", max = {max} }}]");
        let paced = Paced::new(&rate);
        let (mut turns, end) = (Vec::new(), paced.clock.now() + 4 * per_ms);
        while paced.clock.now() < end {
            turns.push(paced.turn("/contacts").await.unwrap());
        }
        // The network may bring two requests closer together.
        let most = most_within(&turns, per_ms + per_ms / 25);
        assert!(most <= max, "{most} of {max} per {per}");
        let share = turns.len() * 100 / (4 * max);
        assert!(share >= 80, "{share} % of {max} per {per}");
        let two_seconds = most_within(&turns, 2_000);
        assert!(per_ms > 1_000 || two_seconds <= 2 * max, "{two_seconds} in 2 s of {max} per {per}");
    }
}

#[tokio::test(start_paused = true)]
async fn keys_of_an_account_share_its_limits_and_pauses_and_have_their_own_limits_per_key() {
    for (of, is_shared) in [("account", true), ("key", false), ("address", true)] {
        let paced = Paced::new(&format!("[rate]\nlimits = [{{ of = \"{of}\", per = \"1s\", max = 1 }}]"));
        let other = AccountBudget { credentials: [9; 16], ..paced.account.clone() };
        let first = paced.turn("/contacts").await.unwrap();
        let second = paced.turn_of(&other, "/contacts").await.unwrap();
        assert_eq!(second > first, is_shared, "{of}");
        paced.heard("/contacts", Some(ErrorClass::Throttled), Some(20 * SECOND_MS));
        let paused = paced.clock.now() + 20 * SECOND_MS;
        assert_eq!(paced.turn_of(&other, "/contacts").await, Ok(paused), "{of}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_another_node_tells_holds_here_too() {
    for (of, is_told) in [("account", true), ("key", true), ("address", false)] {
        let rate = format!("[rate]\nlimits = [{{ of = \"{of}\", per = \"1s\", max = 4, paths = [\"/search\"] }}]");
        let (here, there) = (Paced::new(&rate), Paced::new(&rate));
        let (began, throttled) = (here.clock.now(), (Some(ErrorClass::Throttled), Some(20 * SECOND_MS)));
        let told = there.account.state.heard(&to("/search"), throttled, began, 0.0);
        assert_eq!(told.is_some(), is_told, "{of}");
        if let Some((pause, until)) = told {
            here.buckets.pause(pause, until, began).await;
        }
        assert_eq!(here.turn("/contacts").await, Ok(began), "{of}: another limit has room");
        let expected = if is_told { began + 20 * SECOND_MS } else { began };
        assert_eq!(here.turn("/search").await, Ok(expected), "{of}");
        assert_eq!(there.account.state.heard(&to("/search"), (None, None), began, 0.0), None);
    }
}

#[tokio::test(start_paused = true)]
async fn who_would_wait_long_is_told_when_to_come_back() {
    let paced =
        Paced::new("[rate]\nlimits = [{ of = \"account\", per = \"1h\", max = 8, paths = [\"/me\", \"/*/me\"] }]");
    let began = paced.turn("/me").await.unwrap();
    let fault = paced.turn("/me").await.unwrap_err();
    assert_eq!((fault.cause, fault.may_have_acted), (CallCause::Later, false));
    assert!((400_000..500_000).contains(&fault.wait_ms.unwrap()), "{fault:?}");
    for path in ["/me/more", "/7/me", "/8/me/more"] {
        assert_eq!(paced.turn(path).await.unwrap_err().cause, CallCause::Later, "{path}");
    }
    // Other paths are not counted.
    for path in ["/contacts", "/menu", "/7", "/7/menu", "/7/8/me"] {
        assert_eq!(paced.turn(path).await, Ok(began));
    }
    tokio::time::advance(Duration::from_millis(fault.wait_ms.unwrap().unsigned_abs() - 10_000)).await;
    assert!(paced.turn("/me").await.is_ok(), "a short wait is waited for");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_the_platform_names_holds_for_the_account() {
    let paced = Paced::new("[rate]\nlimits = [{ of = \"account\", per = \"1s\", max = 4, paths = [\"/search\"] }]");
    let began = paced.clock.now();
    paced.heard("/contacts", Some(ErrorClass::Throttled), Some(20 * SECOND_MS));
    paced.heard("/contacts", None, None);
    assert_eq!(paced.turn("/search").await, Ok(began), "another limit has room");
    assert_eq!(paced.turn("/contacts").await, Ok(began + 20 * SECOND_MS));
    paced.heard("/contacts", Some(ErrorClass::Quota), Some(3_600 * SECOND_MS));
    let fault = paced.turn("/contacts").await.unwrap_err();
    assert_eq!((fault.cause, fault.wait_ms), (CallCause::Later, Some(3_600 * SECOND_MS)));
    paced.heard("/contacts", Some(ErrorClass::Transient), Some(SECOND_MS));
    assert_eq!(paced.turn("/contacts").await.unwrap_err().cause, CallCause::Later, "a shorter wait ends no longer one");
}

#[tokio::test(start_paused = true)]
async fn refusals_without_a_wait_pause_longer_each_time() {
    let paced = Paced::new("");
    let mut pauses = Vec::new();
    for _ in 0..4 {
        let before = paced.clock.now();
        paced.heard("/", Some(ErrorClass::Throttled), None);
        pauses.push(paced.turn("/").await.unwrap().since(before));
    }
    assert_eq!(pauses, [2_000, 4_000, 8_000, 16_000]);
    paced.heard("/", None, None);
    let before = paced.clock.now();
    paced.heard("/", Some(ErrorClass::Throttled), None);
    assert_eq!(paced.turn("/").await.unwrap().since(before), 2_000, "an answer resets it");
    for _ in 0..40 {
        paced.heard("/", Some(ErrorClass::Throttled), None);
    }
    assert_eq!(paced.turn("/").await.unwrap_err().wait_ms, Some(600_000));
    for class in [ErrorClass::Credential, ErrorClass::Gone, ErrorClass::Invalid, ErrorClass::Unreadable] {
        let other = Paced::new("");
        other.heard("/", Some(class), None);
        assert_eq!(other.turn("/").await, Ok(other.clock.now()), "{class:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn places_are_given_in_turn_and_waited_for_in_bounds() {
    let paced = Paced::new("[rate]\nconcurrency = 2");
    let end = paced.clock.now() + 15 * SECOND_MS;
    let first = paced.account.turn(&to("/"), &paced.buckets, paced.clock, end).await.unwrap();
    let second = paced.account.turn(&to("/"), &paced.buckets, paced.clock, end).await.unwrap();
    let before = paced.clock.now();
    let fault = paced.account.turn(&to("/"), &paced.buckets, paced.clock, end).await.map(|_| ()).unwrap_err();
    assert_eq!((fault.cause, paced.clock.now().since(before)), (CallCause::Later, 15 * SECOND_MS));
    drop(second);
    let turn = paced.turn("/").await;
    assert_eq!(turn, Ok(paced.clock.now()));
    drop(first);
}
