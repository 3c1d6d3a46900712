//! Certificate authorities of the operator.

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// Certificate authorities that are trusted besides the public ones. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Authorities(Arc<[CertificateDer<'static>]>);

impl Authorities {
    /// Reads the certificates of a PEM file, without those that cannot be authorities: the bundles of systems have some. `None` if
    /// none is left.
    pub fn from_pem(text: &[u8]) -> Option<Self> {
        let can_be = |certificate: &CertificateDer<'static>| RootCertStore::empty().add(certificate.clone()).is_ok();
        let all: Arc<[_]> = CertificateDer::pem_slice_iter(text).flatten().filter(can_be).collect();
        (!all.is_empty()).then_some(Self(all))
    }

    /// Returns the certificates.
    pub fn iter(&self) -> impl Iterator<Item = &CertificateDer<'static>> {
        self.0.iter()
    }

    /// Returns what is trusted: the public authorities and these.
    pub(crate) fn with_public(&self) -> RootCertStore {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        roots.add_parsable_certificates(self.iter().cloned());
        roots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_what_a_bundle_has_of_them() {
        let pem = |host: &str| rcgen::generate_simple_self_signed(vec![host.into()]).unwrap().cert.pem();
        let broken = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
        let bundle = format!("# ours\n{}{broken}{}", pem("a.example"), pem("b.example"));
        let authorities = Authorities::from_pem(bundle.as_bytes()).unwrap();
        assert_eq!(authorities.iter().count(), 2);
        assert_eq!(authorities.with_public().len(), webpki_roots::TLS_SERVER_ROOTS.len() + 2);
        for none in ["", "nothing", broken] {
            assert!(Authorities::from_pem(none.as_bytes()).is_none(), "{none:?}");
        }
    }
}
