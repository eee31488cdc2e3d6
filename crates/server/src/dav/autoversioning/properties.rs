//! PROPPATCH at plain URLs: properties of any name and namespace.

use sapwood_core::FsPath;
use sapwood_core::SvnError;
use sapwood_repos::TxnEditor;
use sapwood_wire_dav::proppatch::{self, Change};
use sapwood_wire_dav::xml::{Document, Limits};
use sapwood_wire_dav::{NS_DAV, NS_SVN_DAV, dead};

use super::super::exchange::Exchange;
use super::super::fail::{DavResult, Fail};
use super::super::session::Session;
use super::changes::{Change as Of, check_held};
use super::{begin, conditions, flush, not_there, refused, youngest};

/// Bytes of a body.
const MAX_BODY: u64 = 64 << 20;

/// Makes all changes in one revision, or none.
pub(super) fn proppatch(
    session: &Session<'_>,
    exchange: &mut Exchange,
    path: &FsPath,
) -> DavResult {
    let limits = Limits { bytes: MAX_BODY, ..Limits::default() };
    let changes = proppatch::read_any(Document::open(&mut exchange.body, limits)?)?;
    let root = youngest(session)?;
    let Some(kind) = flush::kind(session, &root, path)? else {
        return Err(not_there(path));
    };
    let waits = root.kind(path)?.is_none();
    conditions::check(session, &root, path)?;
    check_held(session, path, Of::Own)?;
    exchange.status(207);
    exchange.xml();
    let href = session.address(&session.resource);
    let is_live = |change: &&Change| [NS_DAV, NS_SVN_DAV].contains(&&*change.name.namespace);
    if let Some(live) = changes.iter().find(is_live) {
        let (status, message) = ("403 Forbidden", "The property cannot be set");
        proppatch::failure(exchange.out(), &href, &changes, live, (status, message));
        return Ok(());
    }
    if !waits {
        flush::flush_own(session);
    }
    let mut editor = begin(session)?;
    let joined = waits.then(|| flush::join(session));
    for change in joined.iter().flat_map(|joined| &joined.changes) {
        flush::replay(&mut editor, change, &session.access).map_err(refused)?;
    }
    editor.check_writable(path, kind, None, &session.access)?;
    let before = editor.node_props(path)?;
    for change in &changes {
        if let Err(error) = apply(&mut editor, path, change) {
            if let Fail::Error(_, 423) = refused(error.clone()) {
                return Err(refused(error));
            }
            let failed = ("409 Conflict", error.message());
            proppatch::failure(exchange.out(), &href, &changes, change, failed);
            return Ok(());
        }
    }
    let after = editor.node_props(path)?;
    let goes_on_waiting =
        waits && session.shared.saves.set_props(&flush::who(session), path, &after);
    if after != before && !goes_on_waiting {
        flush::commit(session, editor, joined, path)?;
    }
    proppatch::success(exchange.out(), &href, &changes);
    Ok(())
}

fn apply(editor: &mut TxnEditor, path: &FsPath, change: &Change) -> Result<(), SvnError> {
    if let Some(name) = change.name.property() {
        return editor.change_prop(path, &name, change.value.as_deref());
    }
    // Its old value may have been of the other kind.
    let (own, other) =
        (dead::property(&change.name, change.is_xml), dead::property(&change.name, !change.is_xml));
    if editor.node_props(path)?.get(&other).is_some() {
        editor.change_prop(path, &other, None)?;
    }
    editor.change_prop(path, &own, change.value.as_deref())
}
