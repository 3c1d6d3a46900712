//! What people sign in with: hashes under one key, each use told apart by its name, and sealed secrets of second factors.

use probity_account::id::UserId;
use probity_store::OrgNo;
use probity_store::passwords::Hash;

use crate::secrets::{Secrets, Unopened, open, seal, tag};

/// The bytes of a salt (RFC 9106 §3.1 recommends 16).
pub(crate) const SALT_BYTES: usize = 16;

impl Secrets {
    /// Under what a person's address is found. Give it as addresses are compared.
    pub fn who(&self, address: &[u8]) -> Hash {
        tag(&self.people, &[b"who", address])
    }

    /// The salt of an address's passwords: nobody else's, known to nobody without the pepper, and there also where no person
    /// has the address.
    pub(crate) fn salt(&self, who: &Hash) -> [u8; SALT_BYTES] {
        let salt = tag(&self.people, &[b"salt", who]);
        *salt.first_chunk().expect("a hash is longer than a salt")
    }

    /// What is kept of a password, of what argon2id made of it. Two people with one password have nothing in common.
    pub(crate) fn password(&self, org: OrgNo, user: UserId, stretched: &[u8; 32]) -> Hash {
        tag(&self.people, &[b"password", &org.0.to_be_bytes(), &user.bits().to_be_bytes(), stretched])
    }

    /// Under what a session is found.
    pub fn session(&self, token: &[u8; 32]) -> Hash {
        tag(&self.people, &[b"session", token])
    }

    /// What a page of the session must say to change anything: it cannot be made from the token alone.
    pub fn page_token(&self, token: &[u8; 32]) -> Hash {
        tag(&self.people, &[b"page", token])
    }

    /// The proof that a browser has signed in as a person before.
    pub fn device(&self, (org, user): (OrgNo, UserId), nonce: &[u8; 16]) -> Hash {
        tag(&self.people, &[b"device", &whose(org, user), nonce])
    }

    /// What attempts of somebody are counted under.
    pub(crate) fn attempts(&self, kind: &str, whose: &[&[u8]]) -> Hash {
        let parts: Vec<&[u8]> = [b"attempts", kind.as_bytes()].into_iter().chain(whose.iter().copied()).collect();
        tag(&self.people, &parts)
    }

    /// Under what a code of recovery is kept.
    pub fn recovery_code(&self, org: OrgNo, user: UserId, code: &str) -> Hash {
        tag(&self.people, &[b"recovery", &org.0.to_be_bytes(), &user.bits().to_be_bytes(), code.as_bytes()])
    }

    /// Encrypts the secret of a person's second factor: in another person's row it does not open.
    pub fn seal_second_factor(&self, org: OrgNo, user: UserId, secret: &[u8]) -> Vec<u8> {
        seal(&self.second_factors, &whose(org, user), secret)
    }

    /// The secret that was sealed for a person.
    pub fn open_second_factor(&self, org: OrgNo, user: UserId, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        open(&self.second_factors, &whose(org, user), sealed)
    }
}

fn whose(org: OrgNo, user: UserId) -> Vec<u8> {
    [org.0.to_be_bytes().as_slice(), &user.bits().to_be_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
