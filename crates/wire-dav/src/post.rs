//! POST: skels that make transactions.

use sapwood_core::PropList;
use sapwood_core::skel::Skel;

use crate::error::{Error, Result};

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Post {
    /// A transaction.
    CreateTxn,
    /// A transaction with these properties.
    CreateTxnWithProps(PropList),
}

impl Post {
    /// The body.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let skel = match self {
            Self::CreateTxn => Skel::List(vec![Skel::Atom(b"create-txn")]),
            Self::CreateTxnWithProps(props) => {
                let pairs = props.iter().flat_map(|(name, value)| [name.as_bytes(), value]);
                let pairs = Skel::List(pairs.map(Skel::Atom).collect());
                Skel::List(vec![Skel::Atom(b"create-txn-with-props"), pairs])
            }
        };
        let mut out = Vec::new();
        skel.write(&mut out);
        out
    }

    /// Reads a body.
    ///
    /// # Errors
    /// For a body that is no skel, or of an unknown kind.
    pub fn read(body: &[u8]) -> Result<Self> {
        let bad = || Error::Address("The POST data was not a valid request");
        let skel = Skel::parse(body).map_err(|_| bad())?;
        match skel.list().ok_or_else(bad)? {
            [Skel::Atom(name)] if &**name == b"create-txn" => Ok(Self::CreateTxn),
            [Skel::Atom(name), props] if &**name == b"create-txn-with-props" => {
                let mut list = PropList::default();
                let items = props.list().ok_or_else(bad)?;
                for pair in items.chunks(2) {
                    let [Skel::Atom(name), Skel::Atom(value)] = pair else { return Err(bad()) };
                    let name = std::str::from_utf8(name).map_err(|_| bad())?;
                    list.set(name, value);
                }
                Ok(Self::CreateTxnWithProps(list))
            }
            _ => Err(bad()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let mut props = PropList::default();
        props.set("svn:log", b"a (b) \xff");
        for post in [Post::CreateTxn, Post::CreateTxnWithProps(props)] {
            assert_eq!(Post::read(&post.write()).unwrap(), post);
        }
    }

    #[test]
    fn requests() {
        assert_eq!(Post::read(b"( create-txn )").unwrap(), Post::CreateTxn);
        let post = Post::read(b"(create-txn-with-props (svn:log 3 a b p 0 ))").unwrap();
        let Post::CreateTxnWithProps(props) = post else { panic!() };
        assert_eq!((props.get("svn:log"), props.get("p")), (Some(&b"a b"[..]), Some(&b""[..])));
        for bad in [&b""[..], b"x", b"()", b"(other)", b"(create-txn-with-props (a))"] {
            assert!(Post::read(bad).is_err());
        }
    }
}
