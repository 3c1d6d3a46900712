//! Routes for the dashboard's pages only, besides the API's routes under `/app/v1`:
//!
//! - [`lists`]: lists, their rows, and acts on them; [`events`]: their progress.
//! - [`uploads`]: files before they become lists.
//! - [`organization`]: everything else about an organization.
//! - [`changes`]: changes of all of these.
//!
//! These routes may change with the pages. Each is behind the guard of sessions, and requires the same scopes as the API.

pub(crate) mod changes;
pub(crate) mod events;
pub(crate) mod lists;
pub(crate) mod organization;
pub(crate) mod stream;
pub(crate) mod uploads;
