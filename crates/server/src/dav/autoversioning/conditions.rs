//! The preconditions of a request: `If`, `If-Match`, `If-None-Match`, `If-Unmodified-Since`.

use sapwood_core::FsPath;
use sapwood_fs::{Node, Root};
use sapwood_repos::committed_info;
use sapwood_wire_dav::Resource;
use sapwood_wire_dav::ifheader::{self, State};

use super::super::entity::{etag, http_date, tags};
use super::super::fail::{DavResult, Fail};
use super::super::get_conditions::is_modified_since;
use super::super::session::Session;
use super::flush;
use super::pending::State as Waits;
use crate::common::access::Action;

fn failed() -> Fail {
    Fail::status(412, "A condition of the request does not hold")
}

/// Checks the preconditions of a request to change `path`.
///
/// # Errors
/// 412 when they do not hold, 400 when they are malformed.
pub(super) fn check(session: &Session<'_>, root: &Root, path: &FsPath) -> DavResult {
    let head = session.head;
    let state = flush::state(session, path);
    let is_made = matches!(state, Some(Waits::Made(..)));
    let node = match state {
        Some(Waits::Gone { .. }) => None,
        _ => root.find(path)?,
    };
    let tag = node.as_ref().map(etag).transpose()?;
    // A pending new node exists, but has no tag yet.
    let names = |list: &str| {
        tags(list).any(|said| match &tag {
            Some(tag) => said == "*" || said == tag,
            None => is_made && said == "*",
        })
    };
    if let Some(list) = head.header("if-match")
        && !names(list)
    {
        return Err(failed());
    }
    if let Some(list) = head.header("if-none-match")
        && names(list)
    {
        return Err(failed());
    }
    if let (Some(said), Some(node)) = (head.header("if-unmodified-since"), &node) {
        check_age(root, node, said)?;
    }
    let values: Vec<_> = head.headers.get_all("if").iter().collect();
    if values.is_empty() {
        return Ok(());
    }
    for value in values {
        let lists = value.to_str().ok().and_then(ifheader::lists);
        let lists = lists.ok_or_else(|| Fail::status(400, "The If header is malformed"))?;
        for list in lists {
            let place = match &list.resource {
                None => Some(path.to_owned()),
                Some(address) => match session.resource_at(address) {
                    Ok(Resource::Public(path)) => Some(path),
                    _ => None,
                },
            };
            let mut holds = true;
            for condition in &list.conditions {
                let is_so = match &place {
                    Some(place) => is_so(session, root, place, &condition.state)?,
                    None => false,
                };
                holds &= is_so != condition.negated;
            }
            if holds {
                return Ok(());
            }
        }
    }
    Err(failed())
}

/// Checks that a node was not changed after a date.
fn check_age(root: &Root, node: &Node, date: &str) -> DavResult {
    let info = committed_info(&mut root.fs().revprops_snapshot(), node)?;
    let modified = info.date().and_then(http_date);
    match is_modified_since(Some(date), modified.as_deref()) {
        Some(true) => Err(failed()),
        _ => Ok(()),
    }
}

/// Whether the node at a path is in a state. Unreadable nodes count as missing.
fn is_so(session: &Session<'_>, root: &Root, path: &FsPath, state: &State) -> DavResult<bool> {
    if session.must(Action::Read, Some(path)).is_err() {
        return Ok(false);
    }
    Ok(match state {
        State::Token(token) => {
            let own = session.repository.fs().lock(path)?;
            own.is_some_and(|lock| lock.token == *token)
                || session
                    .shared
                    .held
                    .on(session.repository.path(), path)
                    .iter()
                    .any(|held| held.token == *token)
        }
        State::Tag(tag) => match root.find(path)? {
            Some(node) => etag(&node)? == *tag,
            None => false,
        },
    })
}
