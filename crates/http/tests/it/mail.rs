//! Tests of mail with invitation links, through a relay that fails in different ways.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use probity_access::mail::MailConfig;
use probity_access::secrets::Secrets;
use probity_account::api_key::KeyKind;
use probity_account::credits::CreditBucket;
use probity_account::plans::{Plan, Plans};
use probity_backend::outbound::Authorities;
use probity_http::service::ServiceConfig;
use probity_service::app::ApiConfig;
use probity_store::ScopedFutureExt as _;
use probity_store::accounts::organization::OrgRecord;
use probity_store::accounts::users::{self, invitations, profile};
use probity_store::activity::letters::{self, LetterKind};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::test_app::{Call, PEPPER, TestApp, pass, real_moment, upkeep};

/// Starts a relay that returns these replies to RCPT, then 250. The channel receives each accepted mail and each rejection.
pub(crate) async fn relay(answers: &'static [&'static str]) -> (SocketAddr, mpsc::UnboundedReceiver<String>) {
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

/// Reads a mail up to its final dot. Removes soft line breaks.
async fn letter<S: AsyncRead + Unpin>(stream: &mut BufReader<S>) -> String {
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

/// Returns the next message of the relay after this time.
pub(crate) async fn after(time: Duration, seen: &mut mpsc::UnboundedReceiver<String>) -> String {
    pass(time).await;
    for _ in 0..30 {
        let heard = tokio::time::timeout(Duration::from_secs(1), seen.recv()).await;
        if let Ok(heard) = heard {
            return heard.unwrap();
        }
        // On a busy machine, a check that found nothing due may have started before the time had passed.
        pass(Duration::from_secs(6)).await;
    }
    panic!("the relay hears nothing")
}

async fn invite(app: &TestApp, key: &str, email: &str) {
    let body = json!({"email": email, "role": "contributor"}).to_string();
    app.send(Call::post("/v1/users", body).key(key)).await.ok(201);
}

#[tokio::test]
#[ignore = "thorough"]
async fn the_mailed_link_comes_when_the_relay_lets_it_and_verifies_the_address() {
    let (address, mut seen) = relay(&["451 later"]).await;
    let app = service(address).await;
    let (org, key) = app.customer().await;
    invite(&app, &key, "ann@example.org").await;
    assert_eq!(after(Duration::from_secs(6), &mut seen).await, "451 later");
    until_measured(&app, "failed", 1).await;
    until_line(&app, "probity_queue_depth{queue=\"mail\"} 1.0").await;
    let mail = after(Duration::from_secs(70), &mut seen).await;
    assert!(
        mail.contains("To: ann@example.org\r\n") && mail.contains("From: Probity <no-reply@example.com>\r\n"),
        "{mail}"
    );
    assert!(mail.contains("You are invited to Example Ltd on Probity"), "{mail}");
    until_line(&app, "probity_queue_depth{queue=\"mail\"} 0.0").await;
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
#[ignore = "thorough"]
async fn what_the_relay_never_takes_is_given_up() {
    let (address, mut seen) = relay(&["550 no such user"]).await;
    let app = service(address).await;
    let (org, key) = app.customer().await;
    invite(&app, &key, "nobody@example.org").await;
    assert_eq!(after(Duration::from_secs(6), &mut seen).await, "550 no such user");
    // If hours passed before the failure is stored, they would cut the SMTP dialog.
    let later = app.now(&org).await + 7 * 86_400_000;
    while letters::any_due(&mut app.store.read().await.unwrap(), LetterKind::Link, later).await.unwrap() {
        real_moment().await;
    }
    until_measured(&app, "exhausted", 1).await;
    // The next message of the relay is about another mail.
    for _ in 0..4 {
        pass(Duration::from_hours(1)).await;
    }
    invite(&app, &key, "ann@example.org").await;
    let next = after(Duration::from_secs(6), &mut seen).await;
    assert!(next.contains("To: ann@example.org"), "{next}");
    until_measured(&app, "sent", 1).await;
    app.stop().await;
}

/// Waits until this number of attempts has this outcome.
pub(crate) async fn until_measured(app: &TestApp, outcome: &str, times: u32) {
    until_line(app, &format!("probity_mail_attempts_total{{outcome=\"{outcome}\"}} {times}")).await;
}

/// Waits until the metrics contain this line.
async fn until_line(app: &TestApp, line: &str) {
    for _ in 0..5_000 {
        if app.send(Call::get("/metrics").from("127.0.0.1")).await.text().lines().any(|one| one == line) {
            return;
        }
        real_moment().await;
    }
    panic!("never: {line}");
}

/// TLS support of a relay.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tls {
    /// The relay offers STARTTLS.
    Offered,
    /// The relay has no TLS.
    Never,
    /// The relay speaks only TLS.
    FromTheFirstByte,
}

/// Starts a relay with a self-signed certificate, and returns that certificate. The channel receives each command, prefixed
/// with `(tls)` if it was encrypted.
async fn secure_relay(tls: Tls) -> (SocketAddr, Authorities, mpsc::UnboundedReceiver<String>) {
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let certificate = certified.cert.der().clone();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (out, heard) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = BufReader::new(stream);
            if tls != Tls::FromTheFirstByte {
                stream.write_all(b"220 relay.example\r\n").await.unwrap();
                let extension = if tls == Tls::Offered { "STARTTLS" } else { "8BITMIME" };
                if !listen(&mut stream, "", extension, &out).await {
                    continue;
                }
            }
            match acceptor.accept(stream.into_inner()).await {
                Ok(secured) => {
                    let mut secured = BufReader::new(secured);
                    if tls == Tls::FromTheFirstByte {
                        secured.write_all(b"220 relay.example\r\n").await.unwrap();
                    }
                    listen(&mut secured, "(tls) ", "AUTH PLAIN", &out).await;
                }
                Err(_) => out.send("no handshake".into()).unwrap(),
            }
        }
    });
    (address, Authorities::from_pem(certified.cert.pem().as_bytes()).unwrap(), heard)
}

/// Speaks SMTP until the end or STARTTLS. Returns true for STARTTLS.
async fn listen<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut BufReader<S>,
    how: &str,
    extension: &str,
    out: &mpsc::UnboundedSender<String>,
) -> bool {
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return false;
        }
        let verb = line.split_whitespace().next().unwrap_or_default().to_owned();
        out.send(format!("{how}{verb}")).unwrap();
        let reply = match &*verb {
            "EHLO" => format!("250-relay.example\r\n250 {extension}"),
            "AUTH" => "235 welcome".into(),
            "DATA" => {
                stream.write_all(b"354 go on\r\n").await.unwrap();
                letter(stream).await;
                "250 taken".into()
            }
            "STARTTLS" => "220 go on".into(),
            "QUIT" => "221 bye".into(),
            _ => "250 ok".into(),
        };
        if stream.write_all(format!("{reply}\r\n").as_bytes()).await.is_err() {
            return false;
        }
        if verb == "STARTTLS" {
            return true;
        }
    }
}

async fn service_with_password(scheme: &str, relay: SocketAddr, trusted: Option<&Authorities>) -> TestApp {
    let url = format!("{scheme}://user:password@localhost:{}", relay.port()).into();
    let mail = MailConfig::new(&url, "Probity <no-reply@example.com>", "https://verify.example.com").unwrap();
    let mail = mail.trusting(&trusted.cloned().unwrap_or_default());
    TestApp::with(ServiceConfig { mail: Some(mail), ..ServiceConfig::default() }).await
}

/// Returns the commands that a relay received until an attempt had this outcome.
async fn heard_until(outcome: &str, app: &TestApp, heard: &mut mpsc::UnboundedReceiver<String>) -> Vec<String> {
    heard_up_to("", outcome, app, heard).await
}

/// Does the same, also waiting for the relay's last message, which may come after the outcome; empty for none.
async fn heard_up_to(
    last: &str,
    outcome: &str,
    app: &TestApp,
    heard: &mut mpsc::UnboundedReceiver<String>,
) -> Vec<String> {
    let (_, key) = app.customer().await;
    invite(app, &key, "ann@example.org").await;
    pass(Duration::from_secs(6)).await;
    until_measured(app, outcome, 1).await;
    let mut all = Vec::new();
    for _ in 0..5_000 {
        while let Ok(one) = heard.try_recv() {
            all.push(one);
        }
        if last.is_empty() || all.iter().any(|one| one == last) {
            break;
        }
        real_moment().await;
    }
    all
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_relay_with_a_password_hears_it_and_the_mail_only_in_tls_that_is_believed() {
    let (address, certificate, mut heard) = secure_relay(Tls::Offered).await;
    let app = service_with_password("smtp", address, Some(&certificate)).await;
    let all = heard_until("sent", &app, &mut heard).await;
    assert_eq!(all[..2], ["EHLO", "STARTTLS"], "{all:?}");
    assert!(all[2..].iter().all(|one| one.starts_with("(tls) ")), "{all:?}");
    assert!(["(tls) AUTH", "(tls) MAIL", "(tls) DATA"].iter().all(|one| all.iter().any(|said| said == one)), "{all:?}");
    app.stop().await;

    let (address, _, mut heard) = secure_relay(Tls::Offered).await;
    let app = service_with_password("smtp", address, None).await;
    assert_eq!(heard_up_to("no handshake", "failed", &app, &mut heard).await, ["EHLO", "STARTTLS", "no handshake"]);
    app.stop().await;

    let (address, _, mut heard) = secure_relay(Tls::Never).await;
    let app = service_with_password("smtp", address, None).await;
    let all = heard_until("failed", &app, &mut heard).await;
    assert!(all.iter().all(|one| one == "EHLO" || one == "QUIT"), "{all:?}");
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn a_relay_that_speaks_tls_from_the_first_byte_hears_nothing_else() {
    let (address, certificate, mut heard) = secure_relay(Tls::FromTheFirstByte).await;
    let app = service_with_password("smtps", address, Some(&certificate)).await;
    let all = heard_until("sent", &app, &mut heard).await;
    assert!(all.iter().all(|one| one.starts_with("(tls) ")), "{all:?}");
    assert!(["(tls) AUTH", "(tls) MAIL", "(tls) DATA"].iter().all(|one| all.iter().any(|said| said == one)), "{all:?}");
    app.stop().await;

    let (address, _, mut heard) = secure_relay(Tls::FromTheFirstByte).await;
    let app = service_with_password("smtps", address, None).await;
    let all = heard_up_to("no handshake", "failed", &app, &mut heard).await;
    assert_eq!(all, ["no handshake"], "a certificate that is not believed");
    app.stop().await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn the_owner_is_mailed_when_credits_become_few() {
    let (address, mut seen) = relay(&["451 later"]).await;
    let url = format!("smtp://{address}").into();
    let mail = MailConfig::new(&url, "Probity <no-reply@example.com>", "https://verify.example.com").unwrap();
    let team = Plan { monthly: 1_000, low_balance: Some(100), ..Plan::bare("team") };
    let plans = Plans::new([team.clone()], "team", 0).unwrap().into();
    let api = ApiConfig { plans, ..ApiConfig::default() };
    let app = TestApp::with(ServiceConfig { mail: Some(mail), api, ..ServiceConfig::default() }).await;
    let org = app.admin.create_org("Example Ltd", team).await.unwrap();
    let addressed = app.store.write(|tx| {
        async {
            let owner = users::primary(tx, org.no).await?;
            users::set_email(tx, org.no, owner.id, "owner@example.org").await
        }
        .scope_boxed()
    });
    addressed.await.unwrap();
    app.admin.adjust(&org, CreditBucket::Subscription, -950).await.unwrap();
    upkeep().await;
    assert_eq!(after(Duration::from_secs(6), &mut seen).await, "451 later");
    let mail = after(Duration::from_secs(70), &mut seen).await;
    for part in [
        "To: owner@example.org\r\n",
        "Subject: Credits are running low for Example Ltd\r\n",
        "https://verify.example.com",
    ] {
        assert!(mail.contains(part), "{part}: {mail}");
    }
    until_line(&app, "probity_queue_depth{queue=\"mail\"} 0.0").await;
    app.stop().await;
}

/// Returns the number of members to whom the service would still send mail.
async fn waiting(app: &TestApp, org: &OrgRecord) -> usize {
    let later = app.now(org).await + 7 * 86_400_000;
    let claim = app.store.write(|tx| letters::claim(tx, LetterKind::Link, later, 0, "the test", 1_000).scope_boxed());
    claim.await.unwrap().iter().filter(|one| one.key.org == org.no).count()
}

#[tokio::test]
#[ignore = "thorough"]
async fn who_invites_again_and_again_has_fifty_mailed() {
    let (address, _seen) = relay(&["451 later"; 200]).await;
    let app = service(address).await;
    let (org, key) = app.customer().await;
    for n in 1..=50 {
        invite(&app, &key, &format!("a{n}@example.org")).await;
    }
    assert_eq!(waiting(&app, &org).await, 50);
    // Removing members frees nothing.
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
