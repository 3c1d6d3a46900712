//! Sign-in of members: passwords, second factors, sessions, and limits on attempts.

pub mod attempts;
pub mod forgotten;
pub mod passwords;
pub mod second_factor;
pub mod sessions;

crate::db::statements! {
    [attempts, forgotten, passwords, second_factor, sessions]
}
