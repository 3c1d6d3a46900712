//! A simulated mail internet: names, MX hosts with personalities, mailboxes.
//!
//! One description runs in two ways:
//! - in memory ([`World::net`]): an implementation of the engine's [`Net`](probity_engine::net::Net) under tokio's paused
//!   clock. One seed gives one run: no threads, no iteration over hash maps, no clock but tokio's. [`Trace::hash`] shows
//!   whether two runs were the same.
//! - on loopback ([`LoopbackWorld`]): a DNS server and SMTP listeners on 127.0.0.0/8, for processes and load tests.
//!
//! The servers conform to the RFCs unless their [`Personality`] says otherwise. No traffic reaches another network.

mod clock;
mod dialect;
mod dns;
mod list;
pub mod load;
mod loopback;
mod mailbox;
mod memory;
mod personality;
mod record;
pub mod sandbox;
mod session;
mod world;
mod zone;

pub use dialect::{Phrase, ServerDialect};
pub use list::{RealisticList, verify_list};
pub use loopback::{Bind, LoopbackWorld};
pub use mailbox::{MailboxState, Mailboxes};
pub use memory::MemoryNet;
pub use personality::{
    AfterMisses, AfterRefusal, At, ClientRefusal, FaultKind, Greylist, Misbehaviour, Personality, Pipelining,
    Recipients, ReplyFault, ServerLimits, ServerPace, Tls,
};
pub use record::{Happening, HostCounts, RecordedEvent, Trace, TraceHash};
pub use world::{Builder, Host, HostPlan, HostReach, World, WorldError};
pub use zone::{DnsFault, Mx, Zone};
