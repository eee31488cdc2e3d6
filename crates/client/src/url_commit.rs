//! Commits of changes to URLs alone: directories made, nodes deleted, copied and moved.

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPathBuf, Url, UrlBuf};
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, NodeKind, PropList, Revnum, SvnError, SvnResult, path};
use sapwood_delta::Handle;
use sapwood_ra::{CommitEditor, CommitRequest, Session};

use crate::commit_item::CommitItem;
use crate::context::Context;

/// The change at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A directory is made.
    Mkdir,
    /// The node is deleted.
    Delete,
    /// A node is copied here.
    Copy {
        /// The source's URL.
        url: UrlBuf,
        /// The source's revision.
        revision: Revnum,
        /// File or directory.
        kind: NodeKind,
        /// The value of `svn:mergeinfo` that the copy gets.
        mergeinfo: Option<String>,
        /// The value of `svn:externals` that it gets.
        externals: Option<Vec<u8>>,
    },
    /// A directory that came with a copy gets this value of `svn:externals`.
    Externals(Vec<u8>),
}

/// Checks the properties that were given for a new revision.
///
/// # Errors
/// E195011 for properties that are set by other means.
pub(crate) fn check_revprops(given: &PropList) -> SvnResult<()> {
    if given.iter().any(|(name, _)| name.starts_with("svn:")) {
        return Err(SvnError::new(
            ErrorCode::CLIENT_PROPERTY_NAME,
            "Standard properties can't be set explicitly as revision properties",
        ));
    }
    Ok(())
}

/// The properties of a new revision: those that were given, and the message.
///
/// # Errors
/// Those of [`check_revprops`].
pub(crate) fn revision_props(given: &PropList, message: &[u8]) -> SvnResult<PropList> {
    check_revprops(given)?;
    let mut props = given.clone();
    props.set(names::LOG, message);
    Ok(props)
}

/// The longest URL that all are at or below, and what leads from there to each. With
/// `remove_redundant`, those at or below another one are left out.
pub(crate) fn condense(
    urls: &[UrlBuf],
    remove_redundant: bool,
) -> SvnResult<(UrlBuf, Vec<RelPathBuf>)> {
    let first = urls.first().map(UrlBuf::as_path);
    let common = urls.iter().fold(first, |common, url| common?.common_ancestor(url));
    // There is no session to what has nothing in common.
    let common = common.ok_or_else(|| sapwood_ra::Error::IllegalUrl(String::new()))?.to_owned();
    let mut below: Vec<RelPathBuf> = urls.iter().filter_map(|url| url.below(&common)).collect();
    below.sort_by(|a, b| path::compare(a, b));
    below.dedup();
    if remove_redundant {
        let mut kept: Vec<RelPathBuf> = Vec::with_capacity(below.len());
        for relpath in below {
            if !kept.last().is_some_and(|last| relpath.is_at_or_below(last)) {
                kept.push(relpath);
            }
        }
        below = kept;
    }
    Ok((common, below))
}

/// E200009 for a URL that has nothing above it, else the URL above and the last name.
pub(crate) fn above(url: &Url) -> SvnResult<(UrlBuf, String)> {
    url.parent_and_name()
        .map(|(parent, name)| (parent.to_owned(), name))
        .filter(|(_, name)| !name.is_empty())
        .ok_or_else(|| {
            SvnError::new(ErrorCode::ILLEGAL_TARGET, format!("There is no valid URI above '{url}'"))
        })
}

/// Commits steps at paths below the session's URL. Nothing is made when no message is written.
///
/// # Errors
/// Those of sessions, and of writing the message.
pub(crate) fn commit(
    ctx: &Context,
    session: &dyn Session,
    mut steps: Vec<(RelPathBuf, Step)>,
    items: &[CommitItem],
    revprops: &PropList,
) -> SvnResult<()> {
    let Some(message) = ctx.message_for(items)? else { return Ok(()) };
    let revprops = revision_props(revprops, &message)?;
    steps.sort_by(|a, b| path::compare(&a.0, &b.0));
    let request = CommitRequest { revprops: &revprops, lock_tokens: &[], keep_locks: true };
    let mut editor = session.commit(&request)?;
    if let Err(error) = drive(editor.as_mut(), &steps) {
        let _ = editor.abort_edit();
        return Err(error);
    }
    ctx.notify(&Notify::of_url(Action::CommitFinalizing, &session.url()));
    editor.close_edit()?;
    match editor.committed() {
        Some(info) => ctx.notify_commit(info),
        None => Ok(()),
    }
}

/// Drives an editor with steps in the order of paths, opening what lies between.
fn drive(editor: &mut dyn CommitEditor, steps: &[(RelPathBuf, Step)]) -> SvnResult<()> {
    let mut open: Vec<(RelPathBuf, Handle)> =
        vec![(RelPathBuf::default(), editor.open_root(None)?)];
    for (relpath, step) in steps {
        sapwood_core::path::check_controls(relpath)?;
        let parent_path = relpath.parent();
        while let Some((dir, handle)) = open.last() {
            if parent_path.is_at_or_below(dir) {
                break;
            }
            editor.close_directory(*handle)?;
            open.pop();
        }
        let (mut dir, mut parent) = match open.last() {
            Some((dir, handle)) => (dir.clone(), *handle),
            None => return Err(internal("a step leads out of the edit")),
        };
        for name in path::components(path::rest_below(&dir, parent_path)?) {
            dir = dir.child(name);
            parent = editor.open_directory(&dir, parent, None)?;
            open.push((dir.clone(), parent));
        }
        match step {
            Step::Mkdir => {
                let handle = editor.add_directory(relpath, parent, None)?;
                open.push((relpath.clone(), handle));
            }
            Step::Delete => editor.delete_entry(relpath, None, parent)?,
            Step::Externals(value) => {
                let handle = editor.open_directory(relpath, parent, None)?;
                editor.change_dir_prop(handle, names::EXTERNALS, Some(value))?;
                open.push((relpath.clone(), handle));
            }
            Step::Copy { url, revision, kind, mergeinfo, externals } => {
                let from = Some((url.as_str(), *revision));
                let value = mergeinfo.as_ref().map(String::as_bytes);
                if *kind == NodeKind::File {
                    let handle = editor.add_file(relpath, parent, from)?;
                    if value.is_some() {
                        editor.change_file_prop(handle, names::MERGEINFO, value)?;
                    }
                    editor.close_file(handle, None)?;
                } else {
                    let handle = editor.add_directory(relpath, parent, from)?;
                    if value.is_some() {
                        editor.change_dir_prop(handle, names::MERGEINFO, value)?;
                    }
                    if externals.is_some() {
                        editor.change_dir_prop(handle, names::EXTERNALS, externals.as_deref())?;
                    }
                    open.push((relpath.clone(), handle));
                }
            }
        }
    }
    while let Some((_, handle)) = open.pop() {
        editor.close_directory(handle)?;
    }
    Ok(())
}

fn internal(what: &str) -> SvnError {
    SvnError::new(ErrorCode::ASSERTION_FAIL, format!("internal error in url_commit: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn condensed() {
        let urls = |list: &[&str]| {
            list.iter().map(|u| Url::new(u).unwrap().to_owned()).collect::<Vec<_>>()
        };
        let condense = |urls: &[UrlBuf], remove_redundant| {
            let (common, below) = condense(urls, remove_redundant).unwrap();
            (common.into_string(), below.into_iter().map(String::from).collect::<Vec<_>>())
        };
        let text = |list: &[&str]| list.iter().map(|u| (*u).to_owned()).collect::<Vec<_>>();
        let all = urls(&["svn://h/r/a/b", "svn://h/r/a", "svn://h/r/c%20d"]);
        assert_eq!(condense(&all, false), ("svn://h/r".to_owned(), text(&["a", "a/b", "c d"])));
        assert_eq!(condense(&all, true), ("svn://h/r".to_owned(), text(&["a", "c d"])));
        let one = urls(&["svn://h/r/a"]);
        assert_eq!(condense(&one, true), ("svn://h/r/a".to_owned(), text(&[""])));
    }
}
