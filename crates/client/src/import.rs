//! `svn import`: a tree of this machine becomes one of a repository, in one commit.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sapwood_core::checksum::Md5Hasher;
use sapwood_core::exact::{Cut, Exact};
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf, Url};
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, Md5, Meter, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_delta::{FullText, Handle};
use sapwood_ra::{CommitEditor, CommitRequest, Session};
use sapwood_wc::autoprops::{self, AutoProps};
use sapwood_wc::ignore::{GLOBAL_IGNORES, Patterns};
use sapwood_wc::props::rules::AUTO_PROPS;
use sapwood_wc::translate::{Direction, TranslatedReader, Translation, special};

use crate::add::media_types;
use crate::commit_item::{CommitItem, ItemState};
use crate::context::Context;
use crate::url_commit::revision_props;

/// What is imported, and how.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The local path.
    pub path: &'a str,
    /// Where it goes: what is in a directory goes into the URL, a file becomes the URL.
    pub url: &'a Url,
    /// How deep.
    pub depth: Depth,
    /// Whether ignored names go along.
    pub no_ignore: bool,
    /// Whether there are no automatic properties.
    pub no_auto_props: bool,
    /// Whether devices and the like are passed over instead of being an error.
    pub force: bool,
    /// More properties of the new revision.
    pub revprops: &'a PropList,
}

/// What is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Link,
    Dir,
    Other,
}

fn kind_of(path: &Path) -> SvnResult<Option<Kind>> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Ok(Some(Kind::Link)),
        Ok(found) if found.is_dir() => Ok(Some(Kind::Dir)),
        Ok(found) if found.is_file() => Ok(Some(Kind::File)),
        Ok(_) => Ok(Some(Kind::Other)),
        Err(e) if matches!(e.raw_os_error(), Some(2 | 20)) => Ok(None),
        Err(e) => Err(SvnError::io(&e, format_args!("Can't check path '{}'", path.display()))),
    }
}

/// Imports a file or a tree. Nothing is made when no message is written, or there is nothing to import.
///
/// # Errors
/// E150002 when a file is at the URL, E145000 for what cannot be imported; those of sessions and
/// the system.
pub fn import(ctx: &Context, request: &Request<'_>) -> SvnResult<()> {
    let source = ctx.absolute(request.path);
    let kind = kind_of(&source)?;
    let item = CommitItem {
        path: Some(source.to_string_lossy().into_owned()),
        kind: match kind {
            Some(Kind::Dir) => Some(NodeKind::Dir),
            Some(Kind::File | Kind::Link) => Some(NodeKind::File),
            _ => None,
        },
        state: ItemState { add: true, ..ItemState::default() },
        ..CommitItem::at(request.url.to_owned())
    };
    let Some(message) = ctx.message_for(&[item])? else { return Ok(()) };
    let session = sapwood_ra::open(request.url, &ctx.ra)?;
    let session = session.as_ref();
    let base = session.latest_revnum()?;
    let new_entries = new_entries(session, request.url, base)?;
    if new_entries.last().is_some_and(|name| name == ".svn") {
        return Err(SvnError::new(
            ErrorCode::CL_ADM_DIR_RESERVED,
            "'.svn' is a reserved name and cannot be imported",
        ));
    }
    let revprops = revision_props(request.revprops, &message)?;
    let rules = Rules::of(ctx, session, base, request)?;
    let url = session.url();
    let commit = CommitRequest { revprops: &revprops, lock_tokens: &[], keep_locks: true };
    let mut editor = session.commit(&commit)?;
    let mut importer = Importer { ctx, request, rules, editor: editor.as_mut(), changed: false };
    let done = importer.whole(&source, kind, &new_entries, base);
    let changed = importer.changed;
    match done {
        Err(error) => {
            let _ = editor.abort_edit();
            Err(error)
        }
        Ok(()) if !changed => editor.abort_edit(),
        Ok(()) => {
            ctx.notify(&Notify::of_url(Action::CommitFinalizing, &url));
            editor.close_edit()?;
            editor.committed().map_or(Ok(()), |info| ctx.notify_commit(info))
        }
    }
}

/// The names that must be created below the nearest existing directory; the session moves to that directory.
fn new_entries(session: &dyn Session, url: &Url, base: Revnum) -> SvnResult<Vec<String>> {
    let mut kind = session.check_path(RelPath::ROOT, Some(base))?;
    if kind == Some(NodeKind::File) {
        return Err(SvnError::new(ErrorCode::ENTRY_EXISTS, format!("Path '{url}' already exists")));
    }
    let mut names = Vec::new();
    let mut url = url.to_owned();
    while kind.is_none() {
        let Some((parent, name)) = url.parent_and_name() else { break };
        names.push(name);
        url = parent.to_owned();
        session.reparent(&url)?;
        kind = session.check_path(RelPath::ROOT, Some(base))?;
    }
    names.reverse();
    Ok(names)
}

/// The ignored names, and the automatic properties.
struct Rules {
    /// `None` when nothing is left out.
    everywhere: Option<Patterns>,
    /// What is left out directly below an existing directory.
    at_top: Patterns,
    auto: AutoProps,
    media_types: BTreeMap<String, String>,
}

impl Rules {
    fn of(
        ctx: &Context,
        session: &dyn Session,
        base: Revnum,
        request: &Request<'_>,
    ) -> SvnResult<Self> {
        let mut rules = Self {
            everywhere: None,
            at_top: Patterns::none(),
            auto: AutoProps::default(),
            media_types: media_types(ctx)?,
        };
        if request.no_ignore && request.no_auto_props {
            return Ok(rules);
        }
        let own = session.get_dir(RelPath::ROOT, Some(base), None, true)?.props;
        // The root inherits nothing: that needs no question.
        let mut above = match session.url() == session.root_url() {
            true => Vec::new(),
            false => session.inherited_props(RelPath::ROOT, Some(base))?,
        };
        above.push((RelPathBuf::default(), own.clone()));
        let values = |name: &str| -> Vec<Vec<u8>> {
            let all = above.iter().filter_map(|(_, props)| props.get(name));
            all.map(<[u8]>::to_vec).collect()
        };
        // Patterns are words here, not only lines.
        let words = |value: &[u8]| -> Vec<u8> {
            let blank = |b: &u8| if matches!(b, b' ' | b'\t' | 0x0b) { b'\n' } else { *b };
            value.iter().map(blank).collect()
        };
        if !request.no_ignore {
            let global: Vec<Vec<u8>> =
                values(GLOBAL_IGNORES).iter().map(|value| words(value)).collect();
            let local = own.get(names::IGNORE).map(words);
            rules.everywhere = Some(ctx.ignores().with_values(global.iter().map(Vec::as_slice)));
            rules.at_top = Patterns::none().with_values(local.as_deref());
        }
        if !request.no_auto_props {
            rules.auto = ctx.auto_props()?;
            for value in values(AUTO_PROPS) {
                rules.auto.add_value(&value);
            }
        }
        Ok(rules)
    }

    fn leaves_out(&self, name: &str) -> bool {
        self.everywhere.as_ref().is_some_and(|patterns| patterns.matches(name.as_bytes()))
    }
}

/// A directory that is being imported.
struct OpenDir {
    path: PathBuf,
    relpath: RelPathBuf,
    handle: Handle,
    depth: Depth,
    /// What is left of its names, the next one last.
    names: Vec<String>,
}

struct Importer<'a> {
    ctx: &'a Context,
    request: &'a Request<'a>,
    rules: Rules,
    editor: &'a mut dyn CommitEditor,
    changed: bool,
}

impl Importer<'_> {
    fn whole(
        &mut self,
        source: &Path,
        kind: Option<Kind>,
        new_entries: &[String],
        base: Revnum,
    ) -> SvnResult<()> {
        let is_file = matches!(kind, Some(Kind::File | Kind::Link));
        let mut open = vec![self.editor.open_root(Some(base))?];
        let mut relpath = RelPathBuf::default();
        for (at, name) in new_entries.iter().enumerate() {
            relpath = relpath.child(name);
            // The last name is that of the file.
            if is_file && at.plus(1) == new_entries.len() {
                break;
            }
            let Some(parent) = open.last() else { break };
            open.push(self.editor.add_directory(&relpath, *parent, None)?);
            self.changed = true;
        }
        let handle = open.last().copied();
        match (kind, handle) {
            (Some(Kind::File | Kind::Link), Some(parent)) => {
                if new_entries.is_empty() {
                    return Err(SvnError::new(
                        ErrorCode::NODE_UNKNOWN_KIND,
                        "New entry name required when importing a file",
                    ));
                }
                let shown = source.to_string_lossy();
                let ignored =
                    self.rules.leaves_out(&shown) || self.rules.at_top.matches(shown.as_bytes());
                if !ignored {
                    self.file(source, &relpath, parent)?;
                }
            }
            (Some(Kind::Dir), Some(handle)) => {
                let at_top = new_entries.is_empty();
                self.tree(source, relpath, handle, at_top)?;
            }
            (None, _) => {
                return Err(SvnError::io(
                    &std::io::Error::from_raw_os_error(NOT_THERE),
                    format_args!("Can't stat '{}'", source.display()),
                ));
            }
            _ => {
                return Err(SvnError::new(
                    ErrorCode::NODE_UNKNOWN_KIND,
                    format!("'{}' does not exist", source.display()),
                ));
            }
        }
        while let Some(handle) = open.pop() {
            self.editor.close_directory(handle)?;
        }
        Ok(())
    }

    /// The names in a directory that are not left out.
    fn names(&self, dir: &Path, at_top: bool) -> SvnResult<Vec<String>> {
        let failed = |e: &std::io::Error| {
            SvnError::io(e, format_args!("Can't read directory '{}'", dir.display()))
        };
        let entries = fs::read_dir(dir).map_err(|e| {
            SvnError::io(&e, format_args!("Can't open directory '{}'", dir.display()))
        })?;
        let mut found = Vec::new();
        for entry in entries {
            let name = entry.map_err(|e| failed(&e))?.file_name();
            let Some(name) = name.to_str() else {
                return Err(sapwood_wc::Error::not_utf8(dir, name.as_encoded_bytes()).into());
            };
            if name == ".svn" {
                let path = dir.join(name);
                self.ctx.notify(&Notify::new(Action::Skip, &path.to_string_lossy()));
                continue;
            }
            let at_top_out = at_top && self.rules.at_top.matches(name.as_bytes());
            if !(at_top_out || self.rules.leaves_out(name)) {
                found.push(name.to_owned());
            }
        }
        found.sort_by(|a, b| b.cmp(a));
        Ok(found)
    }

    /// Imports what is in a directory.
    fn tree(
        &mut self,
        source: &Path,
        relpath: RelPathBuf,
        handle: Handle,
        at_top: bool,
    ) -> SvnResult<()> {
        let mut open = vec![OpenDir {
            names: self.names(source, at_top)?,
            path: source.to_owned(),
            relpath,
            handle,
            depth: self.request.depth,
        }];
        while let Some(dir) = open.last_mut() {
            self.ctx.check_cancel()?;
            let Some(name) = dir.names.pop() else {
                // The first one is closed by the caller.
                if open.len() > 1
                    && let Some(dir) = open.pop()
                {
                    self.editor.close_directory(dir.handle)?;
                    continue;
                }
                return Ok(());
            };
            let (path, relpath) = (dir.path.join(&name), dir.relpath.child(&name));
            let (parent, depth) = (dir.handle, dir.depth);
            match kind_of(&path)? {
                Some(Kind::Dir) if depth >= Depth::Immediates => {
                    let below = if depth == Depth::Immediates { Depth::Empty } else { depth };
                    let names = self.names(&path, false)?;
                    let handle = self.editor.add_directory(&relpath, parent, None)?;
                    self.changed = true;
                    let mut notice = Notify::new(Action::CommitAdded, path.to_str().unwrap_or(""));
                    notice.kind = Some(NodeKind::Dir);
                    self.ctx.notify(&notice);
                    open.push(OpenDir { path, relpath, handle, depth: below, names });
                }
                Some(Kind::File | Kind::Link) if depth >= Depth::Files => {
                    self.file(&path, &relpath, parent)?;
                }
                Some(Kind::Other) if self.request.force => {
                    self.ctx.notify(&Notify::new(Action::Skip, &path.to_string_lossy()));
                }
                Some(Kind::Other) => {
                    return Err(SvnError::new(
                        ErrorCode::NODE_UNKNOWN_KIND,
                        format!("Unknown or unversionable type for '{}'", path.display()),
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, source: &Path, relpath: &RelPath, parent: Handle) -> SvnResult<()> {
        let props = self.props_of(source)?;
        let file = self.editor.add_file(relpath, parent, None)?;
        self.changed = true;
        let shown = source.to_string_lossy();
        let mut notice = Notify::new(Action::CommitAdded, &shown);
        notice.kind = Some(NodeKind::File);
        notice.mime_type = props.get_str(names::MIME_TYPE);
        self.ctx.notify(&notice);
        for (name, value) in props.iter() {
            self.editor.change_file_prop(file, name, Some(value))?;
        }
        let mut text = ChecksumReader {
            inner: normal_form(source, &props)?,
            sum: Md5Hasher::new(),
            meter: self.ctx.wc.meter.clone(),
        };
        self.editor.apply_textdelta(file, None, &mut FullText::new(&mut text))?;
        self.ctx.wc.meter.add_file();
        self.editor.close_file(file, Some(text.finish()))
    }

    /// The properties that a file gets.
    fn props_of(&self, source: &Path) -> SvnResult<PropList> {
        let mut props = PropList::new();
        if kind_of(source)? == Some(Kind::Link) {
            props.set(names::SPECIAL, b"*");
            return Ok(props);
        }
        let name = source.file_name().and_then(|name| name.to_str()).unwrap_or("");
        if !self.request.no_auto_props {
            props = self.rules.auto.of(name);
        }
        let failed = |e: &std::io::Error| {
            SvnError::io(e, format_args!("Can't open file '{}'", source.display()))
        };
        let file = fs::File::open(source).map_err(|e| failed(&e))?;
        let mode = file.metadata().map_err(|e| failed(&e))?.permissions().mode();
        let mut start = Vec::new();
        file.take(LOOKED_AT).read_to_end(&mut start).map_err(|e| failed(&e))?;
        let media = autoprops::media_type(name, &self.rules.media_types, &start);
        let named = props.get(names::EXECUTABLE).is_some();
        autoprops::add_found(&mut props, media.as_deref(), mode & 0o100 != 0);
        if !named && props.get(names::EXECUTABLE).is_some() {
            // The reference imports the bare property; only working copies make it canonical.
            props.set(names::EXECUTABLE, b"");
        }
        Ok(props)
    }
}

/// The system's number for what is not there.
const NOT_THERE: i32 = 2;

/// How much of a file is looked at to know whether it is text, in bytes.
const LOOKED_AT: u64 = 1024;

/// A file's text as repositories keep it.
fn normal_form(source: &Path, props: &PropList) -> SvnResult<Box<dyn Read>> {
    let failed = |e: &std::io::Error| {
        SvnError::io(e, format_args!("Can't open file '{}'", source.display()))
    };
    if props.get(names::SPECIAL).is_some() {
        return special::read_normal(source).map_err(|e| failed(&e));
    }
    let text = fs::File::open(source).map_err(|e| failed(&e))?;
    let translation = Translation::of(props, None);
    if !translation.is_needed() {
        return Ok(Box::new(text));
    }
    let translator = translation.translator(Direction::ToNormal, true)?;
    Ok(Box::new(TranslatedReader::new(text, translator)))
}

/// Counts the checksum of what is read.
struct ChecksumReader {
    inner: Box<dyn Read>,
    sum: Md5Hasher,
    meter: Meter,
}

impl ChecksumReader {
    fn finish(self) -> Md5 {
        self.sum.finish()
    }
}

impl Read for ChecksumReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.sum.update(buffer.head(got));
        self.meter.add_bytes(got);
        Ok(got)
    }
}
