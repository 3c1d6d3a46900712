//! How many file descriptors this process may have, and what follows for the number of sessions.
//!
//! Running out of descriptors looks like a failing network at every place at once. So the limit is raised as far as the
//! system allows at the start, and everything that opens sockets gets a share below it.

/// The share of descriptors for everything that is not a mail session: listeners, database, clients of the API, DNS.
const RESERVED: u64 = 4_096;

/// The most sessions one process holds, however many descriptors there are: at the 64 KiB that a session may cost this is 4 GiB.
const SESSIONS_MAX: usize = 65_536;

/// The most questions to resolvers in flight, however many descriptors there are.
const QUESTIONS_MAX: usize = 1_024;

/// The most descriptors that one question takes: datagrams are repeated from sockets of their own.
const PER_QUESTION: u64 = 3;

/// The number of descriptors that this process may have open, after raising the soft limit to the hard one. Where the limit
/// cannot be raised it stays, and where it cannot be read it is taken for 1,024, the customary soft limit.
pub fn descriptor_limit() -> u64 {
    rlimit::increase_nofile_limit(u64::MAX)
        .or_else(|_| rlimit::getrlimit(rlimit::Resource::NOFILE).map(|(soft, _hard)| soft))
        .unwrap_or(1_024)
}

/// How many mail sessions fit under a limit of descriptors: what remains beside the reserve, at least half of all.
pub fn sessions_max(descriptors: u64) -> usize {
    let share = descriptors.saturating_sub(RESERVED).max(descriptors / 2);
    usize::try_from(share).unwrap_or(SESSIONS_MAX).clamp(1, SESSIONS_MAX)
}

/// How many questions to resolvers may be in flight under a limit of descriptors: as many as a quarter of them is enough for,
/// so that half for the sessions and a quarter for all else remain.
pub fn questions_max(descriptors: u64) -> usize {
    usize::try_from(descriptors / 4 / PER_QUESTION).unwrap_or(QUESTIONS_MAX).clamp(1, QUESTIONS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raises_the_limit() {
        let limit = descriptor_limit();
        let (soft, _) = rlimit::getrlimit(rlimit::Resource::NOFILE).unwrap();
        assert_eq!(soft, limit);
        assert_eq!(descriptor_limit(), limit);
    }

    #[test]
    fn sessions_stay_below_the_limit() {
        for (descriptors, sessions) in
            [(0, 1), (64, 32), (1_024, 512), (8_192, 4_096), (20_000, 15_904), (1_048_576, 65_536), (u64::MAX, 65_536)]
        {
            assert_eq!(sessions_max(descriptors), sessions, "{descriptors}");
        }
    }
    #[test]
    fn questions_and_sessions_leave_room_under_a_low_limit() {
        for (descriptors, questions) in [(0, 1), (64, 5), (1_024, 85), (20_000, 1_024), (u64::MAX, 1_024)] {
            assert_eq!(questions_max(descriptors), questions, "{descriptors}");
        }
        for descriptors in [64, 256, 1_024, 4_096] {
            let used = 3 * questions_max(descriptors) + sessions_max(descriptors);
            assert!(u64::try_from(used).unwrap() <= descriptors * 3 / 4, "{descriptors}");
        }
    }
}
