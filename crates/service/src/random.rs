//! Random bytes of the operating system, for secrets and ids.

use probity_account::id::{Id, IdKind};
use probity_mail::time::Millis;

/// Fresh random bytes.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// A fresh id of a moment.
pub fn id<K: IdKind>(now: Millis) -> Id<K> {
    Id::new(now, bytes())
}
