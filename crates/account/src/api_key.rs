//! API keys: `<brand>_<kind>_<secret><checksum>`.
//!
//! The secret is 32 random bytes in 43 characters of base62; the checksum is the CRC-32 of these characters in 6 more, as in
//! the tokens of GitHub. It lets a mistyped key be refused without a look-up, and lets a secret scanner tell a leaked key
//! from a text that only looks like one. Nothing about the customer is in a key.
//!
//! For secret scanners (then verify the checksum as [`check`] does):
//!
//! ```text
//! \b[a-z0-9]{1,16}_(live|rk|test|pub)_[0-9A-Za-z]{49}\b
//! ```
//!
//! Keys that were imported from elsewhere have other forms and no checksum; they are [`Checksum::Foreign`] and must be
//! looked up. So must keys of an earlier brand: no brand is preferred here, and a prefix alone never refuses a key. The one
//! loss is an imported key of exactly our form without our checksum, which is refused as mistyped.
//!
//! The checksum is no protection: anybody can compute it. What protects a key are its 256 random bits.

/// Base62 in the order of the characters' codes, as GitHub's tokens use it.
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Characters of the secret: 62^43 is the first power above 2^256.
const SECRET_CHARS: usize = 43;

/// Characters of the checksum: 62^6 is the first power above 2^32.
const CHECKSUM_CHARS: usize = 6;

/// The longest text that can be a key, in bytes.
pub const KEY_MAX_BYTES: usize = 255;

/// The longest brand, in bytes.
pub const BRAND_MAX_BYTES: usize = 16;

/// How much of a key must stay unseen where its ends are shown, in bytes.
const HIDDEN_MIN_BYTES: usize = 16;

/// What a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyKind {
    /// Everything.
    Live,
    /// What its scopes say.
    Rk,
    /// Everything, in the sandbox: it asks no mail server and spends nothing.
    Test,
    /// The widget in web pages of allowed origins; no secret.
    Pub,
}

impl KeyKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Live, Self::Rk, Self::Test, Self::Pub];

    /// The name in keys and in the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Rk => "rk",
            Self::Test => "test",
            Self::Pub => "pub",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Whether a text can begin keys: 1 to [`BRAND_MAX_BYTES`] lower-case letters and digits.
pub fn is_brand(text: &str) -> bool {
    is_plain(text) && text.len() <= BRAND_MAX_BYTES
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// The text of a new key. The bytes must come from the operating system's generator; `brand` must be one by [`is_brand`],
/// which the configuration sees to (keys of another brand would be [`Checksum::Foreign`]: valid, but never checked).
pub fn mint(brand: &str, kind: KeyKind, secret: [u8; 32]) -> String {
    let secret: [u8; SECRET_CHARS] = base62(secret);
    let text = [&secret[..], &checksum(&secret)[..]].concat();
    let text = String::from_utf8(text).expect("base62 is ASCII");
    format!("{brand}_{}_{text}", kind.as_str())
}

/// 32 random bytes as the text of a secret: 43 characters of base62, which need no escaping anywhere. Keys have it inside, and
/// links that open something once.
pub fn secret_text(secret: [u8; 32]) -> String {
    let text: [u8; SECRET_CHARS] = base62(secret);
    String::from_utf8(text.to_vec()).expect("base62 is ASCII")
}

/// What the form of a text says of it as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// Our form, and the checksum is right: look it up.
    Good,
    /// Our form with a wrong checksum, or no text that any key can have (empty, longer than [`KEY_MAX_BYTES`], or with
    /// anything but visible ASCII): no look-up will find it.
    Bad,
    /// Another form: look it up.
    Foreign,
}

/// Reads the form of a key, without any knowledge of which keys there are.
pub fn check(text: &str) -> Checksum {
    if text.is_empty() || text.len() > KEY_MAX_BYTES || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Checksum::Bad;
    }
    match own_form(text) {
        None => Checksum::Foreign,
        Some((secret, sum)) if checksum(secret) == sum => Checksum::Good,
        Some(_) => Checksum::Bad,
    }
}

/// The secret and the checksum of a text in our form, be the checksum right or wrong.
fn own_form(text: &str) -> Option<(&[u8], &[u8])> {
    let (brand, rest) = text.split_once('_')?;
    let (kind, secret) = rest.split_once('_')?;
    let is_base62 =
        secret.len() == SECRET_CHARS + CHECKSUM_CHARS && secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_ours = is_plain(brand) && KeyKind::from_name(kind).is_some() && is_base62;
    is_ours.then(|| secret.as_bytes().split_at(SECRET_CHARS))
}

/// What may be shown of a key, so that its owner knows which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visible<'a> {
    /// The text up to and with the second underscore (`probity_live_`); empty where a key has no such beginning.
    pub prefix: &'a str,
    /// The last four characters; empty where a key is too short to give them away.
    pub last4: &'a str,
}

/// The parts of a key that may be shown.
///
/// Imported keys can be short, and can have underscores in their secret. So a prefix is two words of lower-case letters and
/// digits, no longer than that of our longest key, and nothing is shown that would leave fewer than 16 bytes unseen.
pub fn visible(text: &str) -> Visible<'_> {
    let shown = |bytes: usize| text.is_ascii() && text.len() >= bytes + HIDDEN_MIN_BYTES;
    let last4 = if shown(4) { &text[text.len() - 4..] } else { "" };
    let prefix = prefix(text).filter(|prefix| shown(prefix.len() + 4)).unwrap_or("");
    Visible { prefix, last4 }
}

fn prefix(text: &str) -> Option<&str> {
    let longest = BRAND_MAX_BYTES + "_live_".len();
    let (brand, rest) = text.split_once('_')?;
    let (kind, _) = rest.split_once('_')?;
    let bytes = brand.len() + kind.len() + 2;
    (is_plain(brand) && is_plain(kind) && bytes <= longest).then(|| &text[..bytes])
}

fn checksum(secret: &[u8]) -> [u8; CHECKSUM_CHARS] {
    base62(crc32fast::hash(secret).to_be_bytes())
}

/// A number, its highest byte first, in `CHARS` digits of base62; both are fixed so that every number has the same length.
fn base62<const BYTES: usize, const CHARS: usize>(mut number: [u8; BYTES]) -> [u8; CHARS] {
    let mut text = [b'0'; CHARS];
    for place in text.iter_mut().rev() {
        // Long division by 62; what remains is the next digit from the right.
        let mut remainder = 0u16;
        for byte in &mut number {
            let dividend = remainder << 8 | u16::from(*byte);
            *byte = u8::try_from(dividend / 62).expect("the remainder was below 62");
            remainder = dividend % 62;
        }
        *place = ALPHABET[usize::from(remainder)];
    }
    text
}

#[cfg(test)]
mod tests;
