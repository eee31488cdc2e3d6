//! The types themselves, and what all of them can do.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::NotCanonical;
use crate::{path, uri};

macro_rules! kind_of_path {
    ($(#[$doc:meta])* $name:ident, $word:literal, $canonical:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name<S = String>(S);

        impl<S: AsRef<str>> $name<S> {
            /// Takes text that is canonical already.
            ///
            /// # Errors
            /// When it is not.
            pub fn new(text: S) -> Result<Self, NotCanonical> {
                if Self::is_canonical(text.as_ref()) {
                    return Ok(Self(text));
                }
                Err(NotCanonical { text: text.as_ref().to_owned(), kind: $word })
            }

            fn is_canonical(text: &str) -> bool {
                let canonical: fn(&str) -> bool = $canonical;
                canonical(text)
            }

            /// Text that the caller has made canonical.
            pub(super) fn trusted(text: S) -> Self {
                debug_assert!(Self::is_canonical(text.as_ref()), "{}", text.as_ref());
                Self(text)
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                self.0.as_ref()
            }

            /// The same path, borrowed.
            pub fn borrowed(&self) -> $name<&str> {
                $name(self.0.as_ref())
            }

            /// The same path with text of its own.
            pub fn to_owned(&self) -> $name<String> {
                $name(self.0.as_ref().to_owned())
            }

            /// The same path with text that clones share.
            pub fn to_shared(&self) -> $name<Arc<str>> {
                $name(Arc::from(self.0.as_ref()))
            }

            /// What is inside.
            pub fn into_inner(self) -> S {
                self.0
            }
        }

        impl<S: AsRef<str>> AsRef<str> for $name<S> {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        // Equality, order and hash are those of the text, so that maps can be asked with a `&str`.
        impl Borrow<str> for $name<String> {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }

        impl Borrow<str> for $name<Arc<str>> {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }

        impl<S: AsRef<str>, T: AsRef<str>> PartialEq<$name<T>> for $name<S> {
            fn eq(&self, other: &$name<T>) -> bool {
                self.as_str() == other.as_str()
            }
        }

        impl<S: AsRef<str>> Eq for $name<S> {}

        impl<S: AsRef<str>, T: AsRef<str>> PartialOrd<$name<T>> for $name<S> {
            fn partial_cmp(&self, other: &$name<T>) -> Option<Ordering> {
                Some(self.as_str().cmp(other.as_str()))
            }
        }

        impl<S: AsRef<str>> Ord for $name<S> {
            fn cmp(&self, other: &Self) -> Ordering {
                self.as_str().cmp(other.as_str())
            }
        }

        impl<S: AsRef<str>> Hash for $name<S> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.as_str().hash(state);
            }
        }

        impl<S: AsRef<str>> fmt::Display for $name<S> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl<S: AsRef<str>> fmt::Debug for $name<S> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.as_str())
            }
        }
    };
}

kind_of_path!(
    /// A path below something: a repository, a session's URL, a working copy. Not escaped.
    RelPath,
    "relpath",
    |text| path::canonical_relpath(text) == text
);

kind_of_path!(
    /// A path in a repository, from its root on. Not escaped.
    FsPath,
    "repository path",
    path::is_canonical_fspath
);

kind_of_path!(
    /// A URL, escaped.
    Url,
    "URL",
    |text| uri::canonicalize(text).is_ok_and(|canonical| canonical == text)
);

kind_of_path!(
    /// A file or folder of this machine.
    LocalPath,
    "absolute path",
    |text| path::is_canonical_fspath(text) && !text.split('/').any(|name| matches!(name, "." | ".."))
);

impl RelPath<&'static str> {
    pub(super) const fn root() -> Self {
        Self("")
    }
}

impl FsPath<&'static str> {
    pub(super) const fn root() -> Self {
        Self("/")
    }
}
