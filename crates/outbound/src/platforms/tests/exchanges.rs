//! Exchanges of credentials for access tokens: a short wait for the turn, and the whole time for the call.

use std::time::Duration;

use super::server::{Scripted, ServerMove, closed};
use super::*;

/// Call that gives a token, after the file's rate limits.
const TOKEN: &str = r#"
[rate]
limits = [{ of = "account", per = "1s", max = 4 }]
[http.other]
base = "{credential.url}"
[token]
request = { post = "/token", form = { key = "{credential.key}" }, other = true }
access = "/access_token"
lifetime = "1h"
"#;
const GRANT: &str = r#"{"access_token": "at"}"#;

/// Returns a trial whose account has a pause of this length.
fn paused(server: &Scripted, pause_ms: i64) -> Trial {
    let trial = Trial::new(TOKEN, &[server.address]);
    let request = request(Method::Post, &server.url("/token"));
    let throttled = (Some(ErrorClass::Throttled), Some(pause_ms));
    trial.account().state.heard(&request, throttled, trial.platforms.0.clock.now(), 0.0);
    trial
}

async fn authorize(trial: &Trial, url: &str) -> Result<PlatformTokenGrant, NoGrant> {
    trial.platforms.authorize(trial.file(), &trial.credentials(url), &trial.account()).await
}

#[tokio::test(start_paused = true)]
async fn an_exchange_waits_shortly_for_its_turn_and_sends_nothing_otherwise() {
    let mut server = Scripted::start(vec![ServerMove::json(200, GRANT)]).await;
    let trial = paused(&server, 14_000);
    let Err(NoGrant::Fault(fault)) = authorize(&trial, &server.url("")).await else { panic!("it waits") };
    assert!(fault.class == ErrorClass::Throttled && fault.wait_ms.is_some_and(|wait| wait > 13_000), "{fault:?}");
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_wait_does_not_shorten_the_call_of_an_exchange() {
    let reply = format!("HTTP/1.1 200 x\r\ncontent-length: {}\r\n\r\n{GRANT}", GRANT.len());
    let server = Scripted::start(vec![ServerMove::Slowly(Duration::from_millis(9_500), reply)]).await;
    let trial = paused(&server, 4_500);
    authorize(&trial, &server.url("")).await.unwrap();
}

#[tokio::test]
async fn an_exchange_says_that_the_host_was_not_reached() {
    let (_socket, refusing) = closed();
    let trial = Trial::new(TOKEN, &[refusing]);
    assert!(matches!(authorize(&trial, &format!("http://{refusing}")).await, Err(NoGrant::Unreached(_))));
}
