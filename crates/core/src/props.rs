//! Property lists and the names Subversion itself gives meaning to.

use std::fmt;

/// A property list: names to values. Names are UTF-8, values any bytes. Iteration is in the
/// bytewise order of the names, which is also the order of hash dumps.
///
/// Servers keep hundreds of thousands of these, so a list is one allocation: for each property
/// the lengths of name and value, the name, the value, in the order of names. Lists are short;
/// looking up walks from the start.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PropList {
    bytes: Vec<u8>,
}

/// Bytes of the two lengths in front of a property: four, and eight.
const HEAD: usize = 12;

/// Name and value.
type Property<'a> = (&'a str, &'a [u8]);

/// One property, and the bytes after it.
fn first(bytes: &[u8]) -> Option<(Property<'_>, &[u8])> {
    let (name_len, rest) = bytes.split_first_chunk()?;
    let (value_len, rest) = rest.split_first_chunk()?;
    let name_len = usize::try_from(u32::from_le_bytes(*name_len)).ok()?;
    let value_len = usize::try_from(u64::from_le_bytes(*value_len)).ok()?;
    let (name, rest) = rest.split_at_checked(name_len)?;
    let (value, rest) = rest.split_at_checked(value_len)?;
    Some(((std::str::from_utf8(name).ok()?, value), rest))
}

impl PropList {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let found = self.iter().find(|(n, _)| *n >= name)?;
        (found.0 == name).then_some(found.1)
    }

    /// The value of `name` as text, `None` when absent or not UTF-8.
    #[must_use]
    pub fn get_str(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|v| std::str::from_utf8(v).ok())
    }

    /// Where `name` is, or would be, and how many bytes it takes there: 0 when it is absent.
    fn place(&self, name: &str) -> (usize, usize) {
        let mut rest = self.bytes.as_slice();
        while let Some(((n, _), after)) = first(rest) {
            if n >= name {
                let at = self.bytes.len().saturating_sub(rest.len());
                let len = rest.len().saturating_sub(after.len());
                return (at, if n == name { len } else { 0 });
            }
            rest = after;
        }
        (self.bytes.len(), 0)
    }

    /// Sets `name`, returning the earlier value. A name of 4 GiB or more is not taken.
    pub fn set(&mut self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        let (name, value) = (name.as_ref(), value.as_ref());
        let (Ok(name_len), Ok(value_len)) = (u32::try_from(name.len()), u64::try_from(value.len()))
        else {
            return None;
        };
        let old = self.get(name).map(<[u8]>::to_vec);
        let (at, len) = self.place(name);
        let head = name_len.to_le_bytes().into_iter().chain(value_len.to_le_bytes());
        if at == self.bytes.len() {
            let more = HEAD.saturating_add(name.len()).saturating_add(value.len());
            self.bytes.reserve(more);
            self.bytes.extend(head);
            self.bytes.extend_from_slice(name.as_bytes());
            self.bytes.extend_from_slice(value);
        } else {
            let property = head.chain(name.bytes()).chain(value.iter().copied());
            self.bytes.splice(at..at.saturating_add(len), property);
        }
        old
    }

    /// Removes `name`, returning its value.
    pub fn remove(&mut self, name: &str) -> Option<Vec<u8>> {
        let old = self.get(name)?.to_vec();
        let (at, len) = self.place(name);
        self.bytes.drain(at..at.saturating_add(len));
        Some(old)
    }

    /// Whether there are no properties.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The number of properties.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Names and values, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut rest = self.bytes.as_slice();
        std::iter::from_fn(move || {
            let (property, after) = first(rest)?;
            rest = after;
            Some(property)
        })
    }

    /// The properties that have to change to make `self` into `target`, in the order of names:
    /// a new value, or `None` for a deletion.
    #[must_use]
    pub fn diff_to(&self, target: &Self) -> Vec<(String, Option<Vec<u8>>)> {
        if self == target {
            return Vec::new();
        }
        let mut changes: Vec<(String, Option<Vec<u8>>)> = self
            .iter()
            .filter(|(name, _)| target.get(name).is_none())
            .map(|(name, _)| (name.to_owned(), None))
            .collect();
        changes.extend(
            target
                .iter()
                .filter(|(name, value)| self.get(name) != Some(*value))
                .map(|(name, value)| (name.to_owned(), Some(value.to_vec()))),
        );
        changes.sort_by(|a, b| a.0.cmp(&b.0));
        changes
    }

    /// Bytes that the list takes beside its fixed part, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.bytes.capacity()
    }

    /// Gives memory back that the list does not need as long as it does not grow.
    pub fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
    }
}

impl fmt::Debug for PropList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(n, v)| (n, v.escape_ascii().to_string()))).finish()
    }
}

impl<N: AsRef<str>, V: AsRef<[u8]>> FromIterator<(N, V)> for PropList {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(iter: I) -> Self {
        let mut list = Self::new();
        for (name, value) in iter {
            list.set(name, value);
        }
        list
    }
}

impl IntoIterator for PropList {
    type Item = (String, Vec<u8>);
    type IntoIter = std::vec::IntoIter<Self::Item>;
    fn into_iter(self) -> Self::IntoIter {
        let all: Vec<Self::Item> =
            self.iter().map(|(name, value)| (name.to_owned(), value.to_vec())).collect();
        all.into_iter()
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn behaves_like_a_map() {
        let mut list = PropList::new();
        let mut map: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut seed = 1u32;
        for _ in 0..2000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let name = format!("n{}", (seed >> 8) % 23);
            let value = vec![b'v'; usize::try_from(seed >> 27).unwrap()];
            if seed & 64 == 0 {
                assert_eq!(list.set(&name, &value), map.insert(name, value));
            } else {
                assert_eq!(list.remove(&name), map.remove(&name));
            }
            assert_eq!(list.len(), map.len());
            assert_eq!(list.is_empty(), map.is_empty());
            assert!(list.iter().eq(map.iter().map(|(n, v)| (n.as_str(), v.as_slice()))));
            assert_eq!(map.clone().into_iter().collect::<PropList>(), list);
        }
        assert!(list.clone().into_iter().eq(map));
    }

    #[test]
    fn differences() {
        let old: PropList = [("a", "1"), ("b", "2"), ("c", "3")].into_iter().collect();
        let new: PropList = [("b", "2"), ("c", "4"), ("d", "")].into_iter().collect();
        let want = [("a", None), ("c", Some("4")), ("d", Some(""))];
        let want = want.map(|(n, v)| (n.to_owned(), v.map(|v| v.as_bytes().to_vec())));
        assert_eq!(old.diff_to(&new), want);
        assert!(old.diff_to(&old).is_empty());
        assert_eq!(new.get_str("c"), Some("4"));
        assert_eq!(new.get("a"), None);
    }
}
