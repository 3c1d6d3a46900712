//! Values that other modules attach to a store or to one of its connections, one per type.
//!
//! Caches and keys must reach every function that takes a connection, but the database layer needs none of them. So it carries them
//! without their types, and the module that owns a type asks for it.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;

/// One value of each type.
#[derive(Default)]
pub struct StoreAttachments(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl StoreAttachments {
    /// Adds a value, in place of an earlier one of its type.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.0.insert(TypeId::of::<T>(), Box::new(value));
        self
    }

    pub(crate) fn get<T: Any>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// The value of a type, created on first use.
    pub(crate) fn get_or_default<T: Any + Default + Send + Sync>(&mut self) -> &mut T {
        let value = self.0.entry(TypeId::of::<T>()).or_insert_with(|| Box::<T>::default());
        value.downcast_mut().expect("each value is stored under its type")
    }
}

impl fmt::Debug for StoreAttachments {
    /// Omits the values: they may be keys or contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attached").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::StoreAttachments;

    #[test]
    fn values_are_found_by_their_types() {
        let mut attached = StoreAttachments::default().with(1_i64).with("text").with(2_i64);
        assert_eq!(attached.get::<i64>(), Some(&2), "a later value replaces an earlier one");
        assert_eq!(attached.get::<&str>(), Some(&"text"));
        assert_eq!(attached.get::<u8>(), None);
        *attached.get_or_default::<u8>() += 7;
        assert_eq!(attached.get::<u8>(), Some(&7));
    }
}
