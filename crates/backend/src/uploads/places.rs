//! Slots for files that are processed at the same time.
//!
//! Counting a file keeps the digests of its addresses in memory. A body may arrive slowly, and a workbook is written to disk
//! before it is sent. There are therefore few slots for each, and even fewer per organization. An organization gets a second one
//! only while half of the slots are free, so slow files of a few organizations leave slots to others.

use std::sync::{Arc, Mutex};

use probity_contract::error::{ApiError, Code};
use probity_engine::locked;
use probity_store::OrgNo;

/// `Retry-After` without a free slot, in seconds.
pub const COME_AGAIN_S: u32 = 5;

/// Message for a file without a free slot.
const FULL: &str = "too many files are being read; try again";

/// Slots of one service. Other services in the process have their own, because their organizations have the same numbers.
#[derive(Debug)]
pub struct FilePlaces {
    /// For files that arrive.
    pub received: Places,
    /// For files that are counted again.
    pub counted: Places,
    /// For workbooks that are written.
    pub workbooks: Places,
}

impl Default for FilePlaces {
    fn default() -> Self {
        Self {
            received: Places::new(8, 2, FULL),
            counted: Places::new(4, 2, FULL),
            workbooks: Places::new(2, 1, "too many workbooks are being written; try again, or use csv"),
        }
    }
}

/// Slots for one kind of work. Clones share them.
#[derive(Clone, Debug)]
pub struct Places {
    /// Organization of each slot that is taken.
    taken: Arc<Mutex<Vec<OrgNo>>>,
    in_all: usize,
    of_org: usize,
    /// Message without a free slot.
    full: &'static str,
}

impl Places {
    pub fn new(in_all: usize, of_org: usize, full: &'static str) -> Self {
        Self { taken: Arc::default(), in_all, of_org, full }
    }

    /// Takes a slot, returned on drop. Fails with 503 if none is left for this organization.
    pub fn take(&self, org: OrgNo) -> Result<UploadSlot, ApiError> {
        let mut taken = locked(&self.taken);
        let own = taken.iter().filter(|other| **other == org).count();
        let there = if own == 0 { self.in_all } else { self.in_all / 2 };
        if own >= self.of_org || taken.len() >= there {
            let busy = ApiError::new(Code::ServiceUnavailable, self.full);
            return Err(busy.retry_after(COME_AGAIN_S));
        }
        taken.push(org);
        Ok(UploadSlot { of: self.clone(), org })
    }
}

#[derive(Debug)]
pub struct UploadSlot {
    of: Places,
    org: OrgNo,
}

impl Drop for UploadSlot {
    fn drop(&mut self) {
        let mut taken = locked(&self.of.taken);
        if let Some(place) = taken.iter().position(|org| *org == self.org) {
            taken.swap_remove(place);
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
        // Half of the slots are taken. From here on, each organization gets one.
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
