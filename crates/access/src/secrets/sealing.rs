//! Master key, under which stored bodies with addresses are encrypted.
//!
//! The key is optional, has 32 bytes, and is stored outside the database and its backups. A copy of the database alone reveals
//! no address of a list. The master key encrypts only the organizations' data keys ([`probity_store::privacy::sealing`]), so a
//! new one costs one small write per organization, and no body is rewritten.
//!
//! Both levels use ChaCha20-Poly1305 with random nonces (96 bits, RFC 8439). A data key encrypts a few thousand bodies for a
//! list of 1 million rows. Random nonces are safe for up to 2^32 messages under one key.

use std::fmt;
use std::sync::Arc;

use probity_store::OrgNo;
use probity_store::privacy::sealing::{DataKey, Sealing};
use ring::aead::LessSafeKey;
use ring::hkdf;

use crate::secrets::{cipher, derived, hex, open, seal, seal_into};

/// Length of a master key, in bytes.
pub const MASTER_KEY_BYTES: usize = 32;

/// Master key. Dropping it does not drop the keys that were unwrapped with it.
pub struct MasterKey {
    wrapping: LessSafeKey,
    fingerprint: String,
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(..)")
    }
}

impl MasterKey {
    /// Derives the master key from its bytes.
    pub fn of(bytes: &[u8; MASTER_KEY_BYTES]) -> Self {
        let root = hkdf::Salt::new(hkdf::HKDF_SHA256, b"probity master key").extract(bytes);
        Self {
            wrapping: cipher(&derived(&root, &[b"data keys"])),
            fingerprint: hex(&derived(&root, &[b"fingerprint"])[..8]),
        }
    }

    /// Rewraps a data key that another master key has wrapped; `None` if it cannot be unwrapped.
    pub fn take_over(&self, from: &Self, org: OrgNo, wrapped: &[u8]) -> Option<Vec<u8>> {
        let key = open(&from.wrapping, &org.0.to_be_bytes(), wrapped).ok()?;
        Some(seal(&self.wrapping, &org.0.to_be_bytes(), &key))
    }
}

impl Sealing for MasterKey {
    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn new_key(&self, org: OrgNo) -> Vec<u8> {
        seal(&self.wrapping, &org.0.to_be_bytes(), &crate::secrets::random::bytes::<32>())
    }

    fn data_key(&self, org: OrgNo, wrapped: &[u8]) -> Option<Arc<dyn DataKey>> {
        let key: [u8; 32] = open(&self.wrapping, &org.0.to_be_bytes(), wrapped).ok()?.try_into().ok()?;
        Some(Arc::new(OrgKey(cipher(&key))))
    }
}

struct OrgKey(LessSafeKey);

impl fmt::Debug for OrgKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OrgKey(..)")
    }
}

impl DataKey for OrgKey {
    fn seal(&self, context: &[u8], plain: &[u8], into: &mut Vec<u8>) {
        seal_into(&self.0, context, plain, into);
    }

    fn open(&self, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        open(&self.0, context, sealed).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(key: &dyn DataKey, context: &[u8], plain: &[u8]) -> Vec<u8> {
        let mut into = b"before".to_vec();
        key.seal(context, plain, &mut into);
        assert_eq!(&into[..6], b"before");
        into.split_off(6)
    }

    #[test]
    fn a_body_opens_in_its_place_only() {
        let master = MasterKey::of(&[1; 32]);
        let (mine, theirs) = (master.new_key(OrgNo(1)), master.new_key(OrgNo(2)));
        let key = master.data_key(OrgNo(1), &mine).unwrap();
        let body = sealed(&*key, b"a row", b"ann@example.org");
        assert!(!body.windows(3).any(|part| part == b"ann"));
        assert_eq!(key.open(b"a row", &body).unwrap(), b"ann@example.org");
        assert_eq!(key.open(b"another row", &body), None);
        assert_eq!(master.data_key(OrgNo(2), &theirs).unwrap().open(b"a row", &body), None);
        assert_ne!(body, sealed(&*key, b"a row", b"ann@example.org"), "each has a nonce of its own");
        for place in 0..body.len() {
            let mut damaged = body.clone();
            damaged[place] ^= 1;
            assert_eq!(key.open(b"a row", &damaged), None, "{place}");
        }
    }

    #[test]
    fn a_data_key_opens_for_its_organization_and_master_key_only() {
        let (master, other) = (MasterKey::of(&[1; 32]), MasterKey::of(&[2; 32]));
        let wrapped = master.new_key(OrgNo(1));
        assert!(master.data_key(OrgNo(2), &wrapped).is_none());
        assert!(other.data_key(OrgNo(1), &wrapped).is_none());
        assert!(other.take_over(&master, OrgNo(2), &wrapped).is_none());
        let body = sealed(&*master.data_key(OrgNo(1), &wrapped).unwrap(), b"", b"text");
        let rewrapped = other.take_over(&master, OrgNo(1), &wrapped).unwrap();
        assert_eq!(other.data_key(OrgNo(1), &rewrapped).unwrap().open(b"", &body).unwrap(), b"text");
        assert!(master.data_key(OrgNo(1), &rewrapped).is_none());
        assert_ne!(master.fingerprint(), other.fingerprint());
        assert_eq!(master.fingerprint().len(), 16);
    }
}
