//! Values in files of our own below `.svn/sapwood/`: numbers little-endian, texts and lists with their length in
//! front, a name and a sum before everything, so that what is damaged, cut off or of another version is not read.
//!
//! Such files may be deleted at any moment; a write replaces the whole file by a rename.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::hash::Hash;
use std::io::{Read as _, Write as _};
use std::path::Path;

use sapwood_core::checksum::Sha1;
use sapwood_core::paths::{RelPathBuf, UrlBuf};
use sapwood_core::{SvnError, SvnResult};

/// The longest file that is read.
const LIMIT: u64 = 1 << 28;
/// How long a sum is.
const SUM: usize = 20;

/// A value that can be written and read again.
pub(crate) trait Serialize: Sized {
    /// Appends the value.
    fn put(&self, out: &mut Vec<u8>);
    /// Takes a value off the front; `None` at the end.
    fn take(input: &mut &[u8]) -> Option<Self>;
}

impl Serialize for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let (first, rest) = input.split_first()?;
        *input = rest;
        Some(*first)
    }
}

impl Serialize for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        match u8::take(input)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Serialize for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let (bytes, rest) = input.split_first_chunk::<8>()?;
        *input = rest;
        Some(Self::from_le_bytes(*bytes))
    }
}

impl Serialize for usize {
    fn put(&self, out: &mut Vec<u8>) {
        sapwood_core::exact::len64(*self).put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Self::try_from(u64::take(input)?).ok()
    }
}

impl Serialize for String {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        out.extend(self.as_bytes());
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let len = usize::take(input)?;
        let (bytes, rest) = input.split_at_checked(len)?;
        *input = rest;
        Self::from_utf8(bytes.to_vec()).ok()
    }
}

/// A path as its text; what is not canonical is not taken.
macro_rules! stored_path {
    ($path:ty) => {
        impl Serialize for $path {
            fn put(&self, out: &mut Vec<u8>) {
                self.len().put(out);
                out.extend(self.as_bytes());
            }

            fn take(input: &mut &[u8]) -> Option<Self> {
                Self::new(String::take(input)?).ok()
            }
        }
    };
}

stored_path!(RelPathBuf);
stored_path!(UrlBuf);

impl<T: Serialize> Serialize for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        if bool::take(input)? { T::take(input).map(Some) } else { Some(None) }
    }
}

impl<A: Serialize, B: Serialize> Serialize for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Some((A::take(input)?, B::take(input)?))
    }
}

/// Lists of all kinds. Memory is allocated as members come, not as a length in the file says.
macro_rules! stored_lists {
    ($($list:ident < $($part:ident : $bound:path),+ > of $member:ty),+ $(,)?) => {$(
        impl<$($part: Serialize + $bound),+> Serialize for $list<$($part),+> {
            fn put(&self, out: &mut Vec<u8>) {
                self.len().put(out);
                for member in self {
                    member.put(out);
                }
            }

            fn take(input: &mut &[u8]) -> Option<Self> {
                let count = usize::take(input)?;
                (0..count).map(|_| <$member>::take(input)).collect()
            }
        }
    )+};
}

/// A member of a map, as its iterator gives it.
trait PutPair {
    fn put(&self, out: &mut Vec<u8>);
}

impl<A: Serialize, B: Serialize> PutPair for (&A, &B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }
}

stored_lists! {
    Vec<T: Sized> of T,
    BTreeSet<T: Ord> of T,
    BTreeMap<K: Ord, V: Sized> of (K, V),
    HashMap<K: KeyOfMap, V: Sized> of (K, V),
}

/// The keys of a hash map.
pub(crate) trait KeyOfMap: Eq + Hash {}
impl KeyOfMap for String {}
impl KeyOfMap for RelPathBuf {}

/// Writes and reads the fields of a structure in the order in which they are named here.
macro_rules! stored_struct {
    ($type:ty { $($field:tt),+ $(,)? }) => {
        impl $crate::cache_file::Serialize for $type {
            fn put(&self, out: &mut Vec<u8>) {
                $($crate::cache_file::Serialize::put(&self.$field, out);)+
            }

            fn take(input: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: $crate::cache_file::Serialize::take(input)?),+ })
            }
        }
    };
}

/// Writes and reads the values of an enum by their places in a list of all.
macro_rules! stored_enum {
    ($type:ty, $all:expr) => {
        impl $crate::cache_file::Serialize for $type {
            fn put(&self, out: &mut Vec<u8>) {
                let place = $all.iter().position(|value| value == self);
                out.push(place.and_then(|place| u8::try_from(place).ok()).unwrap_or(u8::MAX));
            }

            fn take(input: &mut &[u8]) -> Option<Self> {
                let place = <u8 as $crate::cache_file::Serialize>::take(input)?;
                $all.get(usize::from(place)).copied()
            }
        }
    };
}

pub(crate) use {stored_enum, stored_struct};

fn failed(error: &std::io::Error, path: &Path) -> SvnError {
    SvnError::io(error, format_args!("Can't write to file '{}'", path.display()))
}

/// Writes a value to a file under a name, which says what it is and in which version.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write(path: &Path, name: &str, value: &impl Serialize) -> SvnResult<()> {
    let mut body = Vec::new();
    value.put(&mut body);
    let mut all = Vec::new();
    name.to_owned().put(&mut all);
    all.extend(Sha1::of(&body).0);
    all.append(&mut body);
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|e| failed(&e, folder))?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|e| failed(&e, path))?;
    file.write_all(&all).map_err(|e| failed(&e, path))?;
    file.persist(path).map_err(|e| failed(&e.error, path))?;
    Ok(())
}

/// Reads what [`write()`] wrote under this name; `None` when there is nothing of the kind.
pub(crate) fn read<T: Serialize>(path: &Path, name: &str) -> Option<T> {
    let mut all = Vec::new();
    fs::File::open(path).ok()?.take(LIMIT).read_to_end(&mut all).ok()?;
    let mut input = all.as_slice();
    if String::take(&mut input)? != name {
        return None;
    }
    let (sum, mut body) = input.split_at_checked(SUM)?;
    if Sha1::of(body).0 != sum {
        return None;
    }
    T::take(&mut body).filter(|_| body.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Way {
        In,
        Out,
    }
    stored_enum!(Way, [Way::In, Way::Out]);

    #[derive(Debug, PartialEq, Eq)]
    struct All {
        way: Way,
        names: BTreeMap<String, Vec<u64>>,
        known: Option<bool>,
        set: BTreeSet<String>,
        pair: (u64, String),
        by_hash: HashMap<String, u64>,
    }
    stored_struct!(All { way, names, known, set, pair, by_hash });

    fn all() -> All {
        All {
            way: Way::Out,
            names: [("a".to_owned(), vec![1, 2]), ("é".to_owned(), vec![])].into(),
            known: Some(false),
            set: ["x".to_owned()].into(),
            pair: (7, "seven".to_owned()),
            by_hash: [("k".to_owned(), 3)].into(),
        }
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below").join("file");
        assert_eq!(read::<All>(&path, "all 1"), None);
        write(&path, "all 1", &all()).unwrap();
        assert_eq!(read::<All>(&path, "all 1"), Some(all()));
        assert_eq!(read::<All>(&path, "all 2"), None);
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert_eq!(read::<All>(&path, "all 1"), None, "byte {at}");
            fs::write(&path, &good[..at]).unwrap();
            assert_eq!(read::<All>(&path, "all 1"), None, "{at} bytes");
        }
    }
}
