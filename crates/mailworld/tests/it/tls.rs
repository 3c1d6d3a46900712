//! STARTTLS, and what servers make of it.

use std::sync::Arc;

use probity_engine::net::Stream;
use probity_mailworld::{MemoryNet, Personality};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use tokio_rustls::TlsConnector;

use crate::dialogue::Client;
use crate::personalities::world;

/// Takes any certificate: mail servers' certificates prove nothing to a verifier.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let supported = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, supported)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let supported = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, supported)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

async fn handshake(stream: Box<dyn Stream>) -> std::io::Result<Client> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        .with_no_client_auth();
    let name = ServerName::try_from("mx.a.test").unwrap();
    let secured = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    Ok(Client::new(Box::new(secured)))
}

fn net(preset: &str) -> Arc<MemoryNet> {
    world(Personality::preset(preset).unwrap()).net(1)
}

/// Greets and asks for TLS.
async fn begin(net: &MemoryNet) -> Client {
    let mut client = Client::open(net, "mx.a.test").await;
    client.reply().await;
    assert!(client.say("EHLO probe.test").await.contains("STARTTLS"));
    client
}

#[tokio::test(start_paused = true)]
async fn a_server_that_requires_tls_answers_after_the_handshake() {
    let net = net("tls_only");
    let mut client = begin(&net).await;
    assert!(client.say("MAIL FROM:<me@probe.test>").await.starts_with("530 5.7.0"));
    assert!(client.say("STARTTLS").await.starts_with("220"));
    let mut client = handshake(client.into_stream()).await.unwrap();
    assert!(client.say("MAIL FROM:<me@probe.test>").await.starts_with("503"), "the EHLO before TLS is forgotten");
    let hello = client.say("EHLO probe.test").await;
    assert!(!hello.contains("STARTTLS"), "{hello}");
    client.say("MAIL FROM:<me@probe.test>").await;
    assert!(client.rcpt("anna@a.test").await.starts_with("250"));
    assert!(client.rcpt("nobody@a.test").await.starts_with("550"));
    assert!(client.say("QUIT").await.starts_with("221"));
    assert_eq!(client.reply().await, "<closed>", "with close_notify, or it would be an error");
    assert_eq!(net.host("mx.a.test").tls, 1);
}

#[tokio::test(start_paused = true)]
async fn tls_that_is_not_there_is_refused() {
    let mut client = Client::open(&net("no_tls"), "mx.a.test").await;
    client.reply().await;
    assert!(!client.say("EHLO probe.test").await.contains("STARTTLS"));
    assert!(client.say("STARTTLS").await.starts_with("502"));

    let mut client = begin(&net("tls_refused")).await;
    assert!(client.say("STARTTLS").await.starts_with("454"));
    assert!(client.say("MAIL FROM:<>").await.starts_with("250"), "the session goes on in the clear");
}

#[tokio::test(start_paused = true)]
async fn broken_handshakes_fail() {
    for preset in ["tls_closes", "tls_garbage", "tls_stalls"] {
        let mut client = begin(&net(preset)).await;
        assert!(client.say("STARTTLS").await.starts_with("220"), "{preset}");
        assert!(handshake(client.into_stream()).await.is_err(), "{preset}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_injected_reply_comes_with_the_220() {
    let mut client = begin(&net("starttls_injection")).await;
    assert!(client.say("STARTTLS").await.starts_with("220"));
    assert_eq!(client.rest(), b"250-injected\r\n250 SMTPUTF8\r\n");
}
