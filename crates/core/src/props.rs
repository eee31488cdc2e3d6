//! Property lists and the names Subversion itself gives meaning to.

use std::cmp::Ordering;
use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::iter::Peekable;

/// A property list: names to values. Names are UTF-8, values any bytes. Iteration is in the
/// bytewise order of the names, which is also the order of hash dumps.
///
/// Servers keep hundreds of thousands of short lists, so a short one is one allocation: for each
/// property the lengths of name and value, the name, the value, in the order of names; looking
/// up walks from the start. A list that grows beyond a few properties becomes a tree, so that
/// making one of n properties costs n log n steps whatever their order, and looking one up log n.
#[derive(Clone)]
pub struct PropList {
    form: Form,
}

/// How the properties are held.
#[derive(Clone)]
enum Form {
    /// All in one piece, as [`PropList`] says.
    Short(Vec<u8>),
    /// By name. A list stays in this form, however much is removed from it.
    Long(Map),
}

/// The long form.
type Map = BTreeMap<Box<str>, Box<[u8]>>;

/// Bytes of the two lengths in front of a property: four, and eight.
const HEAD: usize = 12;
/// Most properties of the short form: each look-up may walk over all of them.
const SHORT_COUNT: usize = 32;
/// Most bytes that a change of the short form moves.
const SHORT_MOVE: usize = 16 << 10;

/// Name and value.
type Property<'a> = (&'a str, &'a [u8]);

/// Properties that were walked over by this thread: what the tests of growth count.
/// Whether a value of `svn:mime-type` says that a file is no text.
#[must_use]
pub fn is_binary_mime_type(mime_type: &[u8]) -> bool {
    let end =
        mime_type.iter().position(|b| matches!(b, b';' | b' ' | 0)).unwrap_or(mime_type.len());
    let kind = mime_type.get(..end).unwrap_or_default();
    !mime_type.starts_with(b"text/") && kind != b"image/x-xbitmap" && kind != b"image/x-xpixmap"
}

#[cfg(test)]
mod steps {
    use std::cell::Cell;
    thread_local!(static STEPS: Cell<usize> = const { Cell::new(0) });
    pub(super) fn note() {
        STEPS.set(STEPS.get().saturating_add(1));
    }
    pub(super) fn of(work: impl FnOnce()) -> usize {
        STEPS.set(0);
        work();
        STEPS.get()
    }
}

/// One property, and the bytes after it.
fn first(bytes: &[u8]) -> Option<(Property<'_>, &[u8])> {
    #[cfg(test)]
    steps::note();
    let (name_len, rest) = bytes.split_first_chunk()?;
    let (value_len, rest) = rest.split_first_chunk()?;
    let name_len = usize::try_from(u32::from_le_bytes(*name_len)).ok()?;
    let value_len = usize::try_from(u64::from_le_bytes(*value_len)).ok()?;
    let (name, rest) = rest.split_at_checked(name_len)?;
    let (value, rest) = rest.split_at_checked(value_len)?;
    Some(((std::str::from_utf8(name).ok()?, value), rest))
}

/// Where `name` is in the short form, or would be, and how many bytes it takes there: 0 when it
/// is absent.
fn place(bytes: &[u8], name: &str) -> (usize, usize) {
    let mut rest = bytes;
    while let Some(((n, _), after)) = first(rest) {
        if n >= name {
            let at = bytes.len().saturating_sub(rest.len());
            let len = rest.len().saturating_sub(after.len());
            return (at, if n == name { len } else { 0 });
        }
        rest = after;
    }
    (bytes.len(), 0)
}

/// Names and values, in the order of names.
#[derive(Clone, Debug)]
pub struct Iter<'a>(Rest<'a>);

#[derive(Clone, Debug)]
enum Rest<'a> {
    Short(&'a [u8]),
    Long(btree_map::Iter<'a, Box<str>, Box<[u8]>>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = Property<'a>;

    fn next(&mut self) -> Option<Property<'a>> {
        match &mut self.0 {
            Rest::Short([]) => None,
            Rest::Short(bytes) => {
                let (property, after) = first(bytes)?;
                *bytes = after;
                Some(property)
            }
            Rest::Long(entries) => entries.next().map(|(name, value)| (&**name, &**value)),
        }
    }
}

/// How one list differs from another, a property at a time, in the order of names. Walks each
/// list once.
struct Differences<'a> {
    old: Peekable<Iter<'a>>,
    new: Peekable<Iter<'a>>,
}

impl<'a> Iterator for Differences<'a> {
    /// The name, and what the value becomes.
    type Item = (&'a str, Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let order = match (self.old.peek(), self.new.peek()) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((old, _)), Some((new, _))) => old.cmp(new),
            };
            match order {
                Ordering::Less => return self.old.next().map(|(name, _)| (name, None)),
                Ordering::Greater => return self.new.next().map(|(name, v)| (name, Some(v))),
                Ordering::Equal => match (self.old.next(), self.new.next()) {
                    (Some((_, old)), Some((name, new))) if old != new => {
                        return Some((name, Some(new)));
                    }
                    _ => {}
                },
            }
        }
    }
}

impl PropList {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self { form: Form::Short(Vec::new()) }
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        match &self.form {
            Form::Short(bytes) => {
                let found = Iter(Rest::Short(bytes)).find(|(n, _)| *n >= name)?;
                (found.0 == name).then_some(found.1)
            }
            Form::Long(map) => map.get(name).map(|value| &**value),
        }
    }

    /// The value of `name` as text, `None` when absent or not UTF-8.
    #[must_use]
    pub fn get_str(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|v| std::str::from_utf8(v).ok())
    }

    /// Sets `name`, returning the earlier value. A name of 4 GiB or more is not taken.
    pub fn set(&mut self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        let (name, value) = (name.as_ref(), value.as_ref());
        let (Ok(name_len), Ok(value_len)) = (u32::try_from(name.len()), u64::try_from(value.len()))
        else {
            return None;
        };
        let Form::Short(bytes) = &mut self.form else {
            return self.change_long(|map| map.insert(name.into(), value.into()));
        };
        let (at, len) = place(bytes, name);
        let after = at.saturating_add(len);
        if bytes.len().saturating_sub(after) > SHORT_MOVE || (len == 0 && is_full(bytes)) {
            return self.change_long(|map| map.insert(name.into(), value.into()));
        }
        let old = value_at(bytes, at, len);
        let head = name_len.to_le_bytes().into_iter().chain(value_len.to_le_bytes());
        if at == bytes.len() {
            bytes.reserve(HEAD.saturating_add(name.len()).saturating_add(value.len()));
            bytes.extend(head);
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(value);
        } else {
            let property = head.chain(name.bytes()).chain(value.iter().copied());
            bytes.splice(at..after, property);
        }
        old
    }

    /// Makes the list a long one if it is not, and changes it.
    fn change_long(
        &mut self,
        change: impl FnOnce(&mut Map) -> Option<Box<[u8]>>,
    ) -> Option<Vec<u8>> {
        let mut map = match std::mem::replace(&mut self.form, Form::Short(Vec::new())) {
            Form::Long(map) => map,
            Form::Short(bytes) => {
                Iter(Rest::Short(&bytes)).map(|(name, value)| (name.into(), value.into())).collect()
            }
        };
        let old = change(&mut map);
        self.form = Form::Long(map);
        old.map(Vec::from)
    }

    /// Removes `name`, returning its value.
    pub fn remove(&mut self, name: &str) -> Option<Vec<u8>> {
        let Form::Short(bytes) = &mut self.form else {
            return self.change_long(|map| map.remove(name));
        };
        let (at, len) = place(bytes, name);
        let after = at.saturating_add(len);
        if bytes.len().saturating_sub(after) > SHORT_MOVE {
            return self.change_long(|map| map.remove(name));
        }
        let old = value_at(bytes, at, len);
        bytes.drain(at..after);
        old
    }

    /// Whether there are no properties.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.form {
            Form::Short(bytes) => bytes.is_empty(),
            Form::Long(map) => map.is_empty(),
        }
    }

    /// The number of properties.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.form {
            Form::Short(_) => self.iter().count(),
            Form::Long(map) => map.len(),
        }
    }

    /// Names and values, in the order of names.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter(match &self.form {
            Form::Short(bytes) => Rest::Short(bytes),
            Form::Long(map) => Rest::Long(map.iter()),
        })
    }

    /// What has to change to make `self` into `target`, in the order of names: a new value, or
    /// `None` for a deletion. Costs one walk over both lists.
    fn changes_to<'a>(
        &'a self,
        target: &'a Self,
    ) -> impl Iterator<Item = (&'a str, Option<&'a [u8]>)> {
        Differences { old: self.iter().peekable(), new: target.iter().peekable() }
    }

    /// As [`PropList::changes_to`], as values of their own.
    #[must_use]
    pub fn diff_to(&self, target: &Self) -> Vec<(String, Option<Vec<u8>>)> {
        self.changes_to(target)
            .map(|(name, value)| (name.to_owned(), value.map(<[u8]>::to_vec)))
            .collect()
    }

    /// Bytes that the list takes beside its fixed part, for cache accounting. Walks a long list.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        /// Of the tree and the allocator, for a property.
        const OVERHEAD: usize = 80;
        match &self.form {
            Form::Short(bytes) => bytes.capacity(),
            Form::Long(map) => map.iter().fold(0, |sum, (name, value)| {
                sum.saturating_add(name.len()).saturating_add(value.len()).saturating_add(OVERHEAD)
            }),
        }
    }

    /// Gives memory back that the list does not need as long as it does not grow.
    pub fn shrink_to_fit(&mut self) {
        if let Form::Short(bytes) = &mut self.form {
            bytes.shrink_to_fit();
        }
    }
}

/// Whether the short form holds as many properties as it may.
fn is_full(bytes: &[u8]) -> bool {
    bytes.len() >= SHORT_COUNT.saturating_mul(HEAD)
        && Iter(Rest::Short(bytes)).nth(SHORT_COUNT.saturating_sub(1)).is_some()
}

/// The value of the property that takes `len` bytes at `at`; `None` when `len` is 0.
fn value_at(bytes: &[u8], at: usize, len: usize) -> Option<Vec<u8>> {
    let property = bytes.get(at..at.saturating_add(len)).filter(|_| len > 0)?;
    first(property).map(|((_, value), _)| value.to_vec())
}

impl Default for PropList {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for PropList {
    fn eq(&self, other: &Self) -> bool {
        match (&self.form, &other.form) {
            (Form::Short(a), Form::Short(b)) => a == b,
            (Form::Long(a), Form::Long(b)) => a == b,
            _ => self.iter().eq(other.iter()),
        }
    }
}

impl Eq for PropList {}

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
    /// Whether a name may be a property's: a letter, `:` or `_`, then these, digits, `-` and `.`.
    #[must_use]
    pub fn is_valid(name: &str) -> bool {
        let mut bytes = name.bytes();
        bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b':' | b'_'))
            && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b':' | b'_'))
    }

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
    /// Whether a media type (the value of [`MIME_TYPE`]) is that of no text.
    #[must_use]
    pub fn is_binary_type(mime_type: &str) -> bool {
        let end = mime_type.find([';', ' ']).unwrap_or(mime_type.len());
        let word = mime_type.get(..end).unwrap_or(mime_type);
        !word.starts_with("text/") && !matches!(word, "image/x-xbitmap" | "image/x-xpixmap")
    }

    /// Prefix of all names that are Subversion's own.
    pub const PREFIX: &str = "svn:";
}

#[cfg(test)]
mod tests;
