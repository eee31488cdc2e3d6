//! The commit that the resource of a request is in.
//!
//! Invariant: only the user that began a commit may continue it.

use sapwood_core::paths::FsPathBuf;
use sapwood_wire_dav::Resource;

use super::fail::{DavResult, Fail};
use super::session::Session;
use super::txns::{Name, OpenTxn};

/// The commit and the path in it that the resource refers to, if it refers to one.
fn name_and_path(session: &Session<'_>) -> DavResult<(Name, Option<FsPathBuf>)> {
    Ok(match &session.resource {
        Resource::Txn(name) => (Name::Txn(name.clone()), None),
        Resource::TxnRoot(name, path) => (Name::Txn(name.clone()), Some(path.clone())),
        Resource::VTxn(name) => (Name::Virtual(name.clone()), None),
        Resource::VTxnRoot(name, path) => (Name::Virtual(name.clone()), Some(path.clone())),
        Resource::Activity(id) | Resource::WorkingBaseline(id, _) => {
            (Name::Activity(id.clone()), None)
        }
        Resource::Working(id, path) => (Name::Activity(id.clone()), Some(path.clone())),
        _ => return Err(Fail::status(405, "Only transactions can be changed here")),
    })
}

/// The commit of the resource, and the path in it. Only the user that began it may continue it.
pub(super) fn open(session: &Session<'_>) -> DavResult<(OpenTxn, Option<FsPathBuf>)> {
    let (name, path) = name_and_path(session)?;
    let txn = by_name(session, &name)?;
    Ok((txn, path))
}

/// The commit of a name. Only the user that began it may continue it.
pub(super) fn by_name(session: &Session<'_>, name: &Name) -> DavResult<OpenTxn> {
    let found = session.shared.txns.get(session.repository.path(), name);
    let txn = found.map_err(|error| Fail::with(error, 404))?;
    if txn.lock().look()?.user() != session.access.user() {
        return Err(Fail::status(403, "The transaction belongs to another user"));
    }
    Ok(txn)
}
