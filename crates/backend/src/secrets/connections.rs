//! Credentials and tags of connections to email platforms.

use probity_account::connections::{KeywordRule, RuleKind};
use probity_account::id::ConnId;

use super::{Secrets, Unopened, open, seal, tag};

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
        shortened(tag(&self.connection_tags, &parts))
    }

    /// Returns the tag of what a rule matches. Each connection has another tag for the same rule.
    pub fn keyword_rule(&self, connection: ConnId, kind: RuleKind, rule: &KeywordRule) -> [u8; 16] {
        let (keyword, how, parts) = rule.identity();
        let shape = [how as u8, parts.localpart.into(), parts.domain.into(), parts.email.into()];
        let parts: [&[u8]; 5] =
            [b"rule", &connection.bits().to_be_bytes(), kind.as_str().as_bytes(), &shape, keyword.as_bytes()];
        shortened(tag(&self.connection_tags, &parts))
    }
}

fn token_context(tag: &[u8; 16]) -> Vec<u8> {
    [b"token ".as_slice(), tag].concat()
}

fn hook_context(id: ConnId) -> Vec<u8> {
    format!("hook {id}").into_bytes()
}

fn shortened(tag: [u8; 32]) -> [u8; 16] {
    *tag.first_chunk().expect("a tag has 32 bytes")
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
}
