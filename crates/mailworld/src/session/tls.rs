//! The world's certificate: self-signed, created once per process. Mail servers' certificates prove nothing anyway.

use std::sync::{Arc, OnceLock};

use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

/// Server's side of TLS.
pub(crate) fn acceptor() -> TlsAcceptor {
    static CONFIG: OnceLock<Arc<ServerConfig>> = OnceLock::new();
    let config = CONFIG.get_or_init(|| {
        let signed = rcgen::generate_simple_self_signed(vec!["mx.test".to_owned()])
            .expect("a certificate for a constant name can be made");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has the default versions")
            .with_no_client_auth()
            .with_single_cert(vec![signed.cert.der().clone()], key)
            .expect("the key belongs to the certificate");
        Arc::new(config)
    });
    TlsAcceptor::from(Arc::clone(config))
}
