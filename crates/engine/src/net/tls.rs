//! Opportunistic TLS for SMTP (RFC 3207, RFC 7435): any certificate will do.
//!
//! Nothing secret crosses these connections; TLS is used because some MX hosts accept strangers' commands only with it. So any
//! certificate is accepted, even expired or self-signed, but the handshake itself is fully checked: a peer must hold the key of its
//! certificate. A failed handshake is an observation; the caller may continue without TLS on a new connection.
//!
//! Bounds: the caller limits the time of the handshake. rustls rejects certificate chains and handshake messages over 64 KiB, and
//! holds at most one record (16 KiB) of received data. Resumption remembers 256 hosts.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConfig, Resumption};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{DigitallySignedStruct, SignatureScheme};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::clock::EngineClock;
use crate::net::Stream;

/// Maximum hosts that resumption remembers. Repeated probes mostly use warm connections, so few sessions are resumed.
const RESUMED_HOSTS_MAX: usize = 256;

/// Largest record that we send. Commands are short; this bounds what a stalled peer can make us hold.
const FRAGMENT_MAX: usize = 4_096;

/// Reason why there is no TLS. An observation, not an error of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TlsFailure {
    /// The handshake did not end in time.
    TimedOut,
    /// The connection ended during the handshake.
    Closed,
    /// The two sides could not agree, or the peer broke the protocol.
    Protocol,
    /// The host's name cannot be sent as a server name (RFC 6066 section 3), so no handshake was started.
    Name,
}

/// A TLS client. Copies share their session cache.
#[derive(Clone)]
pub struct TlsClient {
    connector: TlsConnector,
}

impl TlsClient {
    pub fn new(clock: EngineClock) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_details(provider.clone(), Arc::new(Time(clock)))
            .with_safe_default_protocol_versions()
            .expect("ring offers suites for TLS 1.2 and 1.3")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth();
        // rustls counts tickets, eight per host.
        config.resumption = Resumption::in_memory_sessions(RESUMED_HOSTS_MAX * 8);
        config.max_fragment_size = Some(FRAGMENT_MAX);
        Self { connector: TlsConnector::from(Arc::new(config)) }
    }

    /// Performs the handshake as the client. `server_name` is the MX host's name from the MX record.
    ///
    /// The caller must have read and discarded everything that the peer sent before the handshake (RFC 3207 section 6).
    pub async fn handshake(
        &self,
        stream: Box<dyn Stream>,
        server_name: &str,
        timeout_ms: u64,
    ) -> Result<Box<dyn Stream>, TlsFailure> {
        let name = ServerName::try_from(server_name.to_owned()).map_err(|_| TlsFailure::Name)?;
        let handshake = Box::pin(self.connector.connect(name, stream));
        let tls = timeout(Duration::from_millis(timeout_ms), handshake)
            .await
            .map_err(|_| TlsFailure::TimedOut)?
            .map_err(|error| failure(&error))?;
        Ok(Box::new(tls))
    }
}

fn failure(error: &io::Error) -> TlsFailure {
    let by_rustls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    if by_rustls.is_some() { TlsFailure::Protocol } else { TlsFailure::Closed }
}

/// Our clock for rustls, for the age of tickets.
#[derive(Debug)]
struct Time(EngineClock);

impl TimeProvider for Time {
    fn current_time(&self) -> Option<UnixTime> {
        let ms = u64::try_from(self.0.now().0).unwrap_or_default();
        Some(UnixTime::since_unix_epoch(Duration::from_millis(ms)))
    }
}

/// Accepts any certificate, and checks that the peer holds its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        // RFC 7435 section 3: opportunistic, the peer is not authenticated.
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
