//! The service's tests from outside, in one program.

mod openapi;
