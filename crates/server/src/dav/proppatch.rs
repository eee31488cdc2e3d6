//! PROPPATCH: properties of nodes and of the commit in transactions, and of revisions.

use sapwood_core::{ErrorCode, NodeKind, Revnum, SvnError};
use sapwood_repos::{RevpropHooks, RevpropRequest, change_revision_prop};
use sapwood_wire_dav::Resource;
use sapwood_wire_dav::proppatch::{self, Change};
use sapwood_wire_dav::xml::{Document, Limits};

use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::session::Session;
use super::tokens::{lock_tokens, version_name};
use super::txn_resource;
use crate::common::operation_log::Operation;

pub(super) fn proppatch(session: &Session<'_>, exchange: &mut Exchange) -> DavResult {
    let root = Document::open(&mut exchange.body, Limits::default())?.into_root()?;
    let changes = proppatch::read(&root)?;
    let mut named = Vec::with_capacity(changes.len());
    for change in &changes {
        let Some(property) = change.name.property() else {
            return Err(Fail::status(
                409,
                "Properties may only be defined in the \
                 http://subversion.tigris.org/xmlns/svn/ and \
                 http://subversion.tigris.org/xmlns/custom/ namespaces.",
            ));
        };
        named.push((property, change));
    }
    match &session.resource {
        Resource::Revision(rev) | Resource::Baseline(rev) => revision(session, *rev, &named)?,
        _ => transaction(session, &named)?,
    }
    exchange.status(207);
    exchange.xml();
    let href = session.address(&session.resource);
    proppatch::success(exchange.out(), &href, &changes);
    Ok(())
}

/// Properties of a revision: each by itself, with its hooks, as the reference does.
fn revision(session: &Session<'_>, rev: Revnum, changes: &[(String, &Change)]) -> DavResult {
    let hooks = session.access.hooks(&session.repository);
    for (name, change) in changes {
        session.log_command(&Operation::ChangeRevProp { revision: rev, name });
        let request = RevpropRequest {
            revision: rev,
            name,
            expected: change.expected.as_ref().map(Option::as_deref),
            value: change.value.as_deref(),
            user: session.access.user(),
            hooks: RevpropHooks::ALL,
        };
        change_revision_prop(&session.repository, &hooks, &request, &session.access)?;
        session.shared.server.revprop_changed(&session.repository, rev);
    }
    Ok(())
}

fn transaction(session: &Session<'_>, changes: &[(String, &Change)]) -> DavResult {
    let (txn, path) = txn_resource::open(session)?;
    let mut locked = txn.lock();
    let editor = locked.editor()?;
    let Some(path) = path else {
        for (name, change) in changes {
            editor.set_prop(name, change.value.as_deref())?;
        }
        return Ok(());
    };
    editor.show_tokens(lock_tokens(session));
    let kind = editor.kind(&path)?.ok_or_else(|| {
        let message = format!("File not found: transaction '{}', path '{path}'", editor.name());
        SvnError::new(ErrorCode::FS_NOT_FOUND, message)
    })?;
    editor.check_writable(&path, kind, None, &session.access)?;
    if let Some(base) = version_name(session) {
        editor.check_base(&path, kind, base)?;
        if kind == NodeKind::Dir {
            editor.check_changed_dir(&path, base)?;
        }
    }
    for (name, change) in changes {
        editor.change_prop(&path, name, change.value.as_deref())?;
    }
    Ok(())
}
