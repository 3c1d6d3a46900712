//! How many files are worked on at a time.
//!
//! Counting a file has the digests of its addresses in memory, a body may take its time, and a workbook is written on disk
//! before it
//! is sent. So there are few places for each, and of those an organization may have fewer still. More than one it has only while
//! half of the places are free: however slow the files of a few are, those who have none find a place.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use probity_store::OrgNo;

use crate::error::{ApiError, Code};

/// When somebody for whom there was no place should come again, in seconds.
pub const COME_AGAIN_S: u32 = 5;

/// What somebody is told for whose file there is no place.
pub const FULL: &str = "too many files are being read; try again";

/// Places for one kind of work.
#[derive(Debug)]
pub struct Places {
    taken: Mutex<BTreeMap<OrgNo, usize>>,
    in_all: usize,
    of_org: usize,
    /// What somebody is told for whom there is none.
    full: &'static str,
}

impl Places {
    pub const fn new(in_all: usize, of_org: usize, full: &'static str) -> Self {
        Self { taken: Mutex::new(BTreeMap::new()), in_all, of_org, full }
    }

    /// A place, until it is dropped; 503 where none is left for this organization.
    pub fn take(&self, org: OrgNo) -> Result<Place<'_>, ApiError> {
        let mut taken = self.taken();
        let own = taken.get(&org).copied().unwrap_or(0);
        let there = if own == 0 { self.in_all } else { self.in_all / 2 };
        if own >= self.of_org || taken.values().sum::<usize>() >= there {
            let busy = ApiError::new(Code::ServiceUnavailable, self.full);
            return Err(busy.retry_after(COME_AGAIN_S));
        }
        taken.insert(org, own + 1);
        Ok(Place { of: self, org })
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<OrgNo, usize>> {
        // Numbers are whole after each step.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place that is taken.
#[derive(Debug)]
pub struct Place<'a> {
    of: &'a Places,
    org: OrgNo,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.of.taken();
        match taken.get_mut(&self.org) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(taken.remove(&self.org)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_all_places_and_each_comes_free() {
        let places = Places::new(4, 2, "full");
        let [one, other, third, fourth] = [1, 2, 3, 4].map(OrgNo);
        let first = places.take(one).unwrap();
        let second = places.take(one).unwrap();
        assert!(places.take(one).is_err());
        // Half of the places are taken: from here on everybody has one.
        let last = places.take(other).unwrap();
        assert!(places.take(other).is_err());
        let _third = places.take(third).unwrap();
        assert!(places.take(fourth).is_err());
        drop(first);
        assert!(places.take(one).is_err());
        let _fourth = places.take(fourth).unwrap();
        drop(last);
        drop(second);
        let _again = places.take(one).unwrap();
        assert!(places.take(one).is_err());
    }
}
