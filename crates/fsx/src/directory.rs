//! The entries of a directory, in the order of their names.

use sapwood_core::Exact;
use sapwood_fsx_format::directory::Entry;

/// A whole directory, sorted bytewise by name.
#[derive(Debug, Default)]
pub struct Directory(Vec<Entry>);

impl Directory {
    /// Of entries that are in the order of their names.
    pub(crate) const fn new(entries: Vec<Entry>) -> Self {
        Self(entries)
    }

    /// How many entries there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entry at a position.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&Entry> {
        self.0.get(at)
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|entry| (*entry.name).cmp(name))
    }

    /// The entry called `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Entry> {
        self.get(self.position(name).ok()?)
    }

    /// As [`Directory::find`] for a caller that goes through names in order: `hint` is where the name
    /// may be, and is set to where the next one may be.
    #[must_use]
    pub fn find_next(&self, name: &str, hint: &mut usize) -> Option<&Entry> {
        let at = match self.get(*hint).filter(|entry| *entry.name == *name) {
            Some(_) => Ok(*hint),
            None => self.position(name),
        };
        *hint = match at {
            Ok(at) => at.plus(1),
            Err(at) => at,
        };
        self.get(at.ok()?)
    }

    /// The entries.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.0.iter()
    }

    /// Bytes of memory that it takes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.0.iter().fold(size_of::<Self>(), |sum, entry| {
            sum.plus(size_of::<Entry>()).plus(entry.name.len())
        })
    }
}

impl<'a> IntoIterator for &'a Directory {
    type Item = &'a Entry;
    type IntoIter = std::slice::Iter<'a, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
