//! Progress: what is being measured now, for a person who waits.
//!
//! Promises: one short line for each phase, passed to the function that the caller gave. It does not print by
//! itself.

use std::fmt;
use std::sync::Arc;

/// Takes the name of each phase when it begins. Cheap to clone.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(&str) + Send + Sync>);

impl Progress {
    /// Passes each line to this function.
    pub fn new(note: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(note))
    }

    pub(super) fn note(&self, line: &str) {
        (self.0)(line);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Progress(…)")
    }
}
