//! Activity of an account: its events, timeline, reports, and mail about them.

pub mod events;
pub mod list_mail;
pub mod notices;
pub mod report_mail;
pub mod reports;
pub mod requests;
pub mod timeline;

crate::db::statements! {
    [events, list_mail, notices, report_mail, reports, requests, timeline]
}
