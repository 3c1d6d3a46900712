//! Lists in pages: the envelope, the size of a page, and cursors.
//!
//! A cursor is opaque to clients: it carries whatever the list needs to go on after its last row, sealed with a key and bound
//! to the organization and the route it was given for. One that was edited, cut, or carried over from another organization or
//! another list is a 400, and nothing of it is looked at. Cursors are no secret: they hide nothing, they only cannot be made.

pub mod asked;

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde::Serialize;
use subtle::ConstantTimeEq as _;
use utoipa::ToSchema;

use crate::error::ApiError;
pub use crate::page::asked::Asked;
use crate::query::Query;

/// The first byte of every cursor. A new form gets a new number, so that old cursors become a 400 and no nonsense.
const VERSION: u8 = 1;
/// Bytes of the seal.
const SEAL: usize = 16;
/// The longest cursor that is looked at, in characters.
const CURSOR_CHARS_MAX: usize = 1_024;
/// What a cursor must be, for messages. Its seal does not tell which part of its binding differs.
pub const CURSOR_RULE: &str = "must be a cursor of this list, sent with the same filters";

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct List<T> {
    /// Rows.
    pub data: Vec<T>,
    /// Pagination state.
    pub pagination: Pagination,
}

/// Pagination state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Pagination {
    /// Whether there are more rows.
    pub has_more: bool,
    /// Cursor of the next page, to send as `next`; null on the last page.
    #[schema(required, examples("AXsiMDFoNDU1dmI0cGV4NXZz"))]
    pub next_cursor: Option<String>,
}

impl<T> List<T> {
    /// A page after which the list goes on at `next_cursor`, or ends.
    pub fn new(data: Vec<T>, next_cursor: Option<String>) -> Self {
        Self { data, pagination: Pagination { has_more: next_cursor.is_some(), next_cursor } }
    }

    /// A list that has only one page.
    pub fn whole(data: Vec<T>) -> Self {
        Self::new(data, None)
    }
}

/// How many rows the pages of a list have.
#[derive(Clone, Copy, Debug)]
pub struct PerPage {
    /// Without a wish.
    pub default: u32,
    /// At most; a greater wish is capped.
    pub max: u32,
}

impl PerPage {
    /// The rule of most lists.
    pub const USUAL: Self = Self { default: 25, max: 100 };

    /// The size that the query wishes for.
    pub fn wanted(self, query: &Query) -> Result<u32, ApiError> {
        let refused = || ApiError::invalid("per_page", "must be a whole number above zero");
        match query.whole("per_page").map_err(|_| refused())? {
            None => Ok(self.default),
            Some(wish) if wish < 1 => Err(refused()),
            Some(wish) => Ok(u32::try_from(wish).unwrap_or(u32::MAX).min(self.max)),
        }
    }
}

/// What a cursor is good for.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// Organization ID.
    pub org: &'a str,
    /// The route's template, and whatever else tells one list from another: the path's ids, the filters.
    pub list: &'a str,
}

/// Makes cursors and reads them back.
pub struct Cursors {
    key: hmac::Key,
}

impl Cursors {
    /// Seals with `key`, which all nodes share and keep.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, key) }
    }

    /// The cursor of a place in a list. `place` should be short: it travels in the URL.
    pub fn seal(&self, binding: Binding<'_>, place: &[u8]) -> String {
        let mut bytes = Vec::with_capacity(1 + place.len() + SEAL);
        bytes.push(VERSION);
        bytes.extend_from_slice(place);
        bytes.extend_from_slice(&self.tag(binding, place));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The place at which the query wishes to go on: `next`, or else `cursor`; `None` without either, and for an empty one.
    pub fn wanted(&self, query: &Query, binding: Binding<'_>) -> Result<Option<Vec<u8>>, ApiError> {
        for name in ["next", "cursor"] {
            let Some(cursor) = query.text(name)?.filter(|cursor: &Cow<'_, str>| !cursor.is_empty()) else { continue };
            let refused = || ApiError::invalid(name, CURSOR_RULE);
            return self.open(binding, &cursor).map(Some).ok_or_else(refused);
        }
        Ok(None)
    }

    fn open(&self, binding: Binding<'_>, cursor: &str) -> Option<Vec<u8>> {
        if cursor.len() > CURSOR_CHARS_MAX {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (&version, rest) = bytes.split_first()?;
        let (place, seal) = rest.split_at_checked(rest.len().checked_sub(SEAL)?)?;
        let genuine = seal.ct_eq(&self.tag(binding, place));
        (version == VERSION && bool::from(genuine)).then(|| place.to_vec())
    }

    /// Each part is preceded by its length, so that no two bindings read the same.
    fn tag(&self, binding: Binding<'_>, place: &[u8]) -> [u8; SEAL] {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(&[VERSION]);
        for part in [binding.org.as_bytes(), binding.list.as_bytes(), place] {
            context.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            context.update(part);
        }
        let mut seal = [0; SEAL];
        seal.copy_from_slice(&context.sign().as_ref()[..SEAL]);
        seal
    }
}

#[cfg(test)]
mod tests {
    use percent_encoding::{NON_ALPHANUMERIC, percent_encode};

    use super::*;
    use crate::error::Code;

    const JOBS: Binding<'_> = Binding { org: "org_a", list: "/v1/jobs" };

    fn query(name: &str, value: &[u8]) -> Query {
        Query::of(&format!("/v1/jobs?{name}={}", percent_encode(value, NON_ALPHANUMERIC)).parse().unwrap())
    }

    fn cursors() -> Cursors {
        Cursors::new(&[7; 32])
    }

    #[test]
    fn a_cursor_leads_back_to_its_place() {
        for place in [&b""[..], b"1", b"\0\xff job", &[9; 700]] {
            let cursor = cursors().seal(JOBS, place);
            for name in ["next", "cursor"] {
                assert_eq!(cursors().wanted(&query(name, cursor.as_bytes()), JOBS).unwrap().as_deref(), Some(place));
            }
        }
        assert_eq!(cursors().wanted(&Query::default(), JOBS).unwrap(), None);
        assert_eq!(cursors().wanted(&query("next", b""), JOBS).unwrap(), None);
    }

    #[test]
    fn next_wins_over_cursor() {
        let [first, second] = [b"first", b"secon"].map(|place| cursors().seal(JOBS, place));
        let both = Query::of(&format!("/v1/jobs?cursor={second}&next={first}").parse().unwrap());
        assert_eq!(cursors().wanted(&both, JOBS).unwrap().unwrap(), b"first");
        let broken = Query::of(&format!("/v1/jobs?cursor={second}&next=x").parse().unwrap());
        assert_eq!(cursors().wanted(&broken, JOBS).unwrap_err().code(), Code::InvalidRequest);
    }

    #[test]
    fn every_flipped_bit_is_a_400() {
        for number in 0..100_u32 {
            let cursor = cursors().seal(JOBS, number.to_string().as_bytes()).into_bytes();
            for bit in 0..cursor.len() * 8 {
                let mut edited = cursor.clone();
                edited[bit / 8] ^= 1 << (bit % 8);
                let error = cursors().wanted(&query("next", &edited), JOBS).unwrap_err();
                assert_eq!(error.code(), Code::InvalidRequest, "bit {bit} of {number}");
            }
        }
    }

    #[test]
    fn cut_lengthened_and_foreign_cursors_are_a_400() {
        let cursor = cursors().seal(JOBS, b"17");
        let refused = |cursors: &Cursors, cursor: &[u8], binding| {
            let error = cursors.wanted(&query("next", cursor), binding).unwrap_err();
            assert_eq!(error.message(), "next: must be a cursor of this list, sent with the same filters");
        };
        for end in 1..cursor.len() {
            refused(&cursors(), &cursor.as_bytes()[..end], JOBS);
        }
        refused(&cursors(), format!("{cursor}AA").as_bytes(), JOBS);
        refused(&cursors(), format!("{cursor}==").as_bytes(), JOBS);
        refused(&cursors(), &[b'A'; 2_000], JOBS);
        refused(&cursors(), b"' OR 1=1 --", JOBS);
        refused(&cursors(), cursor.as_bytes(), Binding { org: "org_b", ..JOBS });
        refused(&cursors(), cursor.as_bytes(), Binding { list: "/v1/users", ..JOBS });
        refused(&cursors(), cursor.as_bytes(), Binding { org: "org_a/v1", list: "/jobs" });
        refused(&Cursors::new(&[8; 32]), cursor.as_bytes(), JOBS);
    }

    #[test]
    fn pages_have_the_wished_size_up_to_the_most() {
        let size = |text: &str| PerPage::USUAL.wanted(&query("per_page", text.as_bytes()));
        for (wish, expected) in [("1", 1), ("100", 100), ("101", 100), ("99999999999999999999", 100)] {
            assert_eq!(size(wish).unwrap(), expected);
        }
        for refused in ["0", "-1", "x", "", "2.5", "1.0", "1e1", "1e2"] {
            assert_eq!(
                size(refused).unwrap_err().message(),
                "per_page: must be a whole number above zero",
                "{refused}"
            );
        }
        assert_eq!(PerPage::USUAL.wanted(&Query::default()).unwrap(), 25);
    }

    #[test]
    fn the_envelope_says_whether_more_follows() {
        let shown = |list: List<u8>| serde_json::to_string(&list).unwrap();
        assert_eq!(
            shown(List::new(vec![1], Some("abc".into()))),
            r#"{"data":[1],"pagination":{"has_more":true,"next_cursor":"abc"}}"#
        );
        assert_eq!(shown(List::whole(vec![])), r#"{"data":[],"pagination":{"has_more":false,"next_cursor":null}}"#);
    }
}
