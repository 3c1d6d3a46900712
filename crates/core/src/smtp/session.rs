//! One connection as a state machine without I/O.
