//! Tests of one attempt: the request, and protection against hostile receivers.

use std::time::Duration;

use probity_backend::outbound::{Authorities, HttpTarget};
use probity_backend::webhooks::SendLimits;
use probity_backend::webhooks::send::{ReceiverResponse, Sender};
use probity_contract::published::webhooks::DeliveryFailure;
use probity_engine::clock::EngineClock;

use super::receivers::{HASTY, Manner, Receiver, hasty, message, open, sender};

async fn post(receiver: &Receiver) -> Result<ReceiverResponse, DeliveryFailure> {
    sender(open()).post(&receiver.target(), message()).await
}

#[tokio::test]
#[ignore = "thorough"]
async fn the_request_has_these_fields_and_no_others() {
    let mut receiver = Receiver::start(Manner::status(204)).await;
    assert_eq!(post(&receiver).await, Ok(ReceiverResponse { status: 204, body: Vec::new(), retry_after_ms: None }));
    let request = receiver.request().await;
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, "{\"id\":\"job_1\"}");
    let mut lines: Vec<&str> = head.split("\r\n").collect();
    assert_eq!(lines.remove(0), "POST /hook?x=1 HTTP/1.1");
    lines.sort_unstable();
    let expected = [
        "connection: close".to_owned(),
        "content-length: 14".into(),
        "content-type: application/json".into(),
        format!("host: {}", receiver.address),
        format!("user-agent: Probity-Webhooks/{}", env!("CARGO_PKG_VERSION")),
        format!("webhook-id: {}", message().id),
        "webhook-signature: v1,abc=".into(),
        "webhook-timestamp: 1700000000".into(),
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
#[ignore = "thorough"]
async fn redirects_are_answers_and_are_not_followed() {
    let goal = Receiver::start(Manner::status(200)).await;
    for location in [goal.url(), "http://169.254.169.254/latest/meta-data/".into()] {
        let head = format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
        let receiver = Receiver::start(Manner::Say(head)).await;
        let body = format!("Location: {location}\n\n").into_bytes();
        assert_eq!(post(&receiver).await, Ok(ReceiverResponse { status: 302, body, retry_after_ms: None }));
    }
    assert_eq!(goal.hits(), 0);
}

#[tokio::test]
#[ignore = "thorough"]
async fn receivers_ask_for_pauses_in_seconds_or_with_a_date() {
    for (asked, expected) in
        [("120", Some(120_000)), ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)), ("-1", None), ("soon", None)]
    {
        let head = format!("HTTP/1.1 503 Busy\r\nretry-after: {asked}\r\ncontent-length: 0\r\n\r\n");
        let receiver = Receiver::start(Manner::Say(head)).await;
        assert_eq!(post(&receiver).await.unwrap().retry_after_ms, expected, "{asked}");
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn answers_without_end_are_cut() {
    let endless = "HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n";
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffff0\r\n";
    let squeezed = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\n\x1f\x0b\x08\x00";
    for (manner, least, most) in [
        (Manner::Flood(endless.into()), HASTY.body_max, HASTY.body_max),
        (Manner::Flood(chunked.into()), HASTY.body_max, HASTY.body_max),
        (Manner::Drip(endless.into()), 1, 1_000),
        (Manner::Keep("HTTP/1.1 200 OK\r\n\r\nsome".into()), 4, 4),
        (Manner::Say("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome".into()), 0, 4),
        (Manner::Say(squeezed.into()), 4, 4),
    ] {
        let receiver = Receiver::start(manner).await;
        let answered = within(post(&receiver)).await.unwrap();
        assert_eq!(answered.status, 200);
        assert!((least..=most).contains(&answered.body.len()), "{}", answered.body.len());
    }
}

#[tokio::test]
#[ignore = "thorough"]
async fn heads_without_end_are_failures() {
    let line = |bytes: usize| format!("HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 0\r\n\r\n", "y".repeat(bytes));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(101));
    for (manner, expected) in [
        (Manner::Say(line(10_000)), Ok(200)),
        (Manner::Say(line(20_000)), Err(DeliveryFailure::Broken)),
        (Manner::Say(many), Err(DeliveryFailure::Broken)),
        (Manner::Flood("HTTP/1.1 200 OK\r\nx: ".into()), Err(DeliveryFailure::Broken)),
        (Manner::Drip("HTTP/1.1 200 OK\r\nx: ".into()), Err(DeliveryFailure::Unanswered)),
        (Manner::Flood(String::new()), Err(DeliveryFailure::Broken)),
        (Manner::Say("220 mail.example.com ESMTP\r\n".into()), Err(DeliveryFailure::Broken)),
        (Manner::Say(String::new()), Err(DeliveryFailure::Broken)),
        (Manner::Hang, Err(DeliveryFailure::Unanswered)),
    ] {
        let receiver = Receiver::start(manner).await;
        let sender = if expected == Err(DeliveryFailure::Unanswered) { hasty(open()) } else { sender(open()) };
        let answered = within(sender.post(&receiver.target(), message())).await;
        assert_eq!(answered.map(|answered| answered.status), expected);
    }
}

/// Fails if something takes much longer than the limits of a sender.
async fn within<T>(attempt: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), attempt).await.expect("an attempt ends within its limits")
}

#[tokio::test]
#[ignore = "thorough"]
async fn closed_ports_and_strange_protocols_are_failures() {
    let closed = Receiver::start(Manner::Hang).await.address;
    // Bound and released: nothing listens on this port now.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let target = |url: String| HttpTarget::parse(&url).unwrap();
    let refused = sender(open()).post(&target(format!("http://{free}/")), message()).await;
    assert_eq!(refused, Err(DeliveryFailure::Refused));
    let silent = hasty(open()).post(&target(format!("https://{closed}/")), message()).await;
    assert_eq!(silent, Err(DeliveryFailure::Timeout), "a handshake that does not come on");
    let plain = Receiver::start(Manner::Say("HTTP/1.1 200 OK\r\n\r\n".into())).await;
    let url = format!("https://{}/", plain.address);
    assert_eq!(within(sender(open()).post(&target(url), message())).await, Err(DeliveryFailure::Tls));
}

#[tokio::test]
#[ignore = "thorough"]
async fn certificates_must_be_of_the_host_and_of_a_known_authority() {
    let certified = rcgen::generate_simple_self_signed(vec!["hooks.example.com".into()]).unwrap();
    let certificate = certified.cert.der().clone();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
    let config =
        rustls::ServerConfig::builder_with_provider(std::sync::Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let _ = stream.read(&mut [0; 4_096]).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
            let _ = stream.shutdown().await;
        }
    });
    let names = super::receivers::Scripted::new(&[&["127.0.0.1"]]);
    let guard = super::receivers::guard_allowing(&["127.0.0.0/8"], names);
    let authorities = Authorities::from_pem(certified.cert.pem().as_bytes()).unwrap();
    let limits = SendLimits::default();
    let believing = Sender::trusting(&authorities, guard.clone(), limits, EngineClock::system());
    let status = async |sender: &Sender, host: &str| {
        let target = HttpTarget::parse(&format!("https://{host}:{port}/")).unwrap();
        sender.post(&target, message()).await.map(|answered| answered.status)
    };
    assert_eq!(status(&believing, "hooks.example.com").await, Ok(200));
    assert_eq!(status(&believing, "hooks.example.com.").await, Ok(200));
    assert_eq!(status(&believing, "other.example.com").await, Err(DeliveryFailure::Tls));
    assert_eq!(
        status(&Sender::new(guard, limits, EngineClock::system()), "hooks.example.com").await,
        Err(DeliveryFailure::Tls)
    );
}

/// Proxies from the environment get no request. Runs in a child process whose environment names one.
#[test]
#[ignore = "thorough"]
fn proxies_of_the_environment_are_ignored() {
    const CHILD: &str = "PROBITY_TEST_IS_CHILD";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        if std::env::var_os(CHILD).is_some() {
            let receiver = Receiver::start(Manner::status(200)).await;
            assert_eq!(post(&receiver).await.map(|answered| answered.status), Ok(200));
            assert_eq!(receiver.hits(), 1);
            return;
        }
        let canary = Receiver::start(Manner::status(200)).await;
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child
            .args(["--exact", "--ignored", "webhooks::sending::proxies_of_the_environment_are_ignored"])
            .env(CHILD, "1");
        for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
            child.env(name, format!("http://{}", canary.address));
        }
        let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        assert_eq!(canary.hits(), 0);
    });
}

#[tokio::test]
#[ignore = "thorough"]
async fn flooding_receivers_do_not_make_us_large() {
    let receiver =
        Receiver::start(Manner::Flood("HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n".into())).await;
    let (sender, target) = (sender(open()), receiver.target());
    let answers = futures_util::future::join_all((0..64).map(|_| sender.post(&target, message()))).await;
    let read: usize = answers.into_iter().map(|answer| answer.unwrap().body.len()).sum();
    assert_eq!(read, 64 * HASTY.body_max);
}
