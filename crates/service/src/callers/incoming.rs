//! Request bodies as acts receive them: piece by piece, so no body is in memory as a whole.

use bytes::Bytes;
use probity_contract::error::ApiError;

/// Body that is being received.
pub trait IncomingBody: Send {
    /// Returns the next piece; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, ApiError>> + Send;
}
