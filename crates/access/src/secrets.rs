//! The pepper, and the keys that are derived from it.
//!
//! The pepper is 32 random bytes, stored outside the database: a copy of the database alone opens nothing. Each use has its own
//! key (HKDF, RFC 5869), so that a value made for one use is worthless in another. If the pepper is lost, so are all API keys
//! and stored responses. An attacker with the pepper and the database can guess API keys, which have 256 bits.

mod connections;
mod outcomes;
pub mod people;
pub mod random;
pub mod sealing;
pub mod widget;

use std::fmt;

use probity_account::id::WebhookId;
use probity_store::OrgNo;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::{hkdf, hmac};

pub use probity_store::hex;

/// Length of a pepper, in bytes.
pub const PEPPER_BYTES: usize = 32;

/// Keys of this installation.
pub struct Secrets {
    api_keys: hmac::Key,
    idempotency: hmac::Key,
    bodies: hmac::Key,
    links: hmac::Key,
    mailed_links: hmac::Key,
    share_links: hmac::Key,
    answers: hkdf::Prk,
    cursors: [u8; 32],
    callbacks: LessSafeKey,
    webhooks: LessSafeKey,
    connections: LessSafeKey,
    /// Key for the tags of connections. Each use has its own name.
    connection_tags: hmac::Key,
    /// Key for everything related to sign-in. Each use has its own name.
    people: hmac::Key,
    second_factors: LessSafeKey,
    unsubscribe_links: LessSafeKey,
    sso: LessSafeKey,
    address_tags: hmac::Key,
    /// Key for everything related to the widget. Each use has its own name.
    widget: hmac::Key,
    fingerprint: String,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(..)")
    }
}

/// Decryption failed: the pepper, or the owner of the value, is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot decrypt a stored secret")]
pub struct Unopened;

impl Secrets {
    /// Derives the keys from a pepper.
    pub fn of(pepper: &[u8; PEPPER_BYTES]) -> Self {
        let root = hkdf::Salt::new(hkdf::HKDF_SHA256, b"probity").extract(pepper);
        let mac = |name: &str| hmac::Key::new(hmac::HMAC_SHA256, &derived(&root, &[name.as_bytes()]));
        Self {
            api_keys: mac("api keys"),
            idempotency: mac("idempotency keys"),
            bodies: mac("bodies"),
            links: mac("links"),
            mailed_links: mac("mailed links"),
            share_links: mac("share links"),
            cursors: derived(&root, &[b"cursors"]),
            callbacks: cipher(&derived(&root, &[b"callback secrets"])),
            webhooks: cipher(&derived(&root, &[b"webhook secrets"])),
            connections: cipher(&derived(&root, &[b"connection credentials"])),
            connection_tags: mac("connection tags"),
            people: mac("people"),
            second_factors: cipher(&derived(&root, &[b"second factors"])),
            unsubscribe_links: cipher(&derived(&root, &[b"unsubscribe links"])),
            sso: cipher(&derived(&root, &[b"single sign-on"])),
            address_tags: mac("address tags"),
            widget: mac("widget"),
            fingerprint: hex(&derived(&root, &[b"fingerprint"])[..8]),
            answers: root,
        }
    }

    /// Returns a text that distinguishes peppers, for the check at the start. It reveals nothing about the pepper.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Returns the hash under which an API key is stored.
    pub fn api_key(&self, key: &str) -> [u8; 32] {
        tag(&self.api_keys, &[key.as_bytes()])
    }

    /// Returns the hash under which an Idempotency-Key is stored. The parts are delimited, so that no two requests share a
    /// hash.
    pub fn idempotency_key(&self, method: &str, path: &str, key: &str) -> [u8; 32] {
        tag(&self.idempotency, &[method.as_bytes(), path.as_bytes(), key.as_bytes()])
    }

    /// Returns the hash under which a one-time link is stored.
    pub fn link(&self, token: &str) -> [u8; 32] {
        tag(&self.links, &[token.as_bytes()])
    }

    /// Returns the hash under which a link to a list's summary is stored.
    pub fn share_link(&self, token: &str) -> [u8; 32] {
        tag(&self.share_links, &[token.as_bytes()])
    }

    /// Returns the secret of a mailed link. It is the same for every attempt to send it, without being stored.
    pub fn mailed_link(&self, seed: &[u8; 16]) -> [u8; 32] {
        tag(&self.mailed_links, &[seed])
    }

    /// Returns the hash by which a body is compared. It is keyed, because a short body could be guessed from a plain hash.
    pub fn body(&self, body: &[u8]) -> [u8; 32] {
        let mut hash = self.body_in_pieces();
        hash.update(body);
        hash.finish()
    }

    /// Like [`Self::body`], for a body that is never in memory as a whole.
    pub fn body_in_pieces(&self) -> BodyHash {
        BodyHash(hmac::Context::with_key(&self.bodies))
    }

    /// Returns the key with which cursors are protected.
    pub fn cursors(&self) -> &[u8; 32] {
        &self.cursors
    }

    /// Returns the tag of an address, used wherever the address itself must not be stored: suppression lists, tombstones,
    /// lookups. `normalized` is its normal form ([`Address::normalized`](probity_mail::address::Address::normalized)). Each
    /// organization has another tag for the same address.
    pub fn address_tag(&self, org: OrgNo, normalized: &str) -> [u8; 16] {
        short_tag(&self.address_tags, &[&org.0.to_be_bytes(), normalized.as_bytes()])
    }

    /// Encrypts a response, so that only a request with the same Idempotency-Key can decrypt it.
    pub fn seal_answer(&self, idempotency_key: &str, answer: &[u8]) -> Vec<u8> {
        seal(&self.answer_key(idempotency_key), &[], answer)
    }

    /// Decrypts the response that was stored for an Idempotency-Key.
    pub fn open_answer(&self, idempotency_key: &str, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        open(&self.answer_key(idempotency_key), &[], sealed)
    }

    /// Encrypts the secret of an organization's callbacks. It can be decrypted for that organization only.
    pub fn seal_callback_secret(&self, org: OrgNo, secret: &[u8]) -> Vec<u8> {
        seal(&self.callbacks, &org.0.to_be_bytes(), secret)
    }

    /// Decrypts the callback secret of an organization.
    pub fn open_callback_secret(&self, org: OrgNo, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        open(&self.callbacks, &org.0.to_be_bytes(), sealed)
    }

    /// Encrypts the secret of a webhook. It can be decrypted for that webhook only.
    pub fn seal_webhook_secret(&self, id: WebhookId, secret: &[u8]) -> Vec<u8> {
        seal(&self.webhooks, &id.bits().to_be_bytes(), secret)
    }

    /// Decrypts the secret of a webhook.
    pub fn open_webhook_secret(&self, id: WebhookId, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        open(&self.webhooks, &id.bits().to_be_bytes(), sealed)
    }

    fn answer_key(&self, idempotency_key: &str) -> LessSafeKey {
        cipher(&derived(&self.answers, &[b"answer", &[0], idempotency_key.as_bytes()]))
    }
}

pub fn cipher(key: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).expect("the cipher's keys have 32 bytes"))
}

/// Returns a random nonce, followed by the ciphertext. [`open`] needs the same `context`.
pub fn seal(key: &LessSafeKey, context: &[u8], plain: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::new();
    seal_into(key, context, plain, &mut sealed);
    sealed
}

/// Like [`seal`], behind what a buffer has.
fn seal_into(key: &LessSafeKey, context: &[u8], plain: &[u8], into: &mut Vec<u8>) {
    let nonce: [u8; NONCE_LEN] = crate::secrets::random::bytes();
    into.extend(nonce);
    let start = into.len();
    into.extend(plain);
    let nonce = Nonce::assume_unique_for_key(nonce);
    let tag = key.seal_in_place_separate_tag(nonce, Aad::from(context), &mut into[start..]);
    into.extend(tag.expect("what is sealed is shorter than the cipher's limit").as_ref());
}

/// Decrypts the output of [`seal`].
pub fn open(key: &LessSafeKey, context: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(Unopened)?;
    let mut plain = sealed.to_vec();
    let opened = key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(context), &mut plain);
    let length = opened.map_err(|_| Unopened)?.len();
    plain.truncate(length);
    Ok(plain)
}

/// Derives a key for one use.
pub fn derived(root: &hkdf::Prk, info: &[&[u8]]) -> [u8; 32] {
    let mut key = [0; 32];
    root.expand(info, hkdf::HKDF_SHA256)
        .and_then(|okm| okm.fill(&mut key))
        .expect("32 bytes are what the algorithm gives at once");
    key
}

fn tag(key: &hmac::Key, parts: &[&[u8]]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        // Starts with the length: "ab" + "c" is not "a" + "bc".
        context.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        context.update(part);
    }
    context.sign().as_ref().try_into().expect("a SHA-256 tag has 32 bytes")
}

fn short_tag(key: &hmac::Key, parts: &[&[u8]]) -> [u8; 16] {
    *tag(key, parts).first_chunk().expect("a tag has 32 bytes")
}

/// Hash of a body that arrives in pieces.
pub struct BodyHash(hmac::Context);

impl BodyHash {
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// Returns the hash of all pieces.
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
