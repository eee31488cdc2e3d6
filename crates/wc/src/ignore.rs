//! Which unversioned names status leaves out: patterns of the configuration, of `svn:ignore`, and of
//! `svn:global-ignores`, which directories below inherit.
//!
//! Patterns are those of [`sapwood_core::glob`] and are matched against one name, never a path.

use std::sync::Arc;

use sapwood_core::glob;

/// The option `global-ignores` of the configuration when it is not set.
pub const DEFAULT_GLOBAL_IGNORES: &str = "*.o *.lo *.la *.al .libs *.so *.so.[0-9]* *.a *.pyc *.pyo \
     __pycache__ *.rej *~ #*# .#* .*.swp .DS_Store [Tt]humbs.db";

/// The property whose patterns hold in a directory and everything below it.
pub const GLOBAL_IGNORES: &str = "svn:global-ignores";

/// A list of patterns. Lists of directories stand on those of their parents, so they are shared.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    own: Arc<Vec<Box<[u8]>>>,
    above: Option<Arc<Patterns>>,
}

impl Patterns {
    /// No patterns.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The patterns of the configuration: words.
    #[must_use]
    pub fn of_config(value: &str) -> Self {
        let separators = [' ', '\t', '\n', '\r', '\x0b'];
        let words = value.split(separators).filter(|w| !w.is_empty());
        Self { own: Arc::new(words.map(|w| w.as_bytes().into()).collect()), above: None }
    }

    /// These patterns and the lines of property values.
    #[must_use]
    pub fn with_values<'a>(&self, values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut own = Vec::new();
        for value in values {
            // Values are C strings to the reference.
            let value = value.split(|b| *b == 0).next().unwrap_or(b"");
            let lines = value.split(|b| matches!(b, b'\n' | b'\r')).filter(|l| !l.is_empty());
            own.extend(lines.map(Box::from));
        }
        if own.is_empty() {
            return self.clone();
        }
        Self { own: Arc::new(own), above: Some(Arc::new(self.clone())) }
    }

    /// Whether a name matches any pattern.
    #[must_use]
    pub fn matches(&self, name: &[u8]) -> bool {
        let mut next = Some(self);
        while let Some(list) = next {
            if list.own.iter().any(|pattern| glob::matches(pattern, name)) {
                return true;
            }
            next = list.above.as_deref();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stand_on_each_other() {
        let config = Patterns::of_config(DEFAULT_GLOBAL_IGNORES);
        assert!(config.matches(b"a.o") && config.matches(b"x~") && !config.matches(b"a.c"));
        let more = config.with_values([&b"*.tmp\r\nbuild dir\n\n"[..]]);
        assert!(more.matches(b"a.o") && more.matches(b"build dir") && more.matches(b"q.tmp"));
        assert!(!more.matches(b"build") && !config.matches(b"q.tmp"));
        assert!(!Patterns::none().matches(b""));
    }
}
