//! Accounts of customers: organizations with their settings, plans and keys, and the members who sign in.

pub mod keys;
pub mod limits;
pub mod organization;
pub mod people;
pub mod plans;
pub mod settings;
pub mod sso;
pub mod users;

crate::db::statements! {
    [keys, limits, organization, people, plans, settings, sso, users]
}
