//! How many file descriptors this process may have, and what follows for the number of sessions.
//!
//! Running out of descriptors looks like a failing network at every place at once. So the limit is raised as far as the
//! system allows at the start, and everything that opens sockets gets a share below it.

/// The share of descriptors for everything that is not a mail session: listeners, database, clients of the API, DNS.
const RESERVED: u64 = 4_096;

/// The most sessions one process holds, however many descriptors there are: at the 64 KiB that a session may cost this is 4 GiB.
const SESSIONS_MAX: usize = 65_536;

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
}
