//! The API's resources, as the specification says they answer.

mod verify;
