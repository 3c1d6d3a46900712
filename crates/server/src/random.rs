//! Random bytes of the operating system, for secrets and ids.

use probity_core::id::{Id, IdKind};
use probity_core::time::Millis;

/// Fresh random bytes.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// A fresh id of a moment.
pub(crate) fn id<K: IdKind>(now: Millis) -> Id<K> {
    Id::new(now, bytes())
}
