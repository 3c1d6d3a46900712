//! Secrets of sign-in: hashes under one key, each use with its own name, and encrypted two-factor secrets.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use probity_account::id::UserId;
use probity_account::reports::ReportKind;
use probity_store::OrgNo;
use probity_store::accounts::people::passwords::SecretHash;

use crate::secrets::{Secrets, Unopened, open, seal, short_tag, tag};

impl Secrets {
    /// Returns the hash under which a user's address is found. `address` must have the form in which addresses are compared.
    pub fn who(&self, address: &[u8]) -> SecretHash {
        tag(&self.people, &[b"who", address])
    }

    /// Returns the salt of an address's passwords, as long as RFC 9106 §3.1 recommends. It belongs to this address alone, is secret
    /// without the pepper, and exists even if no user has the address.
    pub fn salt(&self, who: &SecretHash) -> [u8; 16] {
        short_tag(&self.people, &[b"salt", who])
    }

    /// Returns the hash to store for a password, from the output of argon2id. The hashes of two users with one password have
    /// nothing in common.
    pub fn password(&self, org: OrgNo, user: UserId, stretched: &[u8; 32]) -> SecretHash {
        tag(&self.people, &[b"password", &org.0.to_be_bytes(), &user.bits().to_be_bytes(), stretched])
    }

    /// Returns the hash under which a session is found.
    pub fn session(&self, token: &[u8; 32]) -> SecretHash {
        tag(&self.people, &[b"session", token])
    }

    /// Returns the token that a page of the session must send with every change. It cannot be derived from the session's token
    /// alone.
    pub fn page_token(&self, token: &[u8; 32]) -> SecretHash {
        tag(&self.people, &[b"page", token])
    }

    /// Returns the proof that a browser has signed in as a user before.
    pub fn device(&self, (org, user): (OrgNo, UserId), nonce: &[u8; 16]) -> SecretHash {
        tag(&self.people, &[b"device", &owner_bytes(org, user), nonce])
    }

    /// Returns the hash under which attempts are counted.
    pub fn attempts(&self, kind: &str, whose: &[&[u8]]) -> SecretHash {
        let parts: Vec<&[u8]> = [b"attempts", kind.as_bytes()].into_iter().chain(whose.iter().copied()).collect();
        tag(&self.people, &parts)
    }

    /// Returns the hash under which a recovery code is stored.
    pub fn recovery_code(&self, org: OrgNo, user: UserId, code: &str) -> SecretHash {
        tag(&self.people, &[b"recovery", &org.0.to_be_bytes(), &user.bits().to_be_bytes(), code.as_bytes()])
    }

    /// Encrypts a user's two-factor secret. It can be decrypted for that user only.
    pub fn seal_second_factor(&self, org: OrgNo, user: UserId, secret: &[u8]) -> Vec<u8> {
        seal(&self.second_factors, &owner_bytes(org, user), secret)
    }

    /// Decrypts the two-factor secret of a user.
    pub fn open_second_factor(&self, org: OrgNo, user: UserId, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        open(&self.second_factors, &owner_bytes(org, user), sealed)
    }

    /// Encrypts the secret with which an organization's provider knows this installation.
    pub fn seal_sso_secret(&self, org: OrgNo, secret: &[u8]) -> Vec<u8> {
        seal(&self.sso, &sso_context(Some(org)), secret)
    }

    /// Decrypts the secret for an organization's provider.
    pub fn open_sso_secret(&self, org: OrgNo, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        open(&self.sso, &sso_context(Some(org)), sealed)
    }

    /// Encrypts what a browser keeps while its user signs in at a provider.
    pub fn seal_sso_flow(&self, flow: &[u8]) -> Vec<u8> {
        seal(&self.sso, &sso_context(None), flow)
    }

    /// Decrypts what a browser has kept.
    pub fn open_sso_flow(&self, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        open(&self.sso, &sso_context(None), sealed)
    }

    /// Returns the hash under which a sign-in that came back is recorded.
    pub fn sso_flow(&self, nonce: &str) -> SecretHash {
        tag(&self.people, &[b"sso flow", nonce.as_bytes()])
    }

    /// Returns the hash under which the account of a provider is found.
    pub fn sso_subject(&self, org: OrgNo, issuer: &str, subject: &str) -> SecretHash {
        tag(&self.people, &[b"sso subject", &org.0.to_be_bytes(), issuer.as_bytes(), subject.as_bytes()])
    }

    /// Returns the text by which an organization proves a domain. It says nothing about either.
    pub fn domain_proof(&self, org: OrgNo, domain: &str) -> String {
        super::hex(&tag(&self.people, &[b"domain", &org.0.to_be_bytes(), domain.as_bytes()])[..16])
    }

    /// Returns the token of a link that unsubscribes a user from reports of a kind. It names the user only to this installation,
    /// and does nothing else.
    pub fn unsubscribe_token(&self, (org, user): (OrgNo, UserId), kind: ReportKind) -> String {
        let plain = [&owner_bytes(org, user)[..], kind.as_str().as_bytes()].concat();
        URL_SAFE_NO_PAD.encode(seal(&self.unsubscribe_links, &[], &plain))
    }

    /// Returns the user and the kind of reports that a token names; `None` if it is none of ours.
    pub fn open_unsubscribe_token(&self, token: &str) -> Option<(OrgNo, UserId, ReportKind)> {
        let sealed = URL_SAFE_NO_PAD.decode(token).ok()?;
        let plain = open(&self.unsubscribe_links, &[], &sealed).ok()?;
        let (org, rest) = plain.split_first_chunk()?;
        let (user, kind) = rest.split_first_chunk()?;
        let kind = std::str::from_utf8(kind).ok()?.parse().ok()?;
        Some((OrgNo(i64::from_be_bytes(*org)), UserId::from_bits(u128::from_be_bytes(*user)), kind))
    }
}

/// Context of a ciphertext of single sign-on: an organization's secret, or a browser's flow.
fn sso_context(org: Option<OrgNo>) -> Vec<u8> {
    org.map_or_else(|| b"flow".to_vec(), |org| [&b"secret"[..], &org.0.to_be_bytes()].concat())
}

fn owner_bytes(org: OrgNo, user: UserId) -> Vec<u8> {
    [org.0.to_be_bytes().as_slice(), &user.bits().to_be_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_single_sign_on_open_for_their_use_only() {
        let secrets = Secrets::of(&[1; 32]);
        let sealed = secrets.seal_sso_secret(OrgNo(1), b"secret");
        assert_eq!(secrets.open_sso_secret(OrgNo(1), &sealed), Ok(b"secret".to_vec()));
        assert_eq!(secrets.open_sso_secret(OrgNo(2), &sealed), Err(Unopened));
        assert_eq!(secrets.open_sso_flow(&sealed), Err(Unopened));
        let flow = secrets.seal_sso_flow(b"flow");
        assert_eq!(secrets.open_sso_flow(&flow), Ok(b"flow".to_vec()));
        assert_eq!(secrets.open_sso_secret(OrgNo(1), &flow), Err(Unopened));
        assert_ne!(secrets.domain_proof(OrgNo(1), "a.example"), secrets.domain_proof(OrgNo(2), "a.example"));
        assert_ne!(secrets.sso_subject(OrgNo(1), "a", "bc"), secrets.sso_subject(OrgNo(1), "ab", "c"));
    }

    #[test]
    fn nothing_of_one_person_fits_another() {
        let secrets = Secrets::of(&[1; 32]);
        let (one, two) = (UserId::from_bits(1), UserId::from_bits(2));
        let sealed = secrets.seal_second_factor(OrgNo(1), one, b"secret");
        assert_eq!(secrets.open_second_factor(OrgNo(1), one, &sealed), Ok(b"secret".to_vec()));
        assert_eq!(secrets.open_second_factor(OrgNo(1), two, &sealed), Err(Unopened));
        assert_eq!(secrets.open_second_factor(OrgNo(2), one, &sealed), Err(Unopened));
        assert_ne!(secrets.password(OrgNo(1), one, &[9; 32]), secrets.password(OrgNo(1), two, &[9; 32]));
        assert_ne!(secrets.recovery_code(OrgNo(1), one, "a"), secrets.recovery_code(OrgNo(1), two, "a"));
        assert_ne!(secrets.session(&[9; 32]), secrets.page_token(&[9; 32]));
        assert_ne!(secrets.salt(&secrets.who(b"a")), secrets.salt(&secrets.who(b"b")));
        assert_ne!(secrets.who(b"a"), Secrets::of(&[2; 32]).who(b"a"));
    }

    #[test]
    fn a_link_unsubscribes_one_user_from_one_kind_of_reports() {
        let secrets = Secrets::of(&[1; 32]);
        let whose = (OrgNo(7), UserId::from_bits(u128::MAX - 5));
        let token = secrets.unsubscribe_token(whose, ReportKind::Monthly);
        assert_eq!(secrets.open_unsubscribe_token(&token), Some((whose.0, whose.1, ReportKind::Monthly)));
        assert_eq!(Secrets::of(&[2; 32]).open_unsubscribe_token(&token), None);
        let mut other = token.into_bytes();
        other[30] = if other[30] == b'A' { b'B' } else { b'A' };
        assert_eq!(secrets.open_unsubscribe_token(&String::from_utf8(other).unwrap()), None);
        for wrong in ["", "A", "no token", &"A".repeat(500)] {
            assert_eq!(secrets.open_unsubscribe_token(wrong), None, "{wrong}");
        }
    }
}
