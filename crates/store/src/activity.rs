//! Activity of an account: its events, timeline, reports, and mail about them.

pub mod events;
pub mod letters;
pub mod report_mail;
pub mod reports;
pub mod requests;
pub mod timeline;

crate::db::statements! {
    [events, letters, report_mail, reports, requests, timeline]
}
