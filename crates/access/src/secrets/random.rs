//! Random bytes from the operating system, for secrets and IDs.

use probity_account::id::{Id, IdKind};
use probity_mail::time::Millis;

pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// Creates a name for what claims work under a lease.
pub fn run() -> String {
    super::hex(&bytes::<16>())
}

/// Creates a random ID with this time.
pub fn id<K: IdKind>(now: Millis) -> Id<K> {
    Id::new(now, bytes())
}
