//! Addresses: the meaning of a request's path below its repository's URL.
//!
//! Below one special name (`!svn`, unless the server configures another) are the resources that only
//! clients of Subversion use; every other path is a path of the youngest revision.

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, Revnum, uri};

use crate::error::{Error, Result};

/// The special name, by default.
pub const SPECIAL: &str = "!svn";

/// The resource of an address. Paths are fspaths, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A path of the youngest revision: `/path`.
    Public(FsPathBuf),
    /// The repository itself, for HTTPv2: `me`.
    Me,
    /// The same for DeltaV, the version-controlled configuration: `vcc/default`.
    Vcc,
    /// A revision and its properties: `rev/N`.
    Revision(Revnum),
    /// A path of a revision: `rvr/N/path`.
    RevisionRoot(Revnum, FsPathBuf),
    /// A transaction and its properties: `txn/NAME`.
    Txn(String),
    /// A path of a transaction: `txr/NAME/path`.
    TxnRoot(String, FsPathBuf),
    /// A transaction by the name that the client gave it: `vtxn/NAME`.
    VTxn(String),
    /// A path of a transaction by the client's name: `vtxr/NAME/path`.
    VTxnRoot(String, FsPathBuf),
    /// A path of a revision, for DeltaV: `bc/N/path`.
    BaselineCollection(Revnum, FsPathBuf),
    /// A revision and its properties, for DeltaV: `bln/N`.
    Baseline(Revnum),
    /// A version of a node, named by a revision that has it: `ver/N/path`.
    Version(Revnum, FsPathBuf),
    /// The activity collection: `act/`.
    Activities,
    /// A commit of DeltaV: `act/ID`.
    Activity(String),
    /// A path of the transaction of an activity: `wrk/ID/path`.
    Working(String, FsPathBuf),
    /// The revision properties of the transaction of an activity: `wbl/ID/N`.
    WorkingBaseline(String, Revnum),
    /// Pages for people, which no client of Subversion asks for: `-` and what follows.
    Pages,
}

const UNKNOWN: Error = Error::Address("Unsupported URI form");

fn decoded(text: &str) -> Result<String> {
    let digits = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count();
    if text.split('%').skip(1).any(|rest| digits(rest) < 2) {
        return Err(Error::Address("The URI has a '%' without two hexadecimal digits"));
    }
    uri::decode_utf8(text)
        .filter(|path| !path.contains('\0'))
        .ok_or(Error::Address("The URI is not UTF-8, or holds a NUL byte"))
}

/// The canonical fspath of percent-encoded text. `..` is an error.
fn fspath(text: &str) -> Result<FsPathBuf> {
    let path = decoded(text)?;
    if path.split('/').any(|part| part == "..") {
        return Err(Error::Address("The URI has a '..' in its path"));
    }
    Ok(FsPathBuf::canonicalize(&path))
}

fn revision(text: &str) -> Result<Revnum> {
    Revnum::parse(text.as_bytes()).ok_or(Error::Address("The URI has no revision number"))
}

fn name(text: &str) -> Result<String> {
    match decoded(text)? {
        name if name.is_empty() || name.contains('/') || name == "." || name == ".." => {
            Err(UNKNOWN)
        }
        name => Ok(name),
    }
}

impl Resource {
    /// Parses the percent-encoded path `below` a repository's URL; `special` is the
    /// special name.
    ///
    /// # Errors
    /// [`Error::Address`] for an unknown resource, for a path that is not UTF-8, and for `..`.
    pub fn parse(below: &str, special: &str) -> Result<Self> {
        let inner = below.trim_start_matches('/');
        let place = match inner.strip_prefix(special) {
            Some("") => "",
            Some(rest) if rest.starts_with('/') => rest.trim_matches('/'),
            _ => {
                let path = fspath(inner)?;
                let top = path.to_relpath().as_str();
                // The special name in another encoding is still no path of the repository.
                if top == special || top.strip_prefix(special).is_some_and(|r| r.starts_with('/')) {
                    return Err(UNKNOWN);
                }
                return Ok(Self::Public(path));
            }
        };
        let (kind, rest) = place.split_once('/').unwrap_or((place, ""));
        let (first, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(match kind {
            "me" if rest.is_empty() => Self::Me,
            "vcc" if rest == "default" => Self::Vcc,
            "rev" if path.is_empty() => Self::Revision(revision(first)?),
            "rvr" => Self::RevisionRoot(revision(first)?, fspath(path)?),
            "txn" if path.is_empty() => Self::Txn(name(first)?),
            "txr" => Self::TxnRoot(name(first)?, fspath(path)?),
            "vtxn" if path.is_empty() => Self::VTxn(name(first)?),
            "vtxr" => Self::VTxnRoot(name(first)?, fspath(path)?),
            "bc" => Self::BaselineCollection(revision(first)?, fspath(path)?),
            "bln" if path.is_empty() => Self::Baseline(revision(first)?),
            "ver" => Self::Version(revision(first)?, fspath(path)?),
            "act" if rest.is_empty() => Self::Activities,
            "act" if path.is_empty() => Self::Activity(name(first)?),
            "wrk" => Self::Working(name(first)?, fspath(path)?),
            "wbl" => Self::WorkingBaseline(name(first)?, revision(path)?),
            "-" => Self::Pages,
            _ => return Err(UNKNOWN),
        })
    }

    /// The fspath of the resource, if it has one.
    #[must_use]
    pub fn fspath(&self) -> Option<&FsPath> {
        match self {
            Self::Public(path)
            | Self::RevisionRoot(_, path)
            | Self::BaselineCollection(_, path)
            | Self::Version(_, path)
            | Self::TxnRoot(_, path)
            | Self::VTxnRoot(_, path)
            | Self::Working(_, path) => Some(path),
            _ => None,
        }
    }

    /// The percent-encoded path below the repository's URL, with a leading slash. The root of the
    /// repository is empty, so that it can be appended to any URL.
    #[must_use]
    pub fn path(&self, special: &str) -> String {
        let tail =
            |path: &str| if path == "/" { String::new() } else { uri::encode(path).into_owned() };
        let name = |name: &str| uri::encode(name).into_owned();
        let below = match self {
            Self::Public(path) => return tail(path),
            Self::Me => "me".to_owned(),
            Self::Vcc => "vcc/default".to_owned(),
            Self::Revision(rev) => format!("rev/{rev}"),
            Self::RevisionRoot(rev, path) => format!("rvr/{rev}{}", tail(path)),
            Self::Txn(txn) => format!("txn/{}", name(txn)),
            Self::TxnRoot(txn, path) => format!("txr/{}{}", name(txn), tail(path)),
            Self::VTxn(txn) => format!("vtxn/{}", name(txn)),
            Self::VTxnRoot(txn, path) => format!("vtxr/{}{}", name(txn), tail(path)),
            Self::BaselineCollection(rev, path) if path == "/" => format!("bc/{rev}/"),
            Self::BaselineCollection(rev, path) => format!("bc/{rev}{}", tail(path)),
            Self::Baseline(rev) => format!("bln/{rev}"),
            Self::Version(rev, path) => format!("ver/{rev}{}", tail(path)),
            Self::Activities => "act/".to_owned(),
            Self::Activity(id) => format!("act/{}", name(id)),
            Self::Working(id, path) => format!("wrk/{}{}", name(id), tail(path)),
            Self::WorkingBaseline(id, rev) => format!("wbl/{}/{rev}", name(id)),
            Self::Pages => "-".to_owned(),
        };
        format!("/{special}/{below}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(path: &str) -> Resource {
        Resource::parse(path, SPECIAL).unwrap()
    }

    #[test]
    fn escapes_of_nothing() {
        for bad in ["/a%", "/a%4", "/%zz", "/a%4%41", "/!svn/txr/1-1/%g0", "/!svn/txn/%"] {
            assert!(matches!(Resource::parse(bad, SPECIAL), Err(Error::Address(_))), "{bad}");
        }
        assert_eq!(parse("/a%25%41"), Resource::Public(FsPathBuf::canonicalize("/a%A")));
    }

    #[test]
    fn all_forms() {
        assert_eq!(parse(""), Resource::Public(FsPathBuf::canonicalize("/")));
        assert_eq!(parse("/a%20b//c/"), Resource::Public(FsPathBuf::canonicalize("/a b/c")));
        assert_eq!(parse("/!svnx"), Resource::Public(FsPathBuf::canonicalize("/!svnx")));
        assert_eq!(parse("/!svn/me"), Resource::Me);
        assert_eq!(
            parse("/!svn/rvr/12/a%23"),
            Resource::RevisionRoot(Revnum(12), FsPathBuf::canonicalize("/a#"))
        );
        assert_eq!(
            parse("/!svn/bc/0/"),
            Resource::BaselineCollection(Revnum(0), FsPathBuf::canonicalize("/"))
        );
        assert_eq!(
            parse("/!svn/txr/3-4/x"),
            Resource::TxnRoot("3-4".into(), FsPathBuf::canonicalize("/x"))
        );
        assert_eq!(parse("/!svn/-/tree/a?"), Resource::Pages);
        assert_eq!(parse("/!svn/wbl/u-u/7"), Resource::WorkingBaseline("u-u".into(), Revnum(7)));
    }

    #[test]
    fn what_stands_for_nothing() {
        for bad in [
            "/!svn",
            "/!svn/",
            "/!svn/x",
            "/!svn/rev/",
            "/!svn/rev/x",
            "/!svn/rev/1/a",
            "/!svn/rvr",
            "/../x",
            "/a/%2e%2e/b",
            "/a%00b",
            "/%ff",
            "/!svn/txn/..",
            "/!svn/rvr/1/../../x",
            "/%21svn/me",
            "/!svn/rev/99999999999999999999",
            "/!svn/txn/a%2fb",
        ] {
            assert!(Resource::parse(bad, SPECIAL).is_err(), "{bad}");
        }
    }

    fn some() -> impl Strategy<Value = Resource> {
        let path = "(/[a-zA-Z #%?&+é]{1,6}){0,3}".prop_map(|p| FsPathBuf::canonicalize(&p));
        let id = "[a-z0-9][a-z0-9 -]{0,8}";
        let rev = any::<u32>().prop_map(|n| Revnum(n.into()));
        prop_oneof![
            path.clone().prop_map(Resource::Public),
            Just(Resource::Me),
            Just(Resource::Pages),
            Just(Resource::Vcc),
            Just(Resource::Activities),
            rev.clone().prop_map(Resource::Revision),
            rev.clone().prop_map(Resource::Baseline),
            id.prop_map(Resource::Activity),
            (rev.clone(), path.clone()).prop_map(|(r, p)| Resource::RevisionRoot(r, p)),
            (rev.clone(), path.clone()).prop_map(|(r, p)| Resource::BaselineCollection(r, p)),
            (rev.clone(), path.clone()).prop_map(|(r, p)| Resource::Version(r, p)),
            (id, path.clone()).prop_map(|(i, p)| Resource::TxnRoot(i, p)),
            (id, path.clone()).prop_map(|(i, p)| Resource::VTxnRoot(i, p)),
            (id, path).prop_map(|(i, p)| Resource::Working(i, p)),
            (id, rev).prop_map(|(i, r)| Resource::WorkingBaseline(i, r)),
        ]
    }

    proptest! {
        #[test]
        fn there_and_back(resource in some()) {
            prop_assert_eq!(parse(&resource.path(SPECIAL)), resource);
        }

        #[test]
        fn any_text_does_no_harm(text in ".{0,60}") {
            let _ = Resource::parse(&text, SPECIAL);
        }
    }
}
