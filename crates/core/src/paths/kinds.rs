//! The types themselves, and what all of them can do.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use ref_cast::{RefCastCustom, ref_cast_custom};

use super::NotCanonical;
use crate::{path, uri};

/// Makes one kind of path: the borrowed type, the owned one, and what both can do.
macro_rules! kind_of_path {
    ($(#[$doc:meta])* $name:ident, $(#[$owned_doc:meta])* $owned:ident, $word:literal, $canonical:expr) => {
        $(#[$doc])*
        #[derive(PartialEq, Eq, PartialOrd, Ord, Hash, RefCastCustom)]
        #[repr(transparent)]
        pub struct $name(str);

        $(#[$owned_doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $owned(String);

        impl $name {
            #[ref_cast_custom]
            const fn wrap(text: &str) -> &Self;

            /// Takes text that should be canonical.
            ///
            /// # Errors
            /// When it is not.
            pub fn new(text: &str) -> Result<&Self, NotCanonical> {
                if Self::is_canonical(text) {
                    return Ok(Self::wrap(text));
                }
                Err(NotCanonical { text: text.to_owned(), kind: $word })
            }

            /// Takes text that is canonical by where it comes from: a row of the working copy's
            /// database, a name put behind a path, the result of a conversion. Looked at in debug
            /// builds only. What a user, a client or a server said goes through [`Self::new`].
            #[must_use]
            #[track_caller]
            pub fn trusted(text: &str) -> &Self {
                debug_assert!(Self::is_canonical(text), "{text:?} is not a canonical {}", $word);
                Self::wrap(text)
            }

            fn is_canonical(text: &str) -> bool {
                let canonical: fn(&str) -> bool = $canonical;
                canonical(text)
            }

            /// The text.
            #[must_use]
            pub const fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl $owned {
            /// Takes text that should be canonical.
            ///
            /// # Errors
            /// When it is not.
            pub fn new(text: String) -> Result<Self, NotCanonical> {
                match $name::is_canonical(&text) {
                    true => Ok(Self(text)),
                    false => Err(NotCanonical { text, kind: $word }),
                }
            }

            /// As the borrowed type's `trusted`.
            #[must_use]
            #[track_caller]
            pub fn trusted(text: String) -> Self {
                debug_assert!($name::is_canonical(&text), "{text:?} is not a canonical {}", $word);
                Self(text)
            }

            /// The same, borrowed.
            #[must_use]
            pub fn as_path(&self) -> &$name {
                $name::wrap(&self.0)
            }

            /// The text, without a copy.
            #[must_use]
            pub fn into_string(self) -> String {
                self.0
            }
        }

        // A path may be read as text everywhere; text becomes a path by the constructors alone.
        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl Deref for $owned {
            type Target = $name;

            fn deref(&self) -> &$name {
                self.as_path()
            }
        }

        impl ToOwned for $name {
            type Owned = $owned;

            fn to_owned(&self) -> $owned {
                $owned(self.0.to_owned())
            }
        }

        impl Borrow<$name> for $owned {
            fn borrow(&self) -> &$name {
                self.as_path()
            }
        }

        // Equality, order and hash are those of the text, so that maps can be asked with a `&str`.
        impl Borrow<str> for $owned {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<$name> for $name {
            fn as_ref(&self) -> &$name {
                self
            }
        }

        impl AsRef<$name> for $owned {
            fn as_ref(&self) -> &$name {
                self.as_path()
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $owned {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl From<&$name> for $owned {
            fn from(path: &$name) -> Self {
                path.to_owned()
            }
        }

        impl From<$owned> for String {
            fn from(path: $owned) -> Self {
                path.0
            }
        }

        impl From<&$name> for Box<str> {
            fn from(path: &$name) -> Self {
                path.0.into()
            }
        }

        impl From<&$name> for Arc<str> {
            fn from(path: &$name) -> Self {
                path.0.into()
            }
        }

        impl<'a> From<&'a $name> for Cow<'a, $name> {
            fn from(path: &'a $name) -> Self {
                Cow::Borrowed(path)
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, text: &str) -> bool {
                &self.0 == text
            }
        }

        impl PartialEq<String> for $name {
            fn eq(&self, text: &String) -> bool {
                &self.0 == text
            }
        }

        impl PartialEq<String> for $owned {
            fn eq(&self, text: &String) -> bool {
                self.0 == *text
            }
        }

        impl PartialEq<$name> for str {
            fn eq(&self, path: &$name) -> bool {
                self == &path.0
            }
        }

        impl PartialEq<str> for $owned {
            fn eq(&self, text: &str) -> bool {
                self.0 == text
            }
        }

        impl PartialEq<&str> for $owned {
            fn eq(&self, text: &&str) -> bool {
                self.0 == *text
            }
        }

        impl PartialEq<$name> for $owned {
            fn eq(&self, path: &$name) -> bool {
                self.0 == path.0
            }
        }

        impl PartialEq<$owned> for $name {
            fn eq(&self, path: &$owned) -> bool {
                self.0 == path.0
            }
        }

        impl PartialEq<$owned> for &$name {
            fn eq(&self, path: &$owned) -> bool {
                self.0 == path.0
            }
        }

        impl PartialEq<&$name> for $owned {
            fn eq(&self, path: &&$name) -> bool {
                self.0 == path.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Display for $owned {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        // As text: a path within an error or a snapshot reads as it did before it had a type.
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $owned {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

kind_of_path!(
    /// A path below something: a repository, a session's URL, a working copy. Not escaped.
    RelPath,
    /// A [`RelPath`] with text of its own; the default is the root.
    #[derive(Default)]
    RelPathBuf,
    "relpath",
    path::is_canonical_relpath
);

kind_of_path!(
    /// A path in a repository, from its root on. Not escaped.
    FsPath,
    /// An [`FsPath`] with text of its own.
    FsPathBuf,
    "repository path",
    path::is_canonical_fspath
);

kind_of_path!(
    /// A URL, escaped.
    Url,
    /// A [`Url`] with text of its own.
    UrlBuf,
    "URL",
    |text| uri::canonicalize(text).is_ok_and(|canonical| canonical == text)
);

kind_of_path!(
    /// A file or folder of this machine, from the root on, as text.
    LocalPath,
    /// A [`LocalPath`] with text of its own.
    LocalPathBuf,
    "absolute path",
    |text| path::is_canonical_fspath(text) && !text.split('/').any(|name| matches!(name, "." | ".."))
);

/// An [`FsPath`] that several hold: the steps of a history are mostly at one path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SharedFsPath(Arc<str>);

impl SharedFsPath {
    /// The path.
    #[must_use]
    pub fn as_path(&self) -> &FsPath {
        FsPath::wrap(&self.0)
    }
}

impl Deref for SharedFsPath {
    type Target = FsPath;

    fn deref(&self) -> &FsPath {
        self.as_path()
    }
}

impl From<&FsPath> for SharedFsPath {
    fn from(path: &FsPath) -> Self {
        Self(path.into())
    }
}

impl From<FsPathBuf> for SharedFsPath {
    fn from(path: FsPathBuf) -> Self {
        Self(path.into_string().into())
    }
}

impl fmt::Display for SharedFsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_path(), f)
    }
}

impl fmt::Debug for SharedFsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Default for &RelPath {
    fn default() -> Self {
        RelPath::ROOT
    }
}

impl RelPath {
    /// The root of what relpaths are relative to.
    pub const ROOT: &Self = Self::wrap("");
}

impl FsPath {
    /// The root of a repository.
    pub const ROOT: &Self = Self::wrap("/");
}
