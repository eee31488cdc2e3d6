//! A value that is replaced while others use it: what has taken the old one goes on with it.

use std::sync::Arc;

use parking_lot::RwLock;

/// The value of the moment.
#[derive(Debug)]
pub struct Current<T>(RwLock<Arc<T>>);

impl<T> Current<T> {
    /// Begins with a value.
    #[must_use]
    pub fn new(value: Arc<T>) -> Arc<Self> {
        Arc::new(Self(RwLock::new(value)))
    }

    /// The value now.
    #[must_use]
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&self.0.read())
    }

    /// Replaces it for all who ask from now on.
    pub fn replace(&self, value: Arc<T>) {
        *self.0.write() = value;
    }
}
