//! The pepper, and the keys that are derived from it.
//!
//! The pepper is 32 random bytes that lie outside the database: a copy of the database alone opens nothing. Each use has a key
//! of its own (HKDF, RFC 5869), so that a value made for one is worth nothing in another. Who loses the pepper loses every API
//! key and stored answer; who has it and the database can try keys, which have 256 bits.

pub mod people;
pub mod widget;

use std::fmt;

use probity_account::id::WebhookId;
use probity_store::OrgNo;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::{hkdf, hmac};

pub use probity_store::hex::hex;

/// The bytes of a pepper.
pub const PEPPER_BYTES: usize = 32;

/// The keys of this installation.
pub struct Secrets {
    api_keys: hmac::Key,
    idempotency: hmac::Key,
    bodies: hmac::Key,
    links: hmac::Key,
    mailed_links: hmac::Key,
    answers: hkdf::Prk,
    cursors: [u8; 32],
    callbacks: LessSafeKey,
    webhooks: LessSafeKey,
    /// Of everything by which people sign in, each told apart by its name.
    people: hmac::Key,
    second_factors: LessSafeKey,
    address_tags: hmac::Key,
    /// Of everything about the widget, each told apart by its name.
    widget: hmac::Key,
    fingerprint: String,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(..)")
    }
}

/// What was sealed could not be opened: the pepper, or whoever it was sealed for, is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot decrypt a stored secret")]
pub struct Unopened;

impl Secrets {
    /// The keys that belong to a pepper.
    pub fn of(pepper: &[u8; PEPPER_BYTES]) -> Self {
        let root = hkdf::Salt::new(hkdf::HKDF_SHA256, b"probity").extract(pepper);
        let mac = |name: &str| hmac::Key::new(hmac::HMAC_SHA256, &derived(&root, &[name.as_bytes()]));
        Self {
            api_keys: mac("api keys"),
            idempotency: mac("idempotency keys"),
            bodies: mac("bodies"),
            links: mac("links"),
            mailed_links: mac("mailed links"),
            cursors: derived(&root, &[b"cursors"]),
            callbacks: cipher(&derived(&root, &[b"callback secrets"])),
            webhooks: cipher(&derived(&root, &[b"webhook secrets"])),
            people: mac("people"),
            second_factors: cipher(&derived(&root, &[b"second factors"])),
            address_tags: mac("address tags"),
            widget: mac("widget"),
            fingerprint: hex(&derived(&root, &[b"fingerprint"])[..8]),
            answers: root,
        }
    }

    /// What tells this pepper from another, for the check at start; it gives nothing away.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Under what an API key is stored.
    pub fn api_key(&self, key: &str) -> [u8; 32] {
        tag(&self.api_keys, &[key.as_bytes()])
    }

    /// Under what an Idempotency-Key is stored. Each part is told from the next: no two requests share a hash.
    pub fn idempotency_key(&self, method: &str, path: &str, key: &str) -> [u8; 32] {
        tag(&self.idempotency, &[method.as_bytes(), path.as_bytes(), key.as_bytes()])
    }

    /// Under what a one-time link is stored.
    pub fn link(&self, token: &str) -> [u8; 32] {
        tag(&self.links, &[token.as_bytes()])
    }

    /// The secret of the link that a mail has: the same for every attempt to send it, without being stored.
    pub fn mailed_link(&self, seed: &[u8; 16]) -> [u8; 32] {
        tag(&self.mailed_links, &[seed])
    }

    /// What a body is compared by. Keyed, because a short body could be found again from a plain hash.
    pub fn body(&self, body: &[u8]) -> [u8; 32] {
        let mut hash = self.body_in_pieces();
        hash.update(body);
        hash.finish()
    }

    /// The same for a body that is never whole in memory.
    pub fn body_in_pieces(&self) -> BodyHash {
        BodyHash(hmac::Context::with_key(&self.bodies))
    }

    /// The key that cursors are sealed with.
    pub fn cursors(&self) -> &[u8; 32] {
        &self.cursors
    }

    /// Under what an address is known where it must not be told: lists of suppressed addresses, tombstones of erased ones,
    /// lookups. The address in its normal form ([`Address::normalized`](probity_mail::address::Address::normalized)); the
    /// same one has another tag in each organization.
    pub fn address_tag(&self, org: OrgNo, normalized: &str) -> [u8; 16] {
        let whole = tag(&self.address_tags, &[&org.0.to_be_bytes(), normalized.as_bytes()]);
        *whole.first_chunk().expect("a tag has 32 bytes")
    }

    /// Encrypts an answer so that only a request with the same Idempotency-Key can have it opened.
    pub fn seal_answer(&self, idempotency_key: &str, answer: &[u8]) -> Vec<u8> {
        seal(&self.answer_key(idempotency_key), &[], answer)
    }

    /// The answer that was sealed for an Idempotency-Key.
    pub fn open_answer(&self, idempotency_key: &str, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        open(&self.answer_key(idempotency_key), &[], sealed)
    }

    /// Encrypts the secret of an organization's callbacks: under another organization's number it does not open.
    pub fn seal_callback_secret(&self, org: OrgNo, secret: &[u8]) -> Vec<u8> {
        seal(&self.callbacks, &org.0.to_be_bytes(), secret)
    }

    /// The secret that was sealed for an organization.
    pub fn open_callback_secret(&self, org: OrgNo, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        open(&self.callbacks, &org.0.to_be_bytes(), sealed)
    }

    /// Encrypts the secret of a webhook: under another webhook's id it does not open.
    pub fn seal_webhook_secret(&self, id: WebhookId, secret: &[u8]) -> Vec<u8> {
        seal(&self.webhooks, &id.bits().to_be_bytes(), secret)
    }

    /// The secret that was sealed for a webhook.
    pub fn open_webhook_secret(&self, id: WebhookId, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        open(&self.webhooks, &id.bits().to_be_bytes(), sealed)
    }

    fn answer_key(&self, idempotency_key: &str) -> LessSafeKey {
        cipher(&derived(&self.answers, &[b"answer", &[0], idempotency_key.as_bytes()]))
    }
}

/// The cipher with a key.
pub(crate) fn cipher(key: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).expect("the cipher's keys have 32 bytes"))
}

/// A random nonce and what it encrypts; `context` must be the same when it is opened.
pub(crate) fn seal(key: &LessSafeKey, context: &[u8], plain: &[u8]) -> Vec<u8> {
    let nonce: [u8; NONCE_LEN] = crate::random::bytes();
    let mut sealed = plain.to_vec();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(context), &mut sealed)
        .expect("what is sealed is shorter than the cipher's limit");
    sealed.splice(0..0, nonce);
    sealed
}

/// What [`seal`] encrypted.
pub(crate) fn open(key: &LessSafeKey, context: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(Unopened)?;
    let mut plain = sealed.to_vec();
    let opened = key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(context), &mut plain);
    let length = opened.map_err(|_| Unopened)?.len();
    plain.truncate(length);
    Ok(plain)
}

/// A key for one use.
pub(crate) fn derived(root: &hkdf::Prk, info: &[&[u8]]) -> [u8; 32] {
    let mut key = [0; 32];
    root.expand(info, hkdf::HKDF_SHA256)
        .and_then(|okm| okm.fill(&mut key))
        .expect("32 bytes are what the algorithm gives at once");
    key
}

fn tag(key: &hmac::Key, parts: &[&[u8]]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        // The length first: "ab" + "c" is not "a" + "bc".
        context.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        context.update(part);
    }
    context.sign().as_ref().try_into().expect("a SHA-256 tag has 32 bytes")
}

/// What a body is compared by, in the making.
pub struct BodyHash(hmac::Context);

impl BodyHash {
    /// Adds the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The hash of all pieces.
    pub fn finish(self) -> [u8; 32] {
        self.0.sign().as_ref().try_into().expect("a SHA-256 tag has 32 bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_open_only_with_the_same_key_and_pepper() {
        let (secrets, others) = (Secrets::of(&[1; 32]), Secrets::of(&[2; 32]));
        let sealed = secrets.seal_answer("key", b"answer");
        assert_eq!(secrets.open_answer("key", &sealed), Ok(b"answer".to_vec()));
        assert_eq!(secrets.open_answer("other", &sealed), Err(Unopened));
        assert_eq!(others.open_answer("key", &sealed), Err(Unopened));
        assert_eq!(secrets.open_answer("key", &sealed[..5]), Err(Unopened));
        assert_ne!(sealed, secrets.seal_answer("key", b"answer"), "each has a nonce of its own");
    }

    #[test]
    fn callback_secrets_open_for_their_organization_only() {
        let secrets = Secrets::of(&[1; 32]);
        let sealed = secrets.seal_callback_secret(OrgNo(1), b"secret");
        assert_eq!(secrets.open_callback_secret(OrgNo(1), &sealed), Ok(b"secret".to_vec()));
        assert_eq!(secrets.open_callback_secret(OrgNo(2), &sealed), Err(Unopened));
        assert_eq!(Secrets::of(&[2; 32]).open_callback_secret(OrgNo(1), &sealed), Err(Unopened));
    }

    #[test]
    fn webhook_secrets_open_for_their_webhook_only() {
        let secrets = Secrets::of(&[1; 32]);
        let sealed = secrets.seal_webhook_secret(WebhookId::from_bits(1), b"secret");
        assert_eq!(secrets.open_webhook_secret(WebhookId::from_bits(1), &sealed), Ok(b"secret".to_vec()));
        assert_eq!(secrets.open_webhook_secret(WebhookId::from_bits(2), &sealed), Err(Unopened));
        assert_eq!(secrets.open_callback_secret(OrgNo(1), &sealed), Err(Unopened));
    }

    #[test]
    fn each_use_has_hashes_of_its_own() {
        let secrets = Secrets::of(&[1; 32]);
        let hashes = [secrets.api_key("a"), secrets.body(b"a"), secrets.link("a")];
        assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
        assert_ne!(secrets.mailed_link(&[1; 16]), secrets.mailed_link(&[2; 16]));
        assert_ne!(secrets.mailed_link(&[1; 16]), Secrets::of(&[2; 32]).mailed_link(&[1; 16]));
        assert_ne!(secrets.address_tag(OrgNo(1), "a@b.example"), secrets.address_tag(OrgNo(2), "a@b.example"));
        assert_ne!(secrets.address_tag(OrgNo(1), "a@b.example"), secrets.address_tag(OrgNo(1), "c@b.example"));
        assert_ne!(secrets.idempotency_key("POST", "/a", "b"), secrets.idempotency_key("POST", "/", "ab"));
        assert_ne!(secrets.fingerprint(), Secrets::of(&[2; 32]).fingerprint());
        assert_eq!(secrets.fingerprint().len(), 16);
    }
}
