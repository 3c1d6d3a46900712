//! Limits of this process: who may work, in which turn, and what holds a call up.

pub(crate) mod held;
pub(crate) mod line;
pub(crate) mod permits;
pub(crate) mod work;
