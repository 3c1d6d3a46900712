//! Mail with the links of invitations, to a relay that has its moods.

use std::net::SocketAddr;
use std::time::Duration;

use probity_core::api_key::KeyKind;
use probity_server::mail::MailConfig;
use probity_server::secrets::Secrets;
use probity_server::service::ServiceConfig;
use probity_store::ScopedFutureExt as _;
use probity_store::orgs::Org;
use probity_store::users::{invitations, profile};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::test_app::{Call, PEPPER, TestApp, pass};

/// A relay whose answers to RCPT are these, then 250. What it takes, and what it refuses, comes out at the other end.
async fn relay(answers: &'static [&'static str]) -> (SocketAddr, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (out, seen) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut answers = answers.iter();
        while let Ok((stream, _)) = listener.accept().await {
            converse(stream, answers.next().unwrap_or(&"250 ok"), &out).await;
        }
    });
    (address, seen)
}

async fn converse(stream: TcpStream, to_rcpt: &str, out: &mpsc::UnboundedSender<String>) {
    let mut stream = BufReader::new(stream);
    let mut reply = "220 relay.example".to_owned();
    let mut line = String::new();
    loop {
        stream.write_all(format!("{reply}\r\n").as_bytes()).await.unwrap();
        line.clear();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        reply = match line.split_whitespace().next().unwrap_or_default() {
            "RCPT" => {
                if !to_rcpt.starts_with("250") {
                    out.send(to_rcpt.to_owned()).unwrap();
                }
                to_rcpt.to_owned()
            }
            "DATA" => {
                stream.write_all(b"354 go on\r\n").await.unwrap();
                out.send(letter(&mut stream).await).unwrap();
                "250 taken".into()
            }
            "QUIT" => "221 bye".into(),
            _ => "250 ok".into(),
        };
    }
}

/// A mail up to its dot, with soft line breaks undone.
async fn letter(stream: &mut BufReader<TcpStream>) -> String {
    let mut letter = String::new();
    while !letter.ends_with("\r\n.\r\n") {
        stream.read_line(&mut letter).await.unwrap();
    }
    letter.replace("=\r\n", "").replace("=3D", "=")
}

async fn service(relay: SocketAddr) -> TestApp {
    let url = format!("smtp://{relay}").into();
    let mail = MailConfig::new(&url, "Probity <no-reply@example.com>", "https://verify.example.com").unwrap();
    TestApp::with(ServiceConfig { mail: Some(mail), ..ServiceConfig::default() }).await
}

/// What the relay saw next, once so much time has passed.
async fn after(time: Duration, seen: &mut mpsc::UnboundedReceiver<String>) -> String {
    pass(time).await;
    tokio::time::timeout(Duration::from_secs(30), seen.recv()).await.expect("the relay hears of it").unwrap()
}

async fn invite(app: &TestApp, key: &str, email: &str) {
    let body = json!({"email": email, "role": "contributor"}).to_string();
    app.send(Call::post("/v1/users", body).key(key)).await.ok(201);
}

#[tokio::test]
async fn the_mailed_link_comes_when_the_relay_lets_it_and_verifies_the_address() {
    let (address, mut seen) = relay(&["451 later"]).await;
    let app = service(address).await;
    let (org, key) = app.customer().await;
    invite(&app, &key, "ann@example.org").await;
    assert_eq!(after(Duration::from_secs(6), &mut seen).await, "451 later");
    let mail = after(Duration::from_secs(70), &mut seen).await;
    assert!(
        mail.contains("To: ann@example.org\r\n") && mail.contains("From: Probity <no-reply@example.com>\r\n"),
        "{mail}"
    );
    assert!(mail.contains("You are invited to Example Ltd on Probity"), "{mail}");
    let (_, secret) = mail.split_once("https://verify.example.com/#/link/").unwrap();
    let secret = &secret[..43];
    app.assert_files_without(&[secret]);
    let (hash, now) = (Secrets::of(&PEPPER).link(secret), app.now(&org).await);
    let user = app.store.write(|tx| invitations::redeem(tx, &hash, now).scope_boxed()).await.unwrap();
    assert_eq!(user.email.as_deref(), Some("ann@example.org"));
    let mut conn = app.store.read().await.unwrap();
    assert!(profile::read(&mut conn, org.no, user.id).await.unwrap().email_verified);
    drop(conn);
    app.stop().await;
}

#[tokio::test]
async fn what_the_relay_never_takes_is_given_up() {
    let (address, mut seen) = relay(&["550 no such user"]).await;
    let app = service(address).await;
    let (_, key) = app.customer().await;
    invite(&app, &key, "nobody@example.org").await;
    assert_eq!(after(Duration::from_secs(6), &mut seen).await, "550 no such user");
    // The next thing that the relay hears of is another mail.
    for _ in 0..4 {
        pass(Duration::from_hours(1)).await;
    }
    invite(&app, &key, "ann@example.org").await;
    let next = after(Duration::from_secs(6), &mut seen).await;
    assert!(next.contains("To: ann@example.org"), "{next}");
    app.stop().await;
}

/// To how many the service would still send mail.
async fn waiting(app: &TestApp, org: &Org) -> usize {
    let later = app.now(org).await + 7 * 86_400_000;
    let claim = app.store.write(|tx| invitations::mail::claim(tx, later, 0, "the test", 1_000).scope_boxed());
    claim.await.unwrap().iter().filter(|one| one.org == org.no).count()
}

#[tokio::test]
async fn who_invites_again_and_again_has_fifty_mailed() {
    let (address, _seen) = relay(&["451 later"; 200]).await;
    let app = service(address).await;
    let (org, key) = app.customer().await;
    for n in 1..=50 {
        invite(&app, &key, &format!("a{n}@example.org")).await;
    }
    assert_eq!(waiting(&app, &org).await, 50);
    // Who is removed frees nothing.
    let page = app.get(&key, "/v1/users?per_page=10").await.ok(200);
    for member in page["data"].as_array().unwrap() {
        let path = format!("/v1/users/{}", member["id"].as_str().unwrap());
        app.send(Call::new("DELETE", path).key(&key)).await.ok(200);
    }
    for n in 51..=60 {
        invite(&app, &key, &format!("a{n}@example.org")).await;
    }
    let mailed = waiting(&app, &org).await - 40;
    assert!((1..=4).contains(&mailed), "one, and one a second later, and one two seconds later: {mailed}");
    let other = app.org("Other Ltd", 0).await;
    invite(&app, &app.key(&other, KeyKind::Live).await, "a@example.org").await;
    assert_eq!(waiting(&app, &other).await, 1, "each organization by itself");
    app.stop().await;
}
