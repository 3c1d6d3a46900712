//! The API's resources, as the specification says they answer.

mod api_keys;
mod check_key;
mod organization;
mod verify;
