//! SQL texts: how they are written, and rendered.

pub(crate) mod dialect;
pub(crate) mod made;
pub(crate) mod statement;
