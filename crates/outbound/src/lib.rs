//! HTTP requests to hosts that customers or operators name: parsed URLs, the egress guard, connections to checked
//! addresses, the client of email platforms, and the notifications of Amazon SNS.
//!
//! No other crate sends such requests. Redirects and proxies from the environment are not implemented.

mod authorities;
mod dial;
mod guard;
pub mod platforms;
pub mod sns;
mod target;

pub use authorities::Authorities;
pub use dial::{DialFailure, Dialer};
pub use guard::{ByNet, Names, NoNames, Unresolved, UrlGuard};
pub use target::{HttpTarget, TargetRefusal, URL_MAX};
