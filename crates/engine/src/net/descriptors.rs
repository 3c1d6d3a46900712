//! File descriptor limits, and the number of sessions they allow.
//!
//! Running out of descriptors looks like a network failure everywhere at once. So the limit is raised as far as possible at the
//! start, and everything that opens sockets gets a share below it.

/// Maximum sessions of a process, however many descriptors it has: at up to 64 KiB per session, 4 GiB.
const SESSIONS_MAX: usize = 65_536;

/// Maximum DNS queries in flight, however many descriptors there are.
const QUESTIONS_MAX: usize = 1_024;

/// Maximum descriptors per query: each repeated datagram has its own socket.
const PER_QUESTION: u64 = 3;

/// Number of descriptors that this process may open, after raising the soft limit to the hard one. If it cannot be raised, it
/// stays; if it cannot be read, it counts as 1,024, the usual soft limit.
pub fn descriptor_limit() -> u64 {
    rlimit::increase_nofile_limit(u64::MAX)
        .or_else(|_| rlimit::getrlimit(rlimit::Resource::NOFILE).map(|(soft, _hard)| soft))
        .unwrap_or(1_024)
}

/// Number of SMTP sessions that a descriptor limit allows if there are no clients.
pub fn sessions_max(descriptors: u64) -> usize {
    fitting(descriptors, DescriptorShares { sessions: SESSIONS_MAX, connections: 0 }).sessions
}

/// Descriptors for the process itself: database, listeners, files, deliveries, mail.
const OWN: u64 = 100;

/// Concurrent SMTP sessions and client connections of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorShares {
    /// Sessions with MX hosts.
    pub sessions: usize,
    /// Client connections.
    pub connections: usize,
}

/// Reduces the shares to a descriptor limit, after the process itself and DNS queries. If not everything fits, a third of the room
/// is left to clients, so that the service stays reachable.
pub fn fitting(descriptors: u64, wanted: DescriptorShares) -> DescriptorShares {
    let questions = u64::try_from(questions_max(descriptors)).unwrap_or(u64::MAX).saturating_mul(PER_QUESTION);
    let room = descriptors.saturating_sub(OWN.min(descriptors / 2)).saturating_sub(questions);
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    let connections = wanted.connections.min(room.saturating_sub(wanted.sessions).max(room / 3)).max(1);
    let sessions = wanted.sessions.min(room.saturating_sub(connections)).max(1);
    DescriptorShares { sessions, connections }
}

/// Number of DNS queries that may be in flight under a descriptor limit: they use at most a quarter of it, so that three quarters
/// remain for sessions and everything else.
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
            [(0, 1), (64, 16), (1_024, 668), (8_192, 6_045), (20_000, 16_827), (1_048_576, 65_536), (u64::MAX, 65_536)]
        {
            assert_eq!(sessions_max(descriptors), sessions, "{descriptors}");
        }
    }

    #[test]
    fn a_service_fits_under_its_limit() {
        let wanted = DescriptorShares { sessions: 1_000, connections: 10_000 };
        for (descriptors, sessions, connections) in [
            (0, 1, 1),
            (64, 12, 5),
            (256, 62, 31),
            (1_024, 446, 223),
            (4_096, 1_000, 1_973),
            (65_536, 1_000, 10_000),
            (u64::MAX, 1_000, 10_000),
        ] {
            let shares = fitting(descriptors, wanted);
            assert_eq!(shares, DescriptorShares { sessions, connections }, "{descriptors}");
            let used = sessions + connections + 3 * questions_max(descriptors);
            assert!(descriptors < 8 || u64::try_from(used).unwrap() + OWN.min(descriptors / 2) <= descriptors);
        }
        let few = DescriptorShares { sessions: 3, connections: 5 };
        assert_eq!(fitting(64, few), few);
    }

    #[test]
    fn questions_and_sessions_leave_room_under_a_low_limit() {
        for (descriptors, questions) in [(0, 1), (64, 5), (1_024, 85), (20_000, 1_024), (u64::MAX, 1_024)] {
            assert_eq!(questions_max(descriptors), questions, "{descriptors}");
        }
        for descriptors in [64, 256, 1_024, 4_096] {
            let used = 3 * questions_max(descriptors) + sessions_max(descriptors);
            assert!(u64::try_from(used).unwrap() + OWN.min(descriptors / 2) < descriptors, "{descriptors}");
        }
    }
}
