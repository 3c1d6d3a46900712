//! Services that are killed, stopped, attacked, or deprived of their database, disk, descriptors or clock.

mod clocks;
mod descriptors;
pub(super) mod disk;
mod ending;
mod killed;
mod siege;
mod temporary;
mod without_postgresql;
