//! Credentials and tags of connections to email platforms, and tags of their contacts.

use probity_account::connections::{KeywordRule, RuleKind};
use probity_account::id::ConnId;
use probity_store::OrgNo;

use super::{Secrets, Unopened, open, seal, short_tag};

impl Secrets {
    /// Encrypts the credentials of a connection. They can be decrypted for that connection only.
    pub fn seal_connection_credentials(&self, id: ConnId, credentials: &[u8]) -> Vec<u8> {
        seal(&self.connections, &id.bits().to_be_bytes(), credentials)
    }

    /// Decrypts the credentials of a connection.
    pub fn open_connection_credentials(&self, id: ConnId, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        open(&self.connections, &id.bits().to_be_bytes(), sealed)
    }

    /// Encrypts the secrets of a connection's webhook. They can be decrypted for that connection only.
    pub fn seal_hook_keys(&self, id: ConnId, keys: &[u8]) -> Vec<u8> {
        seal(&self.connections, &hook_context(id), keys)
    }

    /// Decrypts the secrets of a connection's webhook.
    pub fn open_hook_keys(&self, id: ConnId, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        open(&self.connections, &hook_context(id), sealed)
    }

    /// Encrypts the tokens of an account. They can be decrypted for that account only.
    pub fn seal_account_tokens(&self, tag: &[u8; 16], tokens: &[u8]) -> Vec<u8> {
        seal(&self.connections, &token_context(tag), tokens)
    }

    /// Decrypts the tokens of an account.
    pub fn open_account_tokens(&self, tag: &[u8; 16], sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        open(&self.connections, &token_context(tag), sealed)
    }

    /// Returns the tag of an account at a platform, or of credentials for it. Organizations share it: the platform counts the
    /// calls of all of them.
    pub fn platform_account(&self, parts: &[&str]) -> [u8; 16] {
        let parts: Vec<&[u8]> =
            [b"account".as_slice()].into_iter().chain(parts.iter().map(|part| part.as_bytes())).collect();
        short_tag(&self.connection_tags, &parts)
    }

    /// Returns the tag of what a rule matches. Each connection has another tag for the same rule.
    pub fn keyword_rule(&self, connection: ConnId, kind: RuleKind, rule: &KeywordRule) -> [u8; 16] {
        let (keyword, how, parts) = rule.identity();
        let shape = [how as u8, parts.localpart.into(), parts.domain.into(), parts.email.into()];
        let parts: [&[u8]; 5] =
            [b"rule", &connection.bits().to_be_bytes(), kind.as_str().as_bytes(), &shape, keyword.as_bytes()];
        short_tag(&self.connection_tags, &parts)
    }

    /// Returns the tag of a contact, by its ID at the platform. The ID may be an address. Each connection has another tag for the
    /// same ID.
    pub fn contact_mark(&self, org: OrgNo, connection: ConnId, id: &str) -> [u8; 16] {
        let parts: [&[u8]; 4] = [b"contact", &org.0.to_be_bytes(), &connection.bits().to_be_bytes(), id.as_bytes()];
        short_tag(&self.connection_tags, &parts)
    }

    /// Returns the tag of what an action does to a contact, and of the address to which it does so.
    pub fn contact_effect(&self, connection: ConnId, address: &[u8; 16], does: &[&str]) -> [u8; 16] {
        let connection = connection.bits().to_be_bytes();
        let common: [&[u8]; 3] = [b"effect", &connection, address];
        let parts: Vec<&[u8]> = common.into_iter().chain(does.iter().map(|part| part.as_bytes())).collect();
        short_tag(&self.connection_tags, &parts)
    }
}

fn token_context(tag: &[u8; 16]) -> Vec<u8> {
    [b"token ".as_slice(), tag].concat()
}

fn hook_context(id: ConnId) -> Vec<u8> {
    format!("hook {id}").into_bytes()
}

#[cfg(test)]
mod tests {
    use probity_account::connections::{KeywordMatch, KeywordParts};

    use super::*;

    #[test]
    fn credentials_open_for_their_connection_only() {
        let secrets = Secrets::of(&[1; 32]);
        let sealed = secrets.seal_connection_credentials(ConnId::from_bits(1), b"credentials");
        assert_eq!(secrets.open_connection_credentials(ConnId::from_bits(1), &sealed), Ok(b"credentials".to_vec()));
        assert_eq!(secrets.open_connection_credentials(ConnId::from_bits(2), &sealed), Err(Unopened));
        let keys = secrets.seal_hook_keys(ConnId::from_bits(1), b"keys");
        assert_eq!(secrets.open_hook_keys(ConnId::from_bits(1), &keys), Ok(b"keys".to_vec()));
        assert_eq!(secrets.open_hook_keys(ConnId::from_bits(2), &keys), Err(Unopened));
        assert_eq!(secrets.open_connection_credentials(ConnId::from_bits(1), &keys), Err(Unopened));
        let others = Secrets::of(&[2; 32]);
        assert_eq!(others.open_connection_credentials(ConnId::from_bits(1), &sealed), Err(Unopened));
    }

    #[test]
    fn tags_tell_accounts_and_rules_apart() {
        let secrets = Secrets::of(&[1; 32]);
        assert_eq!(secrets.platform_account(&["ghost", "a"]), secrets.platform_account(&["ghost", "a"]));
        assert_ne!(secrets.platform_account(&["ghost", "a"]), secrets.platform_account(&["ghosta", ""]));
        let rule = |keyword, how, parts| KeywordRule::new(keyword, how, parts).unwrap();
        let (one, id) = (rule("ann", KeywordMatch::Exact, KeywordParts::ALL), ConnId::from_bits(1));
        let tag = secrets.keyword_rule(id, RuleKind::Blacklist, &one);
        let same = rule("ANN", KeywordMatch::Exact, KeywordParts::ALL);
        assert_eq!(tag, secrets.keyword_rule(id, RuleKind::Blacklist, &same));
        let parts = KeywordParts { email: false, ..KeywordParts::ALL };
        for other in [rule("ann", KeywordMatch::Contains, KeywordParts::ALL), rule("ann", KeywordMatch::Exact, parts)] {
            assert_ne!(tag, secrets.keyword_rule(id, RuleKind::Blacklist, &other));
        }
        assert_ne!(tag, secrets.keyword_rule(id, RuleKind::Whitelist, &one));
        assert_ne!(tag, secrets.keyword_rule(ConnId::from_bits(2), RuleKind::Blacklist, &one));
    }

    #[test]
    fn a_contact_has_another_tag_in_each_connection() {
        let secrets = Secrets::of(&[1; 32]);
        let mark = |org, connection, id| secrets.contact_mark(OrgNo(org), ConnId::from_bits(connection), id);
        assert_eq!(mark(1, 2, "a"), mark(1, 2, "a"));
        for (org, connection, id) in [(2, 2, "a"), (1, 3, "a"), (1, 2, "b"), (1, 2, "")] {
            assert_ne!(mark(1, 2, "a"), mark(org, connection, id));
        }
    }

    #[test]
    fn each_effect_on_an_address_has_another_tag() {
        let secrets = Secrets::of(&[1; 32]);
        let effect = |connection, address, value| {
            secrets.contact_effect(ConnId::from_bits(connection), &[address; 16], &["update_tags", value])
        };
        assert_eq!(effect(1, 1, "bad"), effect(1, 1, "bad"));
        for (connection, address, value) in [(2, 1, "bad"), (1, 2, "bad"), (1, 1, "worse")] {
            assert_ne!(effect(1, 1, "bad"), effect(connection, address, value));
        }
    }
}
