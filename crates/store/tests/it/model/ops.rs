//! The steps of a story, and how stories are made.

use proptest::prelude::*;

/// Steps of a story.
const STEPS: std::ops::Range<usize> = 1..240;

/// A step. Jobs, claims and holders are meant by their places, mostly one of the last.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// Somebody submits a list, of which so many addresses are distinct.
    Submit { rows: i64, distinct: i64 },
    /// Somebody submits half a list.
    BreakOff,
    /// An importer takes a job up.
    ClaimImport,
    /// An importer does its work, perhaps not to the end.
    Import { claim: u8, finish: bool },
    /// A worker takes chunks of a job up.
    Claim { job: u8, at_most: i64 },
    /// A holder shows that it lives.
    Extend { holder: u8 },
    /// A holder settles so many results.
    Settle { holder: u8, keep: usize, salt: u8, then: Rest, fate: Fate },
    /// A holder lets its chunk go.
    Free { holder: u8 },
    /// A holder forgets what it has.
    Die { holder: u8 },
    /// The customer stops a job.
    Cancel { job: u8 },
    /// The system stops a job.
    ForceStop { job: u8 },
    /// A live call comes to its end and is charged.
    Call,
    /// Time goes by.
    Wait { ms: i64 },
    /// Upkeep: submissions that broke off, old rows of the ledger.
    Sweep,
    /// Results of closed jobs are packed.
    Pack,
    /// Rows of jobs that were closed so long ago, in days, are removed.
    Purge { days: i64 },
}

/// What becomes of the rows of a chunk that have no results yet, when a part is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// The holder goes on with them.
    IsWorkedOn,
    /// They wait in a chunk of their own; the holder has come to its end.
    IsPutOff,
    /// They wait in the same chunk, which is let go.
    Stays,
    /// The first waits in a chunk of its own, the others in the same chunk.
    IsParted,
}

/// What becomes of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is written, and its writer is told.
    Told,
    /// It is written, its writer does not know, and writes it again.
    Untold,
    /// It is lost before it stands, and its writer dies.
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
