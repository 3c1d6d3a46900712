//! IDs that clients see: `job_01h455vb4pex5vsknk084sn02q`.
//!
//! `TypeID` 0.3: a prefix for the kind, `_`, and the 128 bits of a `UUIDv7` (RFC 9562 5.7) in 26 characters of Crockford's
//! base32, lower case. IDs sort by creation time as text, as bits and in an index. The kind is part of the Rust type, so a job's
//! ID cannot be passed as a key's.
//!
//! Parsing is strict: each ID has exactly one text, so equal IDs have equal texts. Crockford's aliases (`I` for `1`, upper case)
//! and other lengths are refused. The UUID version is not checked, as `TypeID` demands of readers: IDs are opaque to clients.

use std::{fmt, hash::Hash, marker::PhantomData, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use probity_mail::time::Millis;

/// Crockford's base32, which leaves out `i`, `l`, `o` and `u`.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Characters after the prefix: 26 times 5 bits hold 128 bits after two zero bits.
const SUFFIX_CHARS: usize = 26;

/// The latest time that the 48 bits of a `UUIDv7` hold, in the year 10889.
const LATEST_MS: i64 = (1 << 48) - 1;

/// Returns the lower `bits` bits of a number.
const fn low_bits(bits: u32) -> u128 {
    (1 << bits) - 1
}

/// Kind of an ID. These supertraits are what `derive` on [`Id`] requires.
pub trait IdKind: Copy + Ord + Hash {
    /// Text before the underscore: lower-case letters.
    const PREFIX: &'static str;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $prefix:literal $alias:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $kind {}

            impl IdKind for $kind {
                const PREFIX: &'static str = $prefix;
            }

            #[doc = concat!("An id `", $prefix, "_...`.")]
            pub type $alias = Id<$kind>;
        )*

        #[cfg(test)]
        const PREFIXES: &[&str] = &[$($prefix),*];
    };
}

kinds! {
    /// An organization: the customer that owns everything else.
    Org "org" OrgId;
    /// A person who signs in.
    User "usr" UserId;
    /// An API key.
    Key "key" KeyId;
    /// A batch of addresses.
    Job "job" JobId;
    /// A connection to a list provider.
    Conn "conn" ConnId;
    /// A rule that overrides verdicts.
    Rule "rule" RuleId;
    /// A webhook endpoint.
    Webhook "whk" WebhookId;
    /// One delivery to a webhook endpoint.
    Delivery "dlv" DeliveryId;
    /// An event that webhooks report.
    Event "evt" EventId;
    /// An erasure of a person's data.
    Erasure "era" ErasureId;
    /// A sending service that reports outcomes of mail.
    OutcomeSource "osr" OutcomeSourceId;
    /// Charges of live calls that are written together.
    Window "win" WindowId;
    /// A process of this program that shares a database with others.
    Node "node" NodeId;
    /// A person's session in a browser.
    Session "ses" SessionId;
    /// An uploaded file with a list.
    Upload "upl" UploadId;
}

/// ID of kind `K`. IDs sort by creation time, to the millisecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id<K> {
    bits: u128,
    // `fn() -> K` makes an ID Send and Sync for any marker.
    kind: PhantomData<fn() -> K>,
}

impl<K: IdKind> Id<K> {
    /// Returns a new ID: a `UUIDv7` of the time and 74 of the 80 random bits (version and variant replace the others).
    ///
    /// The random bytes must come from the operating system's generator. Times before 1970 or after the year 10889 are clamped.
    pub fn new(now: Millis, random: [u8; 10]) -> Self {
        let ms = u128::try_from(now.0.clamp(0, LATEST_MS)).expect("clamped to what is not negative");
        let [a0, a1, b @ ..] = random;
        let rand_a = u128::from(u16::from_be_bytes([a0, a1])) & low_bits(12);
        let rand_b = u128::from(u64::from_be_bytes(b)) & low_bits(62);
        let (version, variant) = (7 << 76, 0b10 << 62);
        Self::from_bits(ms << 80 | version | rand_a << 64 | variant | rand_b)
    }
}

impl<K> Id<K> {
    /// Returns the ID with these bits, as stored in a database.
    pub const fn from_bits(bits: u128) -> Self {
        Self { bits, kind: PhantomData }
    }

    /// Returns the 128 bits of the UUID, with its first byte uppermost.
    pub const fn bits(self) -> u128 {
        self.bits
    }

    /// Returns the creation time given to [`Id::new`]; meaningless for IDs from elsewhere.
    pub fn created_at(self) -> Millis {
        Millis(i64::try_from(self.bits >> 80).expect("48 bits"))
    }
}

/// Reason why a text is not an ID of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text does not begin with the kind's prefix and an underscore.
    #[error("the ID must begin with `{0}_`")]
    Prefix(&'static str),
    /// The part after the prefix is too short or too long.
    #[error("the ID must have {SUFFIX_CHARS} characters after its prefix")]
    Length,
    /// A character outside the alphabet, such as an upper-case letter.
    #[error("the ID has an invalid character")]
    Character,
    /// The first character is above `7`: the ID has more than 128 bits.
    #[error("the ID is out of range")]
    TooLarge,
}

impl<K: IdKind> FromStr for Id<K> {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let suffix = text.strip_prefix(K::PREFIX).and_then(|rest| rest.strip_prefix('_'));
        let suffix = suffix.ok_or(IdError::Prefix(K::PREFIX))?.as_bytes();
        if suffix.len() != SUFFIX_CHARS {
            return Err(IdError::Length);
        }
        let bits =
            suffix.iter().try_fold(0u128, |bits, &byte| Some(bits << 5 | digit(byte)?)).ok_or(IdError::Character)?;
        // The two bits above the 128 are shifted out by now, so the first character is checked instead.
        if suffix.first().is_some_and(|&first| first > b'7') {
            return Err(IdError::TooLarge);
        }
        Ok(Self::from_bits(bits))
    }
}

/// Returns the value of a base32 character.
fn digit(byte: u8) -> Option<u128> {
    ALPHABET.iter().position(|&letter| letter == byte).and_then(|place| u128::try_from(place).ok())
}

/// Encodes 128 bits in base32.
fn suffix(bits: u128) -> [u8; SUFFIX_CHARS] {
    let mut text = [b'0'; SUFFIX_CHARS];
    let mut rest = bits;
    for place in text.iter_mut().rev() {
        let five = usize::try_from(rest & low_bits(5)).expect("five bits");
        *place = ALPHABET[five];
        rest >>= 5;
    }
    text
}

impl<K: IdKind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = suffix(self.bits);
        write!(f, "{}_{}", K::PREFIX, str::from_utf8(&suffix).expect("base32 is ASCII"))
    }
}

impl<K: IdKind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<K: IdKind> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, K: IdKind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdText<K>(PhantomData<fn() -> K>);

        impl<K: IdKind> de::Visitor<'_> for IdText<K> {
            type Value = Id<K>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an id that begins with `{}_`", K::PREFIX)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Id<K>, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(IdText(PhantomData))
    }
}

/// IDs against the published examples: each has one text, and texts sort by time.
#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The kind of the published examples.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    enum Example {}

    impl IdKind for Example {
        const PREFIX: &'static str = "prefix";
    }

    #[test]
    fn the_published_examples_read_and_print() {
        // `valid.yml` of the TypeID specification.
        let cases = [
            ("prefix_00000000000000000000000000", 0),
            ("prefix_00000000000000000000000001", 1),
            ("prefix_0000000000000000000000000a", 10),
            ("prefix_0000000000000000000000000g", 16),
            ("prefix_00000000000000000000000010", 32),
            ("prefix_7zzzzzzzzzzzzzzzzzzzzzzzzz", u128::MAX),
            ("prefix_0123456789abcdefghjkmnpqrs", 0x0110_c853_1d09_52d8_d73e_1194_e95b_5f19),
            ("prefix_01h455vb4pex5vsknk084sn02q", 0x0189_0a5d_ac96_774b_bcce_b302_099a_8057),
        ];
        for (text, bits) in cases {
            let id: Id<Example> = text.parse().expect(text);
            assert_eq!(id.bits(), bits, "{text}");
            assert_eq!(Id::<Example>::from_bits(bits).to_string(), text);
            assert_eq!(format!("{id:?}"), text);
        }
    }

    #[test]
    fn only_the_one_text_of_an_id_is_read() {
        use IdError::{Character, Length, Prefix, TooLarge};
        let cases = [
            ("", Prefix("job")),
            ("job", Prefix("job")),
            ("01h455vb4pex5vsknk084sn02q", Prefix("job")),
            ("_01h455vb4pex5vsknk084sn02q", Prefix("job")),
            ("key_01h455vb4pex5vsknk084sn02q", Prefix("job")),
            ("JOB_01h455vb4pex5vsknk084sn02q", Prefix("job")),
            (" job_01h455vb4pex5vsknk084sn02q", Prefix("job")),
            ("jobs_01h455vb4pex5vsknk084sn02q", Prefix("job")),
            ("job-01h455vb4pex5vsknk084sn02q", Prefix("job")),
            ("job_", Length),
            ("job_01h455vb4pex5vsknk084sn02", Length),
            ("job_01h455vb4pex5vsknk084sn02q0", Length),
            ("job_01h455vb4pex5vsknk084sn02q\n", Length),
            ("job__01h455vb4pex5vsknk084sn02q", Length),
            ("job_01890a5d-ac96-774b-bcce-b302099a8057", Length),
            ("job_01H455VB4PEX5VSKNK084SN02Q", Character),
            ("job_01h455vb4pex5vsknk084sn02i", Character),
            ("job_01h455vb4pex5vsknk084sn02l", Character),
            ("job_01h455vb4pex5vsknk084sn02o", Character),
            ("job_01h455vb4pex5vsknk084sn02u", Character),
            ("job_01h455vb4pex5vsknk084sn0\u{e9}", Character),
            ("job_01h455vb4pex5vsknk084sn0%2", Character),
            ("job_8zzzzzzzzzzzzzzzzzzzzzzzzz", TooLarge),
            ("job_80000000000000000000000000", TooLarge),
            ("job_zzzzzzzzzzzzzzzzzzzzzzzzzz", TooLarge),
        ];
        for (text, error) in cases {
            assert_eq!(text.parse::<JobId>(), Err(error), "{text:?}");
        }
    }

    #[test]
    fn the_layout_is_that_of_uuid_version_7() {
        // RFC 9562 appendix A.6. Version and variant replace six of the upper random bits.
        let expected = 0x017f_22e2_79b0_7cc3_98c4_dc0c_0c07_398f;
        for (a, b) in [(0x0c, 0x18), (0xfc, 0xd8), (0x5c, 0x58)] {
            let random = [a, 0xc3, b, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f];
            let id = JobId::new(Millis(1_645_557_742_000), random);
            assert_eq!(id.bits(), expected, "{a:x} {b:x}");
            assert_eq!(id.created_at(), Millis(1_645_557_742_000));
        }
    }

    #[test]
    fn times_that_the_layout_cannot_hold_become_the_nearest() {
        let cases =
            [(-1, 0), (i64::MIN, 0), (0, 0), (LATEST_MS, LATEST_MS), (LATEST_MS + 1, LATEST_MS), (i64::MAX, LATEST_MS)];
        for (ms, kept) in cases {
            assert_eq!(JobId::new(Millis(ms), [0xff; 10]).created_at(), Millis(kept), "{ms}");
        }
    }

    #[test]
    fn prefixes_are_lower_case_letters_and_differ() {
        for prefix in PREFIXES {
            assert!(!prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_lowercase()), "{prefix}");
        }
        assert_eq!(PREFIXES.iter().collect::<BTreeSet<_>>().len(), PREFIXES.len());
    }

    #[test]
    fn json_is_the_text_and_refuses_what_is_no_id() {
        let id: OrgId = "org_01h455vb4pex5vsknk084sn02q".parse().expect("an id");
        let json = serde_json::to_string(&id).expect("text");
        assert_eq!(json, "\"org_01h455vb4pex5vsknk084sn02q\"");
        assert_eq!(serde_json::from_str::<OrgId>(&json).expect("an id"), id);
        // Escapes make it an owned text.
        assert_eq!(serde_json::from_str::<OrgId>(&json.replace("org", "\\u006frg")).expect("an id"), id);
        for wrong in ["1", "null", "[]", "\"\"", "\"key_01h455vb4pex5vsknk084sn02q\""] {
            assert!(serde_json::from_str::<OrgId>(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_id_survives_its_text(bits: u128) {
            let id = KeyId::from_bits(bits);
            let text = id.to_string();
            prop_assert_eq!(text.len(), 4 + SUFFIX_CHARS);
            prop_assert_eq!(text.parse::<KeyId>(), Ok(id));
        }

        #[test]
        fn text_bits_and_time_sort_alike(
            times in prop::array::uniform2(0..=LATEST_MS), random: ([u8; 10], [u8; 10]),
        ) {
            let (a, b) = (KeyId::new(Millis(times[0]), random.0), KeyId::new(Millis(times[1]), random.1));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
            prop_assert_eq!((a.bits() >> 76 & 0xf, a.bits() >> 62 & 0b11), (7, 0b10));
            if times[0] != times[1] {
                prop_assert_eq!(a < b, times[0] < times[1]);
            }
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in "(job_)?\\PC{0,30}") {
            if let Ok(id) = text.parse::<JobId>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }
}
