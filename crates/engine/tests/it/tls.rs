//! The TLS client against servers of every honesty.

use std::sync::Arc;

use probity_engine::clock::EngineClock;
use probity_engine::net::tls::{TlsClient, TlsFailure};
use probity_mail::time::Millis;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{CipherSuite, ProtocolVersion, ServerConfig, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio_rustls::TlsAcceptor;

const HOST: &str = "mx.example.com";
/// 2026-01-01, within the certificates' lives.
const NOW: Millis = Millis(1_767_225_600_000);

struct Identity {
    certificate: CertificateDer<'static>,
    key: KeyPair,
}

fn identity(expired: bool) -> Identity {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![HOST.to_owned()]).unwrap();
    params.not_after = date_time_ymd(if expired { 2001 } else { 2100 }, 1, 1);
    Identity { certificate: params.self_signed(&key).unwrap().der().clone(), key }
}

fn private(key: &KeyPair) -> PrivateKeyDer<'static> {
    PrivateKeyDer::try_from(key.serialize_der()).unwrap()
}

/// Shows a chain with a key, whether they belong together or not.
#[derive(Debug)]
struct Shown(Arc<CertifiedKey>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

fn server(
    chain: Vec<CertificateDer<'static>>,
    key: &KeyPair,
    versions: &[&'static SupportedProtocolVersion],
) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = provider.key_provider.load_private_key(private(key)).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Shown(Arc::new(CertifiedKey::new(chain, key)))));
    TlsAcceptor::from(Arc::new(config))
}

/// What the server has agreed on.
type Agreed = Option<(ProtocolVersion, CipherSuite)>;

/// Shakes hands and, where that succeeds, exchanges a line.
async fn meet(client: &TlsClient, server: &TlsAcceptor, host: &str) -> Result<Agreed, TlsFailure> {
    let (ours, theirs) = duplex(16_384);
    let server = server.clone();
    let serving = tokio::spawn(async move {
        let mut buffer = [0; 6];
        let mut stream = server.accept(theirs).await.ok()?;
        stream.read_exact(&mut buffer).await.unwrap();
        stream.write_all(&buffer).await.unwrap();
        stream.shutdown().await.unwrap();
        let (_, session) = stream.get_ref();
        Some((session.protocol_version()?, session.negotiated_cipher_suite()?.suite()))
    });
    let mut stream = client.handshake(Box::new(ours), host, 10_000).await?;
    stream.write_all(b"EHLO\r\n").await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    assert_eq!(bytes, b"EHLO\r\n");
    Ok(serving.await.unwrap())
}

fn client() -> TlsClient {
    TlsClient::new(EngineClock::starting_at(NOW))
}

#[tokio::test]
async fn any_certificate_will_do() {
    let good = identity(false);
    let expired = identity(true);
    let client = client();
    for (shown, host) in
        [(&good, HOST), (&good, "other.example.com"), (&expired, HOST), (&expired, "under_score.example.com")]
    {
        let server = server(vec![shown.certificate.clone()], &shown.key, rustls::ALL_VERSIONS);
        // Twice, because the second is resumed.
        for _ in 0..2 {
            let agreed = meet(&client, &server, host).await.unwrap();
            let expected = (ProtocolVersion::TLSv1_3, CipherSuite::TLS13_AES_256_GCM_SHA384);
            assert_eq!(agreed, Some(expected), "{host}");
        }
    }
}

#[tokio::test]
async fn version_1_2_is_spoken() {
    let shown = identity(false);
    let server = server(vec![shown.certificate.clone()], &shown.key, &[&rustls::version::TLS12]);
    let agreed = meet(&client(), &server, HOST).await.unwrap();
    assert_eq!(agreed.map(|(version, _)| version), Some(ProtocolVersion::TLSv1_2));
}

#[tokio::test]
async fn the_peer_must_hold_the_key() {
    let (shown, other) = (identity(false), identity(false));
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let server = server(vec![shown.certificate.clone()], &other.key, &[version]);
        assert_eq!(meet(&client(), &server, HOST).await, Err(TlsFailure::Protocol));
    }
}

#[tokio::test]
async fn a_huge_chain_is_refused() {
    let shown = identity(false);
    let copies = 200_000 / shown.certificate.len();
    let server = server(vec![shown.certificate.clone(); copies], &shown.key, rustls::ALL_VERSIONS);
    assert_eq!(meet(&client(), &server, HOST).await, Err(TlsFailure::Protocol));
}

async fn against(talk: impl AsyncFnOnce(DuplexStream)) -> Option<TlsFailure> {
    let (ours, theirs) = duplex(16_384);
    let client = client();
    let handshake = client.handshake(Box::new(ours), HOST, 10_000);
    let (result, ()) = tokio::join!(handshake, talk(theirs));
    result.err()
}

#[tokio::test(start_paused = true)]
async fn failed_handshakes_are_told_apart() {
    let closing = against(async |theirs| drop(theirs)).await;
    assert_eq!(closing, Some(TlsFailure::Closed));
    let plain = against(async |mut theirs| theirs.write_all(b"220 ready\r\n").await.unwrap()).await;
    assert_eq!(plain, Some(TlsFailure::Protocol));
    let (ours, _stalled) = duplex(16_384);
    let client = client();
    let stalling = client.handshake(Box::new(ours), HOST, 10_000).await.err();
    assert_eq!(stalling, Some(TlsFailure::TimedOut));
    let (ours, _unused) = duplex(16_384);
    let nameless = client.handshake(Box::new(ours), "not a name", 10_000).await.err();
    assert_eq!(nameless, Some(TlsFailure::Name));
}
