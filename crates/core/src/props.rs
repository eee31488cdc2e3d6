//! Property lists and the names Subversion itself gives meaning to.

use std::collections::BTreeMap;
use std::collections::btree_map;

/// A property list: names to values. Names are UTF-8, values any bytes. Iteration is in the
/// bytewise order of the names, which is also the order of hash dumps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropList(BTreeMap<String, Vec<u8>>);

impl PropList {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// The value of `name` as text, `None` when absent or not UTF-8.
    #[must_use]
    pub fn get_str(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|v| std::str::from_utf8(v).ok())
    }

    /// Sets `name`, returning the earlier value.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Option<Vec<u8>> {
        self.0.insert(name.into(), value.into())
    }

    /// Removes `name`, returning its value.
    pub fn remove(&mut self, name: &str) -> Option<Vec<u8>> {
        self.0.remove(name)
    }

    /// Whether there are no properties.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of properties.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Names and values, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(k, v)| (k.as_str(), v.as_slice()))
    }

    /// The properties that have to change to make `self` into `target`, in the order of names:
    /// a new value, or `None` for a deletion.
    #[must_use]
    pub fn diff_to(&self, target: &Self) -> Vec<(String, Option<Vec<u8>>)> {
        let mut changes: Vec<(String, Option<Vec<u8>>)> = self
            .0
            .keys()
            .filter(|name| !target.0.contains_key(*name))
            .map(|name| (name.clone(), None))
            .collect();
        changes.extend(
            target
                .0
                .iter()
                .filter(|(name, value)| self.0.get(*name) != Some(*value))
                .map(|(name, value)| (name.clone(), Some(value.clone()))),
        );
        changes.sort_by(|a, b| a.0.cmp(&b.0));
        changes
    }

    /// Bytes of names and values together, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.0.iter().map(|(k, v)| k.len().saturating_add(v.len())).sum()
    }
}

impl FromIterator<(String, Vec<u8>)> for PropList {
    fn from_iter<I: IntoIterator<Item = (String, Vec<u8>)>>(iter: I) -> Self {
        Self(iter.into_iter().collect())
    }
}

impl IntoIterator for PropList {
    type Item = (String, Vec<u8>);
    type IntoIter = btree_map::IntoIter<String, Vec<u8>>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Names of the properties that Subversion itself reads or writes.
pub mod names {
    /// Revision property: who made the revision.
    pub const AUTHOR: &str = "svn:author";
    /// Revision property: when, in the form of [`crate::date`].
    pub const DATE: &str = "svn:date";
    /// Revision property: the log message.
    pub const LOG: &str = "svn:log";
    /// Merge history of a node.
    pub const MERGEINFO: &str = "svn:mergeinfo";
    /// A file's media type.
    pub const MIME_TYPE: &str = "svn:mime-type";
    /// A file's line ending style.
    pub const EOL_STYLE: &str = "svn:eol-style";
    /// A file's keywords.
    pub const KEYWORDS: &str = "svn:keywords";
    /// Set on files that are executable.
    pub const EXECUTABLE: &str = "svn:executable";
    /// Set on symbolic links and other special files.
    pub const SPECIAL: &str = "svn:special";
    /// Other directories to check out below this one.
    pub const EXTERNALS: &str = "svn:externals";
    /// Names that status leaves out.
    pub const IGNORE: &str = "svn:ignore";
    /// Entry property: revision of the last change.
    pub const ENTRY_COMMITTED_REV: &str = "svn:entry:committed-rev";
    /// Entry property: date of the last change.
    pub const ENTRY_COMMITTED_DATE: &str = "svn:entry:committed-date";
    /// Entry property: author of the last change.
    pub const ENTRY_LAST_AUTHOR: &str = "svn:entry:last-author";
    /// Entry property: UUID of the repository.
    pub const ENTRY_UUID: &str = "svn:entry:uuid";
    /// Entry property: the lock token of a node whose lock is gone.
    pub const ENTRY_LOCK_TOKEN: &str = "svn:entry:lock-token";
    /// Prefix of entry properties.
    pub const ENTRY_PREFIX: &str = "svn:entry:";
    /// Prefix of working copy properties.
    pub const WC_PREFIX: &str = "svn:wc:";
    /// Prefix of all names that are Subversion's own.
    pub const PREFIX: &str = "svn:";
}
