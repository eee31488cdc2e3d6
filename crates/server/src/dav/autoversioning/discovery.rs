//! What other programs may know of the locks that the repository does not have.

use sapwood_core::FsPath;
use sapwood_wire_dav::{Resource, lock as wire};

use super::super::session::Session;
use super::held::DavLock;

pub(super) fn active_lock<'a>(held: &'a DavLock, root: &'a str) -> wire::ActiveLock<'a> {
    wire::ActiveLock {
        token: &held.token,
        owner: held.owner.as_deref(),
        is_xml: held.is_xml,
        root,
        timeout: Some(held.seconds()),
        is_shared: held.is_shared,
        is_deep: held.is_deep,
    }
}

/// Appends the `activelock`s that a path has outside of the repository.
pub(in super::super) fn discovered(session: &Session<'_>, path: &FsPath, out: &mut Vec<u8>) {
    if !session.autoversions() {
        return;
    }
    for held in session.shared.held.on(session.repository.path(), path) {
        let root = session.address(&Resource::Public(held.path.clone()));
        wire::active(out, &active_lock(&held, &root));
    }
}
