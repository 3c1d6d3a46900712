//! The kinds of outcomes of the jobs that this node works on: one list for all chunks of a job, gone with the last of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use probity_store::OrgNo;
use probity_store::jobs::{Fence, JobNo, Kinds};

/// By job.
#[derive(Debug, Default)]
pub(super) struct KindsByJob(Mutex<HashMap<(OrgNo, JobNo), Weak<Kinds>>>);

impl KindsByJob {
    /// The list for a chunk; keep it as long as the chunk is worked on.
    pub(super) fn of(&self, fence: &Fence) -> Arc<Kinds> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kinds) = known.get(&(fence.org, fence.job)).and_then(Weak::upgrade) {
            return kinds;
        }
        known.retain(|_, kinds| kinds.strong_count() > 0);
        let kinds = Arc::new(Kinds::default());
        known.insert((fence.org, fence.job), Arc::downgrade(&kinds));
        kinds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_a_job_share_their_list_while_there_are_any() {
        let chunk = |job, chunk| Fence { org: OrgNo(1), job: JobNo(job), chunk, epoch: 1 };
        let lists = KindsByJob::default();
        let first = lists.of(&chunk(1, 1));
        assert!(Arc::ptr_eq(&first, &lists.of(&chunk(1, 2))));
        let other = lists.of(&chunk(2, 1));
        assert!(!Arc::ptr_eq(&first, &other));
        drop(first);
        let _third = lists.of(&chunk(3, 1));
        assert_eq!(lists.0.lock().unwrap().len(), 2, "the list of a job without chunks is gone");
    }
}
