//! One page that a query asks for, of a list in a fixed order.
//!
//! A list is read with one row more than the page has: that row only tells that the list goes on. The cursor names the page's
//! last row, so rows that come or go meanwhile neither repeat others nor hide them.

use probity_account::id::Id;
use probity_mail::time::Millis;
use probity_store::OrgNo;
use probity_store::jobs::JobNo;

use crate::error::ApiError;
use crate::page::{Binding, CURSOR_RULE, Cursors, List, PerPage};
use crate::query::Query;

/// Where a row stands in the order of its list.
pub trait Place: Sized {
    /// What a cursor keeps of it.
    fn to_bytes(&self) -> Vec<u8>;
    /// The place that a cursor has kept; `None` for bytes that are none.
    fn of_bytes(bytes: &[u8]) -> Option<Self>;
}

/// In lists by time, of rows that have ids.
impl<K> Place for (Millis, Id<K>) {
    fn to_bytes(&self) -> Vec<u8> {
        [&self.0.0.to_be_bytes()[..], &self.1.bits().to_be_bytes()].concat()
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (at, id) = bytes.split_first_chunk()?;
        Some((Millis(i64::from_be_bytes(*at)), Id::from_bits(u128::from_be_bytes(id.try_into().ok()?))))
    }
}

/// In lists by time, of jobs.
impl Place for (Millis, JobNo) {
    fn to_bytes(&self) -> Vec<u8> {
        [self.0.0.to_be_bytes(), self.1.0.to_be_bytes()].concat()
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (at, no) = bytes.split_first_chunk()?;
        Some((Millis(i64::from_be_bytes(*at)), JobNo(i64::from_be_bytes(no.try_into().ok()?))))
    }
}

/// In lists whose pages end with a whole moment.
impl Place for Millis {
    fn to_bytes(&self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(i64::from_be_bytes(bytes.try_into().ok()?)))
    }
}

/// In lists by the order in which organizations were made.
impl Place for OrgNo {
    fn to_bytes(&self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(i64::from_be_bytes(bytes.try_into().ok()?)))
    }
}

/// A page that was asked for.
pub struct Asked<'a, P> {
    cursors: &'a Cursors,
    org: String,
    list: String,
    /// How many rows the page has at most.
    pub per_page: u32,
    /// After which row it begins; `None`: with the first.
    pub after: Option<P>,
}

impl<'a, P: Place> Asked<'a, P> {
    /// What `query` asks for of the list that [`Binding`] would name by `org` and `list`.
    pub fn of(
        cursors: &'a Cursors,
        query: &Query,
        org: impl Into<String>,
        list: impl Into<String>,
    ) -> Result<Self, ApiError> {
        let per_page = PerPage::USUAL.wanted(query)?;
        let (org, list) = (org.into(), list.into());
        let refused = || ApiError::invalid("next", CURSOR_RULE);
        let after = cursors.wanted(query, Binding { org: &org, list: &list })?;
        let after = after.map(|place| P::of_bytes(&place).ok_or_else(refused)).transpose()?;
        Ok(Self { cursors, org, list, per_page, after })
    }

    /// How many rows to read: one more than the page has.
    pub fn at_most(&self) -> i64 {
        i64::from(self.per_page) + 1
    }

    /// Takes off the row that is one too many, and gives the cursor to go on with if there was one.
    pub fn cut<R>(&self, rows: &mut Vec<R>, place: impl Fn(&R) -> P) -> Option<String> {
        let wanted = usize::try_from(self.per_page).unwrap_or(usize::MAX);
        let more = rows.len() > wanted;
        rows.truncate(wanted);
        rows.last().filter(|_| more).map(|last| self.cursor(&place(last)))
    }

    /// The page of these rows, of which there may be one too many.
    pub fn list<R, T>(&self, mut rows: Vec<R>, place: impl Fn(&R) -> P, shown: impl FnMut(R) -> T) -> List<T> {
        let next = self.cut(&mut rows, place);
        List::new(rows.into_iter().map(shown).collect(), next)
    }

    /// The cursor with which the list goes on behind a place.
    pub fn cursor(&self, place: &P) -> String {
        self.cursors.seal(Binding { org: &self.org, list: &self.list }, &place.to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use probity_account::id::WebhookId;

    use super::*;

    fn back<P: Place + PartialEq + std::fmt::Debug>(place: P) {
        let bytes = place.to_bytes();
        assert_eq!(P::of_bytes(&bytes), Some(place));
        assert_eq!(P::of_bytes(&bytes[1..]), None);
        assert_eq!(P::of_bytes(&[&bytes[..], &[0]].concat()), None);
    }

    #[test]
    fn a_place_comes_back_from_its_bytes_and_from_no_others() {
        back((Millis(-1), WebhookId::from_bits(u128::MAX)));
        back((Millis(i64::MAX), JobNo(i64::MIN)));
        back(Millis(7));
        back(OrgNo(7));
    }

    #[test]
    fn the_row_that_is_one_too_many_only_says_that_there_are_more() {
        let cursors = Cursors::new(&[7; 32]);
        let query = Query::of(&"/v1/x?per_page=2".parse().unwrap());
        let asked = Asked::<Millis>::of(&cursors, &query, "org_a", "/v1/x").unwrap();
        assert_eq!(asked.at_most(), 3);
        for (there, shown, more) in [(0, 0, false), (2, 2, false), (3, 2, true)] {
            let page: List<i64> = asked.list((0..there).collect(), |row| Millis(*row), |row| row);
            assert_eq!((page.data.len(), page.pagination.has_more), (shown, more), "{there} rows");
            let Some(cursor) = page.pagination.next_cursor else { continue };
            let query = Query::of(&format!("/v1/x?next={cursor}").parse().unwrap());
            assert_eq!(Asked::<Millis>::of(&cursors, &query, "org_a", "/v1/x").unwrap().after, Some(Millis(1)));
            assert!(Asked::<Millis>::of(&cursors, &query, "org_a", "/v1/y").is_err());
            assert!(Asked::<(Millis, JobNo)>::of(&cursors, &query, "org_a", "/v1/x").is_err());
        }
    }
}
