//! Steps of a story, and the generation of stories.

use proptest::prelude::*;

/// Number of steps in a story.
const STEPS: std::ops::Range<usize> = 1..240;

/// A step. Jobs, claims and holders are given by position, mostly one of the last.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// A client submits a list with this many distinct addresses.
    Submit { rows: i64, distinct: i64 },
    /// A client submits half a list.
    BreakOff,
    /// An importer claims a job.
    ClaimImport,
    /// An importer works on a job, possibly not to the end.
    Import { claim: u8, finish: bool },
    /// A worker claims chunks of a job.
    Claim { job: u8, at_most: i64 },
    /// A holder extends its lease.
    Extend { holder: u8 },
    /// A holder settles this many results.
    Settle { holder: u8, keep: usize, salt: u8, then: Rest, fate: Fate },
    /// A holder releases its chunk.
    Free { holder: u8 },
    /// A holder loses its state.
    Die { holder: u8 },
    /// The customer cancels a job.
    Cancel { job: u8 },
    /// The system stops a job.
    ForceStop { job: u8 },
    /// A live call ends and is charged.
    Call,
    /// Time passes.
    Wait { ms: i64 },
    /// Maintenance: incomplete submissions, old ledger rows.
    Sweep,
    /// Packs results of closed jobs.
    Pack,
    /// Removes rows of jobs that were closed this many days ago.
    Purge { days: i64 },
}

/// Treatment of a chunk's rows without results when a part is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// The holder continues with them.
    IsWorkedOn,
    /// They are deferred to a new chunk; the holder is finished.
    IsPutOff,
    /// They stay in the chunk, which is released.
    Stays,
    /// The first is deferred to a new chunk, the others stay.
    IsParted,
}

/// Fate of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Committed and acknowledged.
    Told,
    /// Committed without acknowledgment, so the writer repeats it.
    Untold,
    /// Lost before the commit, and the writer dies.
    Lost,
}

/// A day, in milliseconds.
pub(super) const DAY_MS: i64 = 86_400_000;

/// Stories.
pub(super) fn story() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), STEPS)
}

fn op() -> impl Strategy<Value = Op> {
    let fate = prop_oneof![8 => Just(Fate::Told), 2 => Just(Fate::Untold), 1 => Just(Fate::Lost)];
    let rest = prop_oneof![
        2 => Just(Rest::IsWorkedOn),
        1 => Just(Rest::IsPutOff),
        1 => Just(Rest::Stays),
        1 => Just(Rest::IsParted),
    ];
    let batch = prop_oneof![
        3 => (1_i64..8, 1_i64..8).prop_map(|(rows, distinct)| Op::Submit { rows, distinct: distinct.min(rows) }),
        5 => Just(Op::ClaimImport),
        6 => (any::<u8>(), prop::bool::weighted(0.8)).prop_map(|(claim, finish)| Op::Import { claim, finish }),
        8 => (any::<u8>(), 1_i64..4).prop_map(|(job, at_most)| Op::Claim { job, at_most }),
        2 => any::<u8>().prop_map(|holder| Op::Extend { holder }),
        16 => (any::<u8>(), 0_usize..3, any::<u8>(), rest, fate)
            .prop_map(|(holder, keep, salt, then, fate)| Op::Settle { holder, keep, salt, then, fate }),
        1 => any::<u8>().prop_map(|holder| Op::Free { holder }),
        1 => any::<u8>().prop_map(|holder| Op::Die { holder }),
        1 => any::<u8>().prop_map(|job| Op::Cancel { job }),
        1 => any::<u8>().prop_map(|job| Op::ForceStop { job }),
    ];
    let other = prop_oneof![
        2 => Just(Op::BreakOff),
        8 => Just(Op::Call),
        8 => prop_oneof![Just(1_i64), Just(5_000), Just(60_000)].prop_map(|ms| Op::Wait { ms }),
        1 => Just(Op::Wait { ms: DAY_MS }),
        4 => Just(Op::Sweep),
        4 => Just(Op::Pack),
        1 => (0_i64..2).prop_map(|days| Op::Purge { days }),
    ];
    prop_oneof![3 => batch, 1 => other]
}
