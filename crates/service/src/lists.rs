//! Lists while somebody looks at them: how far one is, who watches it, and what is looked for in it.

pub mod progress;
pub mod rows;
pub mod search;
pub mod searches;
pub mod watch;
