//! Properties of files and directories, of URLs and of working copies.

use std::collections::HashSet;

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf, Url};
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, NodeKind, PropList, Revnum, SvnError, SvnResult, path};
use sapwood_ra::{CommitRequest, Dirent, DirentFields, Session};
use sapwood_wc::WorkingCopy;
use sapwood_wc::props::Change;
use sapwood_wc::props::inherited::Source;
use sapwood_wc::props::rules::{
    FileForCheck, Newlines, PropKind, canonicalize, is_known_revision_prop, kind_of,
};
use sapwood_wc::view::{Status, View};

use crate::commit_item::{CommitItem, ItemState};
use crate::context::Context;
use crate::gathered::each_target;
use crate::open::{LocatedSession, session_at};
use crate::revision::Revision;
use crate::target::is_url;
use crate::tree_props;
use crate::url_commit::revision_props;
use crate::working::Node;

/// Which nodes' properties are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// A URL, or a local path.
    pub target: &'a str,
    /// Where to look for it.
    pub peg: Revision,
    /// As of when.
    pub revision: Revision,
    /// How deep.
    pub depth: Depth,
    /// In a working copy: only nodes on one of these, if there are some.
    pub changelists: &'a [String],
    /// Whether what is inherited is wanted.
    pub inherited: bool,
    /// Only this property.
    pub name: Option<&'a str>,
}

/// The properties of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundProps {
    /// Its URL, or local path (as the target was written, with what is below it).
    pub path: String,
    /// Its own properties; `None` when only inherited ones are reported.
    pub props: Option<PropList>,
    /// What it inherits, and from where: what is farthest above comes first.
    pub inherited: Vec<(String, PropList)>,
}

/// Takes the properties of one node.
pub type Receiver<'a> = &'a mut dyn FnMut(&FoundProps) -> SvnResult<()>;

/// Calls `receiver` with the properties; returns the revision that was read, for URLs.
///
/// # Errors
/// E200005 for what is not under version control, E150000 for what is not in the repository; those
/// of sessions, the working copy and `receiver`.
pub fn list(
    ctx: &Context,
    request: &Request<'_>,
    receiver: Receiver<'_>,
) -> SvnResult<Option<Revnum>> {
    let url = is_url(request.target);
    let default = if url { Revision::Head } else { Revision::Working };
    let (peg, revision) = match request.peg {
        Revision::Unspecified => (default, request.revision.or(default)),
        peg => (peg, request.revision.or(peg)),
    };
    // What was committed last is what there is in BASE.
    let pristine = matches!(revision, Revision::Base | Revision::Committed);
    if !url && peg.is_in_working_copy() && revision.is_in_working_copy() {
        let mut inherited = None;
        // The working copy knows the inherited properties of its present nodes only.
        if request.inherited && (peg, revision) != (Revision::Working, Revision::Working) {
            let (path, found) = match Node::find(ctx, request.target)?.origin()? {
                Some(_) => {
                    let LocatedSession { session, revision, .. } =
                        session_of(ctx, request.target, peg, revision)?;
                    (
                        session.url().into_string(),
                        remote_inherited(session.as_ref(), revision, request)?,
                    )
                }
                None => (String::new(), Vec::new()),
            };
            if request.name.is_some() {
                inherited = Some(found);
            } else {
                if !found.is_empty() {
                    receiver(&FoundProps { path, props: None, inherited: found })?;
                }
                inherited = Some(Vec::new());
            }
        }
        if request.depth == Depth::Empty && !request.inherited && !pristine {
            list_one(ctx, request, receiver)?;
        } else {
            local_list(ctx, request, pristine, inherited, receiver)?;
        }
        return Ok(None);
    }
    if url && (peg.needs_working_copy() || revision.needs_working_copy()) {
        return Err(SvnError::new(ErrorCode::CLIENT_VERSIONED_PATH_REQUIRED, ""));
    }
    let LocatedSession { session, revision, .. } = session_of(ctx, request.target, peg, revision)?;
    remote_list(ctx, session.as_ref(), revision, request, receiver)?;
    Ok(Some(revision))
}

/// A session at a target. What was copied here is, for its properties, where it came from.
fn session_of(
    ctx: &Context,
    target: &str,
    peg: Revision,
    wanted: Revision,
) -> SvnResult<LocatedSession> {
    if is_url(target) || !peg.needs_working_copy() {
        return session_at(ctx, target, peg, wanted);
    }
    let node = Node::find(ctx, target)?;
    match node.origin()?.filter(|_| !node.is_deleted()) {
        Some(origin) => {
            let number = |revision: Revision| match revision.needs_working_copy() {
                true => node.number_of(revision).map(Revision::Number),
                false => Ok(revision),
            };
            session_at(ctx, &origin.url, number(peg)?, number(wanted)?)
        }
        None => session_at(ctx, target, peg, wanted),
    }
}

/// Regular properties: not those of entries, nor of the working copy.
fn visible(props: &PropList, name: Option<&str>) -> PropList {
    props.iter().filter(|(prop, _)| is_visible(prop, name)).collect()
}

fn is_visible(prop: &str, name: Option<&str>) -> bool {
    kind_of(prop) == PropKind::Regular && name.is_none_or(|name| name == prop)
}

/// What the node at a session's URL inherits in a revision.
fn remote_inherited(
    session: &dyn Session,
    revision: Revnum,
    request: &Request<'_>,
) -> SvnResult<Vec<(String, PropList)>> {
    let root = session.root_url();
    let mut inherited = Vec::new();
    for (path, props) in session.inherited_props(RelPath::ROOT, Some(revision))? {
        let props = visible(&props, request.name);
        if !props.is_empty() {
            inherited.push((root.join(&path).into_string(), props));
        }
    }
    Ok(inherited)
}

/// That there is no node at a URL, as it is reported by what was asked.
fn not_there(url: &Url, revision: Revnum, request: &Request<'_>) -> SvnError {
    if request.name.is_some() {
        let message = format!("'{url}' does not exist in revision {revision}");
        return SvnError::new(ErrorCode::ENTRY_NOT_FOUND, message);
    }
    SvnError::new(ErrorCode::NODE_UNKNOWN_KIND, format!("Unknown node kind for '{url}'"))
}

fn remote_list(
    ctx: &Context,
    session: &dyn Session,
    revision: Revnum,
    request: &Request<'_>,
    receiver: Receiver<'_>,
) -> SvnResult<()> {
    let url = session.url();
    let kind = session.check_path(RelPath::ROOT, Some(revision))?;
    let kind = kind.ok_or_else(|| not_there(&url, revision, request))?;
    let mut inherited = match request.inherited {
        true => remote_inherited(session, revision, request)?,
        false => Vec::new(),
    };
    // The repository on this machine is asked node by node; a server by one report.
    let is_far = !session.url().starts_with("file:");
    if is_far && kind == NodeKind::Dir && request.depth > Depth::Empty {
        return report_tree(ctx, session, revision, request, (inherited, receiver));
    }
    // What is left to report; the next one is last.
    let mut left = vec![(String::new(), kind)];
    let mut first = true;
    while let Some((relpath, kind)) = left.pop() {
        ctx.check_cancel()?;
        let deeper = match request.depth {
            Depth::Infinity => true,
            Depth::Files | Depth::Immediates => first,
            _ => false,
        };
        let at = RelPath::trusted(&relpath);
        let props = if kind == NodeKind::Dir {
            let fields = deeper.then_some(DirentFields { kind: true, ..DirentFields::default() });
            let found = session.get_dir(at, Some(revision), fields, true)?;
            let wanted = |kind| kind == NodeKind::File || request.depth != Depth::Files;
            left.extend(children_to_list(&relpath, found.entries, &wanted));
            found.props
        } else {
            session.get_file(at, Some(revision), None, true)?.props
        };
        first = false;
        let props = visible(&props, request.name);
        let inherited = std::mem::take(&mut inherited);
        if !props.is_empty() || !inherited.is_empty() {
            receiver(&FoundProps {
                path: url.join(RelPath::trusted(&relpath)).into_string(),
                props: Some(props),
                inherited,
            })?;
        }
    }
    Ok(())
}

/// The entries of a directory that are to be listed, path and kind, the first last.
fn children_to_list(
    dir: &str,
    mut entries: Vec<(String, Dirent)>,
    wanted: &dyn Fn(NodeKind) -> bool,
) -> Vec<(String, NodeKind)> {
    entries.sort_by(|a, b| b.0.cmp(&a.0));
    let child = |(name, dirent): (String, Dirent)| {
        dirent.kind.filter(|kind| wanted(*kind)).map(|kind| (path::join(dir, &name), kind))
    };
    entries.into_iter().filter_map(child).collect()
}

/// Reports the properties of a directory of a server, and of what is below it.
fn report_tree(
    ctx: &Context,
    session: &dyn Session,
    revision: Revnum,
    request: &Request<'_>,
    (mut inherited, receiver): (Vec<(String, PropList)>, Receiver<'_>),
) -> SvnResult<()> {
    let url = session.url();
    let wanted = |prop: &str| is_visible(prop, request.name);
    let mut found = tree_props::fetch(session, revision, request.depth, &wanted)?;
    // What is inherited belongs to the first node.
    if !inherited.is_empty() && found.first().is_none_or(|(relpath, _)| !relpath.is_root()) {
        found.insert(0, (RelPathBuf::default(), PropList::new()));
    }
    for (relpath, props) in found {
        ctx.check_cancel()?;
        let inherited = std::mem::take(&mut inherited);
        let path = url.join(&relpath).into_string();
        receiver(&FoundProps { path, props: Some(props), inherited })?;
    }
    Ok(())
}

/// What a node inherits, with the path or URL that each list comes from.
fn inherited_of(node: &Node, name: Option<&str>) -> SvnResult<Vec<(String, PropList)>> {
    let (root, ..) = node.repository()?;
    let lists = node.wc.inherited_props(&node.relpath, name)?.into_iter().map(|above| {
        let from = match above.source {
            Source::Node(relpath) => node.wc.abspath(&relpath).display().to_string(),
            Source::Repository(relpath) => root.join(RelPath::trusted(&relpath)).into_string(),
        };
        (from, above.props)
    });
    Ok(lists.collect())
}

/// Takes a path, its properties, and what it inherits.
type SendProps<'s> = dyn FnMut(&RelPath, &PropList, Vec<(String, PropList)>) -> SvnResult<()> + 's;

/// Sends the values of one property at and below a node.
fn send_values(ctx: &Context, node: &Node, name: &str, send: &mut SendProps<'_>) -> SvnResult<()> {
    let mut found = node.wc.values_below(&node.relpath, name)?;
    found.sort_by(|(a, _), (b, _)| path::compare(a, b));
    found.into_iter().try_for_each(|(relpath, value)| {
        ctx.check_cancel()?;
        send(&relpath, &[(name, value.as_slice())].into_iter().collect(), Vec::new())
    })
}

fn unversioned(ctx: &Context, target: &str) -> SvnError {
    let message = format!("'{}' is not under version control", ctx.absolute(target).display());
    SvnError::new(ErrorCode::UNVERSIONED_RESOURCE, message)
}

/// The node whose properties are listed. One that is deleted has only pristine ones.
fn node_for_list(ctx: &Context, target: &str, pristine: bool) -> SvnResult<Node> {
    let node = Node::find(ctx, target).map_err(|error| match error.code() {
        ErrorCode::WC_PATH_NOT_FOUND => unversioned(ctx, target),
        _ => error,
    })?;
    if node.is_deleted() && !pristine {
        return Err(unversioned(ctx, target));
    }
    Ok(node)
}

/// Whether a node is on one of the changelists that are wanted, if any are.
fn is_listed(request: &Request<'_>, view: &View) -> bool {
    let is_wanted = |name: &str| request.changelists.iter().any(|wanted| wanted == name);
    request.changelists.is_empty() || view.changelist().is_some_and(is_wanted)
}

/// Lists the properties of one node as it is now. wc.db is asked once: scripts name thousands of targets.
fn list_one(ctx: &Context, request: &Request<'_>, receiver: Receiver<'_>) -> SvnResult<()> {
    let (wc, relpath) = ctx.working_copy(&ctx.absolute(request.target))?;
    let view = wc.view(&relpath)?.filter(|view| view.top().presence.is_there());
    let view = view.ok_or_else(|| unversioned(ctx, request.target))?;
    if !is_listed(request, &view) {
        return Ok(());
    }
    let props = visible(&view.props()?, request.name);
    if props.is_empty() {
        return Ok(());
    }
    let path = request.target.to_owned();
    receiver(&FoundProps { path, props: Some(props), inherited: Vec::new() })
}

fn local_list(
    ctx: &Context,
    request: &Request<'_>,
    pristine: bool,
    inherited: Option<Vec<(String, PropList)>>,
    receiver: Receiver<'_>,
) -> SvnResult<()> {
    let node = node_for_list(ctx, request.target, pristine)?;
    let mut inherited = match inherited {
        None if request.inherited && !node.is_deleted() => inherited_of(&node, request.name)?,
        known => known.unwrap_or_default(),
    };
    let mut failed = None;
    let mut send = |relpath: &RelPath, props: &PropList, inherited: Vec<(String, PropList)>| {
        let below = path::rest_below(&node.relpath, relpath)?;
        let props = visible(props, request.name);
        if props.is_empty() && inherited.is_empty() {
            return Ok(());
        }
        let path = path::join(request.target, below);
        receiver(&FoundProps { path, props: Some(props), inherited })
    };
    let listed = |view: &View| is_listed(request, view);
    if pristine {
        return pristine_list(ctx, &node.wc, &node.relpath, request.depth, &mut |view| {
            let inherited = std::mem::take(&mut inherited);
            if !listed(view) {
                return Ok(());
            }
            send(view.relpath(), &view.pristine_props()?, inherited)
        });
    }
    if let (Some(name), Depth::Infinity, true) =
        (request.name, request.depth, request.changelists.is_empty())
        && inherited.is_empty()
    {
        return send_values(ctx, &node, name, &mut send);
    }
    node.wc
        .walk_nodes(&node.relpath, request.depth, &mut |view| {
            ctx.check_cancel()?;
            let inherited = match view.relpath() == node.relpath {
                true => std::mem::take(&mut inherited),
                false => Vec::new(),
            };
            if !listed(view) {
                return Ok(());
            }
            let props = view.props()?;
            if let Err(error) = send(view.relpath(), &props, inherited) {
                failed = Some(error.clone());
                return Err(error.into());
            }
            Ok(())
        })
        .map_err(|error| failed.take().unwrap_or_else(|| error.into()))
}

/// Reports the nodes at and below a path that have pristine properties, deleted nodes included.
fn pristine_list(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
    visit: &mut dyn FnMut(&View) -> SvnResult<()>,
) -> SvnResult<()> {
    let mut left = vec![(wc.require_view(relpath)?, depth)];
    while let Some((view, depth)) = left.pop() {
        ctx.check_cancel()?;
        if matches!(view.status(), Status::NotPresent | Status::Excluded | Status::ServerExcluded) {
            continue;
        }
        visit(&view)?;
        if !view.is_dir() || !matches!(depth, Depth::Files | Depth::Immediates | Depth::Infinity) {
            continue;
        }
        let below = if depth == Depth::Infinity { depth } else { Depth::Empty };
        let children = wc.children(view.relpath())?;
        let wanted = |child: &View| depth != Depth::Files || !child.is_dir();
        left.extend(children.into_iter().rev().filter(wanted).map(|child| (child, below)));
    }
    Ok(())
}

/// Checks that nodes can have a property of this name.
///
/// # Errors
/// E195011 when they cannot.
pub(crate) fn check_name(name: &str, sets: bool) -> SvnResult<()> {
    let wrong = |text: String| Err(SvnError::new(ErrorCode::CLIENT_PROPERTY_NAME, text));
    if is_known_revision_prop(name) {
        return wrong(format!("Revision property '{name}' not allowed in this context"));
    }
    if kind_of(name) == PropKind::Wc {
        return wrong(format!("'{name}' is a wcprop, thus not accessible to clients"));
    }
    if sets && !names::is_valid(name) {
        return wrong(format!("Bad property name: '{name}'"));
    }
    Ok(())
}

/// Sets or deletes a property of local paths and, as deep as `depth` says, of what is below them.
///
/// # Errors
/// E200009 for URLs; what is wrong with name and value; those of the working copy.
pub fn set_local(
    ctx: &Context,
    change: Change<'_>,
    paths: &[String],
    depth: Depth,
    changelists: &[String],
) -> SvnResult<()> {
    let urls = paths.iter().filter(|path| is_url(path)).count();
    if urls > 0 {
        return Err(SvnError::new(
            ErrorCode::ILLEGAL_TARGET,
            match urls == paths.len() {
                true => "Targets must be working copy paths",
                false => "Cannot mix repository and working copy targets",
            },
        ));
    }
    check_name(change.name, change.value.is_some())?;
    let changelists: HashSet<String> = changelists.iter().cloned().collect();
    each_target(ctx, paths, &mut |gathered, path, relpath| {
        let wc = gathered.wc();
        let view = wc.view(relpath)?;
        let present = |view: &View| view.top().presence.is_there();
        if !view.as_ref().is_some_and(present) {
            let abspath = ctx.absolute(path);
            gathered.notify(&Notify::new(Action::PathNonexistent, &abspath.to_string_lossy()));
        }
        let is_dir = view.is_some_and(|view| view.is_dir());
        gathered.lock(if is_dir { relpath } else { relpath.parent() })?;
        Ok(wc.set_prop_among(relpath, change, depth, &changelists, gathered)?)
    })
}

/// Sets a property of a URL, in a commit of its own. Nothing is made when no message is written.
///
/// # Errors
/// E200007 for properties that change the text; what is wrong with name and value; those of
/// sessions.
pub fn set_remote(
    ctx: &Context,
    change: Change<'_>,
    url: &Url,
    base: Revnum,
    revprops: &PropList,
) -> SvnResult<()> {
    let Change { name, value, force } = change;
    check_name(name, value.is_some())?;
    if [names::EOL_STYLE, names::KEYWORDS].contains(&name) {
        return Err(SvnError::new(
            ErrorCode::UNSUPPORTED_FEATURE,
            format!("Setting property '{name}' on non-local targets is not supported"),
        ));
    }
    if kind_of(name) != PropKind::Regular {
        return Err(SvnError::new(
            ErrorCode::BAD_PROP_KIND,
            format!("Property '{name}' is not a regular property"),
        ));
    }
    let session = sapwood_ra::open(url, &ctx.ra)?;
    let session = session.as_ref();
    let Some(kind) = session.check_path(RelPath::ROOT, Some(base))? else {
        return Err(SvnError::new(
            ErrorCode::FS_NOT_FOUND,
            format!("Path '{url}' does not exist in revision {base}"),
        ));
    };
    let mut file = RemoteFile { session, base };
    let value = match value {
        Some(value) if name.starts_with(names::PREFIX) => {
            Some(canonicalize(name, value, url, kind, force, &mut file)?)
        }
        value => value.map(<[u8]>::to_vec),
    };
    let item = CommitItem {
        kind: Some(kind),
        state: ItemState { prop_mods: true, ..ItemState::default() },
        ..CommitItem::at(url.to_owned())
    };
    let Some(message) = ctx.message_for(&[item])? else { return Ok(()) };
    let revprops = revision_props(revprops, &message)?;
    let mut file = None;
    if kind == NodeKind::File
        && let Some((parent, last)) = url.parent_and_name()
    {
        session.reparent(parent)?;
        file = Some(RelPathBuf::new(last)?);
    }
    let change = (name, value.as_deref());
    commit_prop(ctx, session, (url, base), file.as_deref(), change, &revprops)
}

/// Commits one property: of the session's directory, or of a file in it.
fn commit_prop(
    ctx: &Context,
    session: &dyn Session,
    (url, base): (&Url, Revnum),
    file: Option<&RelPath>,
    (name, value): (&str, Option<&[u8]>),
    revprops: &PropList,
) -> SvnResult<()> {
    let request = CommitRequest { revprops, lock_tokens: &[], keep_locks: true };
    let mut editor = session.commit(&request)?;
    let mut drive = || -> SvnResult<()> {
        let root = editor.open_root(Some(base))?;
        match file {
            Some(file) => {
                let file = editor.open_file(file, root, Some(base))?;
                editor.change_file_prop(file, name, value)?;
                editor.close_file(file, None)?;
            }
            None => editor.change_dir_prop(root, name, value)?,
        }
        editor.close_directory(root)
    };
    if let Err(error) = drive() {
        let _ = editor.abort_edit();
        return Err(error);
    }
    ctx.notify(&Notify::of_url(Action::CommitFinalizing, url));
    editor.close_edit()?;
    match editor.committed() {
        Some(info) => ctx.notify_commit(info),
        None => Ok(()),
    }
}

/// A file of the repository, for the checks of a property.
struct RemoteFile<'s> {
    session: &'s dyn Session,
    base: Revnum,
}

/// Looks at line ends while a text goes by.
#[derive(Debug, Default)]
pub(crate) struct NewlineWriter(Newlines);

impl NewlineWriter {
    /// Whether they were all of one kind.
    pub(crate) fn consistent(self) -> bool {
        self.0.consistent()
    }
}

impl std::io::Write for NewlineWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl FileForCheck for RemoteFile<'_> {
    fn mime_type(&mut self) -> SvnResult<Option<Vec<u8>>> {
        let found = self.session.get_file(RelPath::ROOT, Some(self.base), None, true)?;
        Ok(found.props.get(names::MIME_TYPE).map(<[u8]>::to_vec))
    }

    fn has_consistent_newlines(&mut self) -> SvnResult<bool> {
        let mut looking = NewlineWriter::default();
        self.session.get_file(RelPath::ROOT, Some(self.base), Some(&mut looking), false)?;
        Ok(looking.consistent())
    }
}
