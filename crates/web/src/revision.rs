//! The page of a revision: its message, the paths that it changed, the differences of their texts and properties.

use std::sync::Arc;

use maud::{Markup, html};
use sapwood_core::paths::FsPathBuf;
use sapwood_core::props::names;
use sapwood_core::{FsPath, NodeKind, PropList, Revnum, SvnResult};
use sapwood_fs::Node;
use sapwood_repos::LogRevision;
use serde_json::{Value, json};

use crate::Request;
use crate::budget::{self, Budget};
use crate::bugtraq::Issues;
use crate::delta::Manner;
use crate::fault::{Fault, Result};
use crate::layout::{self, Subject, Tab};
use crate::pictures::{self, Side};
use crate::reply::Reply;
use crate::view::{Change, FoundNode};
use crate::{delta, text, times, words};

/// A changed path.
pub(crate) struct ChangedPath {
    pub(crate) path: FsPathBuf,
    pub(crate) action: char,
    pub(crate) is_dir: bool,
    text: bool,
    props: bool,
    pub(crate) copy_from: Option<(FsPathBuf, Revnum)>,
}

impl ChangedPath {
    /// Whether there may be differences that are shown: of what was deleted there are none.
    fn has_delta(&self) -> bool {
        self.action != 'D' && (self.text || self.props)
    }
}

/// A revision as it may be seen.
pub(crate) struct RevisionDetails {
    pub(crate) change: Change,
    pub(crate) paths: Vec<ChangedPath>,
    /// How many more there are.
    pub(crate) more: usize,
    pub(crate) props: Vec<(String, String)>,
}

impl RevisionDetails {
    pub(crate) fn read(request: &Request<'_>, revision: Revnum) -> Result<Self> {
        if revision > request.view.youngest()? {
            return Err(Fault::Missing);
        }
        let mut seen = None;
        let mut receive = |entry: &LogRevision<'_>| -> SvnResult<()> {
            if let Some(change) = Change::of_log(entry) {
                seen = Some(Self::of(change, entry));
            }
            Ok(())
        };
        request.view.revision(revision, &mut receive)?;
        seen.ok_or(Fault::Missing)
    }

    /// The folder that all changed paths are in.
    fn common_folder(&self) -> FsPathBuf {
        let mut paths = self.paths.iter().map(|changed| &*changed.path);
        let Some(first) = paths.next() else { return FsPath::ROOT.to_owned() };
        let mut folder = first.to_owned();
        for path in paths {
            while !path.is_at_or_below(&folder) {
                folder = folder.parent().to_owned();
            }
        }
        folder
    }

    fn of(change: Change, entry: &LogRevision<'_>) -> Self {
        let mut changes = entry.changes().take(budget::PATHS_SEEN);
        let paths = changes.by_ref().take(budget::PATHS).map(|change| ChangedPath {
            path: change.path.to_owned(),
            action: char::from(change.action),
            is_dir: change.kind == Some(NodeKind::Dir),
            text: change.text_mod,
            props: change.prop_mod,
            copy_from: change.copy_from.map(|(path, revision)| (path.to_owned(), revision)),
        });
        let paths = paths.collect();
        let more = changes.count();
        let shown = [names::AUTHOR, names::DATE, names::LOG];
        let others = entry.revprops().filter(|(name, _)| !shown.contains(name));
        let props = others
            .take(budget::PROPERTIES)
            .map(|(name, value)| (text::shown(name).into_owned(), crate::file::value_text(value)));
        Self { change, paths, more, props: props.collect() }
    }
}

pub(crate) fn page(request: &Request<'_>, revision: Revnum) -> Result<Reply> {
    let youngest = request.view.youngest()?;
    let seen = RevisionDetails::read(request, revision)?;
    let budget = Budget::new();
    let deltas = deltas(request, &seen, &budget)?;
    let body = html! {
        (neighbours(request, revision, youngest))
        (message(request, &seen.change, Issues::of(request, &seen.common_folder())?.as_ref()))
        @if !seen.props.is_empty() {
            details.props {
                summary { (words::PROPERTIES) " (" (seen.props.len()) ")" }
                dl { @for (name, value) in &seen.props { dt { bdi { (name) } } dd { pre { (value) } } } }
            }
        }
        (paths(request, &seen))
        (deltas)
    };
    let subject = Subject { path: FsPath::ROOT, is_file: false, revision, sticky: Some(revision) };
    Ok(layout::reply(request, &words::revision(revision), Tab::Revision, &subject, &body))
}

fn neighbours(request: &Request<'_>, revision: Revnum, youngest: Revnum) -> Markup {
    let links = request.links;
    html! {
        nav.pages {
            @if let Some(older) = revision.prev() {
                a rel="nofollow prev" href=(links.revision(older)) { "\u{2190} " (words::revision(older)) }
            }
            @if revision < youngest {
                a rel="nofollow next" href=(links.revision(revision.next())) { (words::revision(revision.next())) " \u{2192}" }
            }
        }
    }
}

fn message(request: &Request<'_>, change: &Change, issues: Option<&Issues>) -> Markup {
    let message = change.message.as_deref().unwrap_or("");
    html! {
        article.message {
            h1 { (words::REVISION) " " (change.revision) }
            p {
                (layout::author(change.author.as_deref())) " · "
                (times::ago(change.date.as_deref(), request.now))
                @if let Some(date) = &change.date { " · " span.dim { (times::at(date)) } }
            }
            @if message.trim().is_empty() { p.dim { (words::NO_MESSAGE) } }
            @else {
                pre.log {
                    @match issues {
                        Some(issues) => (issues.links(message.trim_end())),
                        None => (message.trim_end()),
                    }
                }
            }
        }
    }
}

const fn action(letter: char) -> (&'static str, &'static str) {
    match letter {
        'A' => ("add", words::ADDED),
        'D' => ("del", words::DELETED),
        'R' => ("rep", words::REPLACED),
        _ => ("mod", words::MODIFIED),
    }
}

fn paths(request: &Request<'_>, seen: &RevisionDetails) -> Markup {
    let folders = folders(&seen.paths);
    html! {
        section {
            h2 { (words::CHANGED_PATHS) }
            @if seen.paths.is_empty() { (layout::note(words::NO_CHANGES)) }
            @for (folder, changes) in &folders {
                @match folder {
                    None => (list(request, seen, changes)),
                    Some(folder) => details.folder open {
                        summary { bdi { (text::shown(folder)) } " (" (changes.len()) ")" }
                        (list(request, seen, changes))
                    },
                }
            }
            @if seen.more > 0 {
                p.note {
                    (words::more_paths(seen.more)) " "
                    (words::see_with("")) code { "svn log -v -r " (seen.change.revision) }
                }
            }
        }
    }
}

/// The changed paths by the folders that they are in, in their order; few are one list without a folder.
fn folders(paths: &[ChangedPath]) -> Vec<(Option<&FsPath>, &[ChangedPath])> {
    if paths.len() <= budget::PATHS_UNFOLDED {
        return vec![(None, paths)];
    }
    let is_beside = |one: &ChangedPath, next: &ChangedPath| one.path.parent() == next.path.parent();
    let chunks = paths.chunk_by(is_beside);
    chunks.map(|chunk| (chunk.first().map(|first| first.path.parent()), chunk)).collect()
}

fn list(request: &Request<'_>, seen: &RevisionDetails, changes: &[ChangedPath]) -> Markup {
    let (links, revision) = (request.links, seen.change.revision);
    let at = |change: &ChangedPath| match (change.action, revision.prev()) {
        ('D', Some(before)) => links.tree(&change.path, Some(before)),
        _ => links.tree(&change.path, Some(revision)),
    };
    html! {
        ul.paths {
            @for change in changes {
                @let (class, word) = action(change.action);
                li {
                    span class={ "mark " (class) } title=(word) { (change.action) }
                    a href=(at(change)) rel="nofollow" {
                        bdi { (text::shown(&change.path)) } @if change.is_dir { "/" }
                    }
                    @if let Some((path, from)) = &change.copy_from {
                        " " span.dim {
                            (words::COPIED_FROM) " "
                            a href=(links.tree(path, Some(*from))) rel="nofollow" {
                                bdi { (text::shown(path)) } "@" (from)
                            }
                        }
                    }
                }
            }
        }
    }
}

fn deltas(request: &Request<'_>, seen: &RevisionDetails, budget: &Budget) -> Result<Markup> {
    let Some(before) = seen.change.revision.prev() else { return Ok(html! {}) };
    let mut blocks = Vec::new();
    let mut is_cut = false;
    for change in seen.paths.iter().filter(|change| change.has_delta()) {
        if blocks.len() == budget::DELTAS || budget.is_used() {
            is_cut = true;
            break;
        }
        let found = request.view.find(&change.path, Some(seen.change.revision), None)?;
        blocks.extend(of_path(request, change, &found, before, budget)?);
    }
    Ok(html! {
        @if !blocks.is_empty() {
            h2 { (words::DIFFERENCES) }
            (Manner::of(request).links(request, &request.links.revision(seen.change.revision)))
        }
        @for block in &blocks { (block) }
        @if is_cut || seen.more > 0 {
            p.note { (words::TOO_LONG) " " (words::see_with("")) code { "svn diff -c " (seen.change.revision) } }
        }
    })
}

/// What a file showed before and after a change, if it is a picture.
fn pictures(request: &Request<'_>, old: Option<&Node>, new: &FoundNode) -> Result<Option<Markup>> {
    let place = old.map(|old| request.view.place_of(old, new)).transpose()?;
    let before = old.zip(place.as_ref());
    let before = before.map(|(node, (path, revision))| Side { node, path, revision: *revision });
    let after = Side { node: &new.node, path: &new.path, revision: new.revision };
    pictures::compared(request.links, before.as_ref(), Some(&after))
}

/// What differs at one path.
struct Delta {
    old: Option<Node>,
    old_props: Arc<PropList>,
    new_props: Arc<PropList>,
    has_text: bool,
}

impl Delta {
    fn read(
        request: &Request<'_>,
        change: &ChangedPath,
        found: &FoundNode,
    ) -> Result<Option<Self>> {
        let is_new = matches!(change.action, 'A' | 'R') && change.copy_from.is_none();
        let old = if is_new { None } else { request.view.before(found)? };
        let old_props = match &old {
            Some(old) => old.props()?,
            None => Arc::new(PropList::new()),
        };
        let new_props = found.node.props()?;
        let has_text = found.node.kind() == NodeKind::File
            && match &old {
                Some(old) => change.text && old.contents_differ(&found.node)?,
                None => true,
            };
        let is_some = has_text || old_props != new_props;
        Ok(is_some.then_some(Self { old, old_props, new_props, has_text }))
    }
}

/// The differences that a revision made, as a value.
pub(crate) fn differences(request: &Request<'_>, revision: Revnum) -> Result<Value> {
    let (seen, budget) = (RevisionDetails::read(request, revision)?, Budget::new());
    let (mut files, mut is_whole) = (Vec::new(), seen.more == 0);
    for change in seen.paths.iter().filter(|change| change.has_delta()) {
        if files.len() == budget::DELTAS || budget.is_used() {
            is_whole = false;
            break;
        }
        let found = request.view.find(&change.path, Some(revision), None)?;
        let Some(delta) = Delta::read(request, change, &found)? else { continue };
        let text = match delta.has_text {
            true => {
                let (old, manner) = (delta.old.as_ref(), Manner::of(request));
                delta::values::text(old, Some(&found.node), manner, &budget)?
            }
            false => Value::Null,
        };
        let before =
            delta.old.as_ref().map(|old| request.view.place_of(old, &found)).transpose()?;
        let before = before.as_ref().map(|(path, at)| (&**path, *at));
        let props = delta::values::properties(&delta.old_props, &delta.new_props);
        let (_, action) = action(change.action);
        files.push(delta::values::file(&found.path, action, change.is_dir, before, props, text));
    }
    Ok(json!({ "revision": revision.0, "files": files, "complete": is_whole }))
}

/// The differences at one path.
fn of_path(
    request: &Request<'_>,
    change: &ChangedPath,
    found: &FoundNode,
    before: Revnum,
    budget: &Budget,
) -> Result<Option<Markup>> {
    let Some(delta) = Delta::read(request, change, found)? else { return Ok(None) };
    let Delta { old, old_props, new_props, has_text } = delta;
    let props = delta::properties(request.links, &old_props, &new_props);
    let is_file = found.node.kind() == NodeKind::File;
    let pictures = if has_text { pictures(request, old.as_ref(), found)? } else { None };
    let text = if has_text {
        let page = request.links.tree(&found.path, Some(found.revision));
        let place = delta::Place { path: &found.path, page: &page };
        delta::files(old.as_ref(), Some(&found.node), place, Manner::of(request), budget)?
    } else {
        html! {}
    };
    let links = request.links;
    Ok(Some(html! {
        section.file {
            h3 {
                a href=(links.tree(&found.path, Some(found.revision))) rel="nofollow" { bdi { (text::shown(&found.path)) } }
                @if is_file {
                    " " span.raw {
                        @if old.is_some() && change.copy_from.is_none() {
                            a href=(links.raw(&found.path, before)) rel="nofollow" { (words::BEFORE) }
                        }
                        a href=(links.raw(&found.path, found.revision)) rel="nofollow" { (words::AFTER) }
                    }
                }
            }
            (props)
            @if let Some(pictures) = pictures { (pictures) }
            (text)
        }
    }))
}
