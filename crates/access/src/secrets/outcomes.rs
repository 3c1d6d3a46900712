//! Secrets of outcomes: tags of domains, and what sources have.

use probity_account::id::OutcomeSourceId;

use super::{Secrets, Unopened, open, seal, short_tag, tag};

impl Secrets {
    /// Returns the tag of a domain in A-labels. Unlike an address, a domain has the same tag in every organization, so that domains
    /// can be compared with those about which facts are kept.
    pub fn domain_tag(&self, domain: &str) -> [u8; 16] {
        short_tag(&self.address_tags, &[b"domain", domain.as_bytes()])
    }

    /// Returns the hash under which the secret in the URL of a source is stored.
    pub fn outcome_source(&self, secret: &str) -> [u8; 32] {
        tag(&self.links, &[b"outcome source", secret.as_bytes()])
    }

    /// Encrypts the key with which a sending service signs. It can be decrypted for that source only.
    pub fn seal_outcome_key(&self, id: OutcomeSourceId, key: &[u8]) -> Vec<u8> {
        seal(&self.webhooks, format!("outcome source {id}").as_bytes(), key)
    }

    /// Decrypts the key of a source.
    pub fn open_outcome_key(&self, id: OutcomeSourceId, sealed: &[u8]) -> Result<String, Unopened> {
        let plain = open(&self.webhooks, format!("outcome source {id}").as_bytes(), sealed)?;
        String::from_utf8(plain).map_err(|_| Unopened)
    }
}

#[cfg(test)]
mod tests {
    use probity_store::OrgNo;

    use super::*;

    #[test]
    fn a_domain_has_a_tag_of_its_own_under_each_pepper() {
        let (secrets, others) = (Secrets::of(&[1; 32]), Secrets::of(&[2; 32]));
        assert_eq!(secrets.domain_tag("example.org"), secrets.domain_tag("example.org"));
        assert_ne!(secrets.domain_tag("example.org"), secrets.domain_tag("example.com"));
        assert_ne!(secrets.domain_tag("example.org"), others.domain_tag("example.org"));
        assert_ne!(secrets.domain_tag("example.org"), secrets.address_tag(OrgNo(1), "example.org"));
    }

    #[test]
    fn a_sources_key_opens_for_that_source_only() {
        let secrets = Secrets::of(&[1; 32]);
        let sealed = secrets.seal_outcome_key(OutcomeSourceId::from_bits(1), b"key");
        assert_eq!(secrets.open_outcome_key(OutcomeSourceId::from_bits(1), &sealed), Ok("key".into()));
        assert_eq!(secrets.open_outcome_key(OutcomeSourceId::from_bits(2), &sealed), Err(Unopened));
        assert_ne!(secrets.outcome_source("a"), secrets.outcome_source("b"));
    }
}
