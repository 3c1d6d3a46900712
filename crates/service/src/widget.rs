//! The widget: admission of visitors, and checks. The counters are in [`probity_backend::widget`].

pub mod checks;
pub mod entry;
