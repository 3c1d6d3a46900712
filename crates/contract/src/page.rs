//! Pagination: the envelope of a page, its size, and cursors.
//!
//! A cursor is opaque to clients. It carries the position after which the list continues. A key authenticates the cursor and
//! binds it to the organization and route that it was issued for. A cursor that was edited, cut, or used for another
//! organization or list gets 400, and its content is not read. Cursors are not secret: they hide nothing, but clients cannot
//! forge them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde::Serialize;
use subtle::ConstantTimeEq as _;
use utoipa::ToSchema;
use utoipa::openapi::path::Parameter;

use crate::error::ApiError;
use crate::parameters::{describe_query, per_page, query, text};
use crate::query::{FromQuery, Query};

/// First byte of every cursor. A new format gets a new number, so that old cursors get 400 instead of being misread.
const VERSION: u8 = 1;
/// Length of the authentication tag, in bytes.
const SEAL: usize = 16;
/// Maximum length of a cursor, in characters. Longer ones are not decoded.
const CURSOR_CHARS_MAX: usize = 1_024;
/// Rule for cursors, for error messages. The tag does not reveal which part of the binding differs.
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
    /// Creates a page. The list continues at `next_cursor`, or ends if it is `None`.
    pub fn new(data: Vec<T>, next_cursor: Option<String>) -> Self {
        Self { data, pagination: Pagination { has_more: next_cursor.is_some(), next_cursor } }
    }

    /// Creates a list that has only one page.
    pub fn whole(data: Vec<T>) -> Self {
        Self::new(data, None)
    }
}

/// Cursor that a client sent, with the name of its parameter.
#[derive(Clone, Debug)]
pub struct GivenCursor {
    name: &'static str,
    text: String,
}

impl GivenCursor {
    /// Returns the cursor in `next`, or else in `cursor`. Returns `None` if both are absent or empty.
    pub fn in_query(query: &Query) -> Result<Option<Self>, ApiError> {
        for name in ["next", "cursor"] {
            if let Some(text) = query.filled(name)? {
                return Ok(Some(Self { name, text }));
            }
        }
        Ok(None)
    }

    /// Refuses any cursor, for a list that has only one page and therefore gives out none.
    fn refuse_in(query: &Query) -> Result<(), ApiError> {
        match Self::in_query(query)? {
            None => Ok(()),
            Some(Self { name, .. }) => Err(ApiError::invalid(name, CURSOR_RULE)),
        }
    }
}

/// Position and size of the requested page.
#[derive(Clone, Debug)]
pub struct PageQuery {
    /// Maximum number of rows on the page.
    pub per_page: u32,
    /// Position of the page; `None` for the first page.
    pub cursor: Option<GivenCursor>,
}

impl Default for PageQuery {
    fn default() -> Self {
        Self { per_page: PerPage::USUAL.default, cursor: None }
    }
}

impl FromQuery for PageQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        Ok(Self { per_page: PerPage::USUAL.wanted(query)?, cursor: GivenCursor::in_query(query)? })
    }
}

describe_query!(PageQuery = Self::parameters_of(PerPage::USUAL));

/// Query of a list that has only one page. A size or a cursor that no list has is an error here too.
#[derive(Clone, Copy, Debug)]
pub struct OnePageQuery;

impl FromQuery for OnePageQuery {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        PerPage::USUAL.wanted(query)?;
        GivenCursor::refuse_in(query).map(|()| Self)
    }
}

describe_query! { OnePageQuery:
    "per_page" = "Resources per page, at least 1. The list has one page with all resources, whatever the number.",
        per_page(PerPage::USUAL.default), PerPage::USUAL.default;
}

impl PageQuery {
    /// Describes the parameters of a list with these page sizes.
    pub fn parameters_of(PerPage { default, max }: PerPage) -> Vec<Parameter> {
        let per_page_means =
            format!("Resources per page, 1 to {max}, default {default}; higher values count as {max}.");
        let next_means = "Cursor: `pagination.next_cursor` of the previous page. Omit it, or leave it empty, for \
            the first page.";
        let cursor_means = "Alias of `next`, which takes precedence.";
        let cursor = "MDFoNDU1dmI0cGV4NXZzaw";
        vec![
            query("per_page", &per_page_means, per_page(default), default).build(),
            query("next", next_means, text(), cursor).build(),
            query("cursor", cursor_means, text(), cursor).build(),
        ]
    }
}

/// Page sizes of a list.
#[derive(Clone, Copy, Debug)]
pub struct PerPage {
    /// Page size if the query has none.
    pub default: u32,
    /// Maximum page size; higher values are capped.
    pub max: u32,
}

impl PerPage {
    /// Page sizes of most lists.
    pub const USUAL: Self = Self { default: 25, max: 100 };

    /// Returns the page size that a query asks for.
    pub fn wanted(self, query: &Query) -> Result<u32, ApiError> {
        let refused = || ApiError::invalid("per_page", "must be a whole number above zero");
        match query.whole("per_page").map_err(|_| refused())? {
            None => Ok(self.default),
            Some(wish) if wish < 1 => Err(refused()),
            Some(wish) => Ok(u32::try_from(wish).unwrap_or(u32::MAX).min(self.max)),
        }
    }
}

/// List for which a cursor is valid.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// Organization ID.
    pub org: &'a str,
    /// Template of the route, and everything else that distinguishes lists: IDs in the path, filters.
    pub list: &'a str,
}

/// Creates and verifies cursors.
pub struct Cursors {
    key: hmac::Key,
}

impl Cursors {
    /// Creates an instance that authenticates cursors with `key`. All nodes must share the key and keep it.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, key) }
    }

    /// Returns the cursor of a position in a list. Keep `place` short, because the cursor is part of the URL.
    pub fn seal(&self, binding: Binding<'_>, place: &[u8]) -> String {
        let mut bytes = Vec::with_capacity(1 + place.len() + SEAL);
        bytes.push(VERSION);
        bytes.extend_from_slice(place);
        bytes.extend_from_slice(&self.tag(binding, place));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Returns the position of the cursor, if there is one.
    pub fn place(&self, cursor: Option<&GivenCursor>, binding: Binding<'_>) -> Result<Option<Vec<u8>>, ApiError> {
        let Some(GivenCursor { name, text }) = cursor else { return Ok(None) };
        self.open(binding, text).map(Some).ok_or_else(|| ApiError::invalid(name, CURSOR_RULE))
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

    /// Computes the tag. Each part is preceded by its length, so that no two bindings give the same input.
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

    fn place(cursors: &Cursors, query: &Query, binding: Binding<'_>) -> Result<Option<Vec<u8>>, ApiError> {
        cursors.place(GivenCursor::in_query(query)?.as_ref(), binding)
    }

    #[test]
    fn a_cursor_leads_back_to_its_place() {
        for stand in [&b""[..], b"1", b"\0\xff job", &[9; 700]] {
            let cursor = cursors().seal(JOBS, stand);
            for name in ["next", "cursor"] {
                assert_eq!(place(&cursors(), &query(name, cursor.as_bytes()), JOBS).unwrap().as_deref(), Some(stand));
            }
        }
        assert_eq!(place(&cursors(), &Query::default(), JOBS).unwrap(), None);
        assert_eq!(place(&cursors(), &query("next", b""), JOBS).unwrap(), None);
    }

    #[test]
    fn next_wins_over_cursor() {
        let [first, second] = [b"first", b"secon"].map(|place| cursors().seal(JOBS, place));
        let both = Query::of(&format!("/v1/jobs?cursor={second}&next={first}").parse().unwrap());
        assert_eq!(place(&cursors(), &both, JOBS).unwrap().unwrap(), b"first");
        let broken = Query::of(&format!("/v1/jobs?cursor={second}&next=x").parse().unwrap());
        assert_eq!(place(&cursors(), &broken, JOBS).unwrap_err().code(), Code::InvalidRequest);
    }

    #[test]
    fn a_list_with_one_page_has_no_cursor() {
        for name in ["next", "cursor"] {
            assert!(OnePageQuery::from_query(&query(name, b"")).is_ok());
            for text in [cursors().seal(JOBS, b"17").as_bytes(), b"x"] {
                let error = OnePageQuery::from_query(&query(name, text)).unwrap_err();
                assert_eq!(error.message(), format!("{name}: {CURSOR_RULE}"));
            }
        }
    }

    #[test]
    fn every_flipped_bit_is_a_400() {
        for number in 0..100_u32 {
            let cursor = cursors().seal(JOBS, number.to_string().as_bytes()).into_bytes();
            for bit in 0..cursor.len() * 8 {
                let mut edited = cursor.clone();
                edited[bit / 8] ^= 1 << (bit % 8);
                let error = place(&cursors(), &query("next", &edited), JOBS).unwrap_err();
                assert_eq!(error.code(), Code::InvalidRequest, "bit {bit} of {number}");
            }
        }
    }

    #[test]
    fn cut_lengthened_and_foreign_cursors_are_a_400() {
        let cursor = cursors().seal(JOBS, b"17");
        let refused = |cursors: &Cursors, cursor: &[u8], binding| {
            let error = place(cursors, &query("next", cursor), binding).unwrap_err();
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
