//! Reads one requested page of a list in a fixed order.
//!
//! A query reads one row more than the page has: that row only shows that the list continues. The cursor names the last row of
//! the page, so rows added or removed meanwhile neither repeat nor hide others.

use probity_account::id::{Id, IdKind};
use probity_mail::time::Millis;
use probity_store::OrgNo;
use probity_store::jobs::JobNo;

use crate::error::ApiError;
use crate::page::{Binding, CURSOR_RULE, Cursors, List, PageQuery};

/// Position of a row in the order of its list.
pub trait ListPlace: Sized {
    /// Returns the bytes that a cursor carries.
    fn to_bytes(&self) -> Vec<u8>;
    /// Parses the bytes of a cursor; `None` if they have another form.
    fn of_bytes(bytes: &[u8]) -> Option<Self>;
}

/// For lists by time whose rows have IDs.
impl<K: IdKind> ListPlace for (Millis, Id<K>) {
    fn to_bytes(&self) -> Vec<u8> {
        [&self.0.0.to_be_bytes()[..], &self.1.bits().to_be_bytes()].concat()
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (at, id) = bytes.split_first_chunk()?;
        Some((Millis(i64::from_be_bytes(*at)), Id::from_bits(u128::from_be_bytes(id.try_into().ok()?))))
    }
}

/// For lists by time whose rows have texts as IDs.
impl ListPlace for (Millis, String) {
    fn to_bytes(&self) -> Vec<u8> {
        [&self.0.0.to_be_bytes()[..], self.1.as_bytes()].concat()
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (at, id) = bytes.split_first_chunk()?;
        Some((Millis(i64::from_be_bytes(*at)), String::from_utf8(id.to_vec()).ok()?))
    }
}

/// For lists of jobs by time.
impl ListPlace for (Millis, JobNo) {
    fn to_bytes(&self) -> Vec<u8> {
        [self.0.0.to_be_bytes(), self.1.0.to_be_bytes()].concat()
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (at, no) = bytes.split_first_chunk()?;
        Some((Millis(i64::from_be_bytes(*at)), JobNo(i64::from_be_bytes(no.try_into().ok()?))))
    }
}

/// For lists of rows of several jobs.
impl ListPlace for (JobNo, i64) {
    fn to_bytes(&self) -> Vec<u8> {
        [self.0.0.to_be_bytes(), self.1.to_be_bytes()].concat()
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (no, row) = bytes.split_first_chunk()?;
        Some((JobNo(i64::from_be_bytes(*no)), i64::from_be_bytes(row.try_into().ok()?)))
    }
}

/// For lists of rows of several jobs by time.
impl ListPlace for (Millis, JobNo, i64) {
    fn to_bytes(&self) -> Vec<u8> {
        [self.0.0.to_be_bytes(), self.1.0.to_be_bytes(), self.2.to_be_bytes()].concat()
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (at, rest) = bytes.split_first_chunk()?;
        let (no, row) = rest.split_first_chunk()?;
        let (at, no) = (Millis(i64::from_be_bytes(*at)), JobNo(i64::from_be_bytes(*no)));
        Some((at, no, i64::from_be_bytes(row.try_into().ok()?)))
    }
}

/// For lists whose pages never split the rows of one millisecond.
impl ListPlace for Millis {
    fn to_bytes(&self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(i64::from_be_bytes(bytes.try_into().ok()?)))
    }
}

/// For lists in the order in which organizations were created.
impl ListPlace for OrgNo {
    fn to_bytes(&self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(i64::from_be_bytes(bytes.try_into().ok()?)))
    }
}

/// Requested page.
pub struct AskedPage<'a, P> {
    cursors: &'a Cursors,
    org: String,
    list: String,
    /// Maximum number of rows on the page.
    pub per_page: u32,
    /// Position after which the page begins; `None` for the first page.
    pub after: Option<P>,
}

impl<'a, P: ListPlace> AskedPage<'a, P> {
    /// Parses the page that `query` asks for, of the list that a [`Binding`] of `org` and `list` names.
    pub fn of(
        cursors: &'a Cursors,
        query: &PageQuery,
        org: impl Into<String>,
        list: impl Into<String>,
    ) -> Result<Self, ApiError> {
        let per_page = query.per_page;
        let (org, list) = (org.into(), list.into());
        let refused = || ApiError::invalid("next", CURSOR_RULE);
        let after = cursors.place(query.cursor.as_ref(), Binding { org: &org, list: &list })?;
        let after = after.map(|place| P::of_bytes(&place).ok_or_else(refused)).transpose()?;
        Ok(Self { cursors, org, list, per_page, after })
    }

    /// Returns the number of rows to read: one more than the page has.
    pub fn at_most(&self) -> i64 {
        i64::from(self.per_page) + 1
    }

    /// Removes the surplus row. Returns the cursor of the next page if there was one.
    pub fn cut<R>(&self, rows: &mut Vec<R>, place: impl Fn(&R) -> P) -> Option<String> {
        let wanted = usize::try_from(self.per_page).unwrap_or(usize::MAX);
        let more = rows.len() > wanted;
        rows.truncate(wanted);
        rows.last().filter(|_| more).map(|last| self.cursor(&place(last)))
    }

    /// Builds the page from these rows, which may include the surplus row.
    pub fn list<R, T>(&self, mut rows: Vec<R>, place: impl Fn(&R) -> P, shown: impl FnMut(R) -> T) -> List<T> {
        let next = self.cut(&mut rows, place);
        List::new(rows.into_iter().map(shown).collect(), next)
    }

    /// Returns the cursor of the page after a position.
    pub fn cursor(&self, place: &P) -> String {
        self.cursors.seal(Binding { org: &self.org, list: &self.list }, &place.to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use crate::query::{FromQuery as _, Query};
    use probity_account::id::WebhookId;

    use super::*;

    fn back<P: ListPlace + PartialEq + std::fmt::Debug>(place: P) {
        let bytes = place.to_bytes();
        assert_eq!(P::of_bytes(&bytes), Some(place));
        assert_eq!(P::of_bytes(&bytes[1..]), None);
        assert_eq!(P::of_bytes(&[&bytes[..], &[0]].concat()), None);
    }

    #[test]
    fn a_place_comes_back_from_its_bytes_and_from_no_others() {
        back((Millis(-1), WebhookId::from_bits(u128::MAX)));
        back((Millis(i64::MAX), JobNo(i64::MIN)));
        back((Millis(1), JobNo(2), i64::MAX));
        back(Millis(7));
        let place = (Millis(7), "req_1".to_owned());
        assert_eq!(<(Millis, String)>::of_bytes(&place.to_bytes()), Some(place));
        back(OrgNo(7));
    }

    #[test]
    fn the_row_that_is_one_too_many_only_says_that_there_are_more() {
        let cursors = Cursors::new(&[7; 32]);
        let query = PageQuery { per_page: 2, cursor: None };
        let asked = AskedPage::<Millis>::of(&cursors, &query, "org_a", "/v1/x").unwrap();
        assert_eq!(asked.at_most(), 3);
        for (there, shown, more) in [(0, 0, false), (2, 2, false), (3, 2, true)] {
            let page: List<i64> = asked.list((0..there).collect(), |row| Millis(*row), |row| row);
            assert_eq!((page.data.len(), page.pagination.has_more), (shown, more), "{there} rows");
            let Some(cursor) = page.pagination.next_cursor else { continue };
            let query = Query::of(&format!("/v1/x?next={cursor}").parse().unwrap());
            let query = PageQuery::from_query(&query).unwrap();
            assert_eq!(AskedPage::<Millis>::of(&cursors, &query, "org_a", "/v1/x").unwrap().after, Some(Millis(1)));
            assert!(AskedPage::<Millis>::of(&cursors, &query, "org_a", "/v1/y").is_err());
            assert!(AskedPage::<(Millis, JobNo)>::of(&cursors, &query, "org_a", "/v1/x").is_err());
        }
    }
}
