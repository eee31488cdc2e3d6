//! Listing a tree.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use sapwood_core::FsPath;
use sapwood_core::exact::len64;
use sapwood_core::fold::fold;
use sapwood_core::{
    CancelToken, Depth, DirentFields, ErrorCode, FormKey, NodeKind, SvnError, SvnResult, glob, path,
};
use sapwood_fs::read_ahead::{BATCH as AHEAD_BATCH, ColdReads, Helper, NodesWanted, Novelty};
use sapwood_fs::{Directory, Filesystem, Node, RevpropsSnapshot, Root};

use crate::authorizer::{PathAuthorizer, SubtreeAccess};
use crate::dirent::{StoredDirent, stat_node};
use crate::error::Result;
use crate::forms::{self, Form, Protocol, Viewer};

/// The request for a listing. The root of the revision is another argument, because the caller may have it open.
pub type ListRequest<'a> = sapwood_core::ListRequest<'a, FsPath>;

/// One listed node.
#[derive(Clone, Copy, Debug)]
pub struct ListEntry<'a> {
    /// Its fspath.
    pub path: &'a FsPath,
    /// File or directory.
    pub kind: NodeKind,
    /// The rest, unless only the kind was requested.
    pub dirent: Option<&'a StoredDirent>,
}

/// Takes the nodes of a listing.
#[allow(clippy::missing_errors_doc, reason = "all: errors of the receiver")]
pub trait ListReceiver {
    /// One node.
    fn entry(&mut self, entry: &ListEntry<'_>) -> SvnResult<()>;

    /// The protocol in whose form the receiver encodes entries, and the fields that it writes, when
    /// what is sent of a directory may be cached in that form for the next client: no date, author or
    /// anything else that may change is in it.
    fn form(&self) -> Option<(Protocol, DirentFields)> {
        None
    }

    /// Appends an entry in that form.
    fn encode(&self, entry: &ListEntry<'_>, out: &mut Vec<u8>) -> SvnResult<()> {
        let _ = (entry, out);
        Ok(())
    }

    /// Many entries, encoded in that form.
    fn encoded(&mut self, entries: &[u8]) -> SvnResult<()> {
        let _ = entries;
        Ok(())
    }
}

impl<F: FnMut(&ListEntry<'_>) -> SvnResult<()>> ListReceiver for F {
    fn entry(&mut self, entry: &ListEntry<'_>) -> SvnResult<()> {
        self(entry)
    }
}

/// Sends `receiver` the nodes at and below a path: a directory, then its children in bytewise order
/// of their names, each followed by what is below it. Nothing is sent of a path that may not be
/// read.
///
/// # Errors
/// E160013 when there is nothing at the path, E165002 for a depth that lists nothing; what the
/// receiver returns; corruption and system errors.
pub fn list(
    root: &Root,
    request: &ListRequest<'_>,
    authorizer: &dyn PathAuthorizer,
    cancel: &CancelToken,
    receiver: &mut dyn ListReceiver,
) -> Result<()> {
    if request.depth < Depth::Empty {
        let number = if request.depth == Depth::Unknown { -2 } else { -1 };
        return Err(SvnError::new(
            ErrorCode::REPOS_BAD_ARGS,
            format!("Invalid depth '{number}' in svn_repos_list"),
        )
        .into());
    }
    if !authorizer.readable(request.path)? {
        return Ok(());
    }
    let mut ahead = ColdReads::new(root.fs());
    let Some(top) = root.find(request.path)? else {
        return Err(SvnError::new(
            ErrorCode::FS_NOT_FOUND,
            format!("Path '{}' not found", request.path),
        )
        .into());
    };
    if request.patterns.is_some_and(<[&str]>::is_empty) {
        return Ok(());
    }
    let form =
        receiver.form().filter(|_| request.patterns.is_none() && request.depth == Depth::Infinity);
    let form =
        form.and_then(|(protocol, fields)| Forms::new(Form::List { protocol, fields }, authorizer));
    let mut walk = Walk {
        request,
        authorizer,
        revprops: root.fs().revprops_snapshot(),
        receiver,
        form,
        waiting: Vec::new(),
        first_kept: 0,
        patterns: request
            .patterns
            .map(|patterns| glob::PatternSet::new(patterns.iter().map(|p| p.as_bytes()))),
    };
    let walked = walk.all(root, top, cancel, &mut ahead);
    // What was found before the error is sent.
    let sent = walk.flush();
    walked.and(sent)
}

/// After so many nodes in a row that were in the caches, the helper has met the walk.
const MET: u32 = 32;
/// A helper fills no more than this part of the caches: one in so many bytes.
const SHARE: u64 = 4;

/// The helper of a walk that is in the directory `dir` and has to read.
fn help(fs: &Filesystem, dir: &Node, request: &ListRequest<'_>) -> Option<Helper> {
    let (dir, path_info_only) = (dir.clone(), request.fields.kind_only());
    Helper::start(fs, "list-ahead", move |fs, over| {
        read_backwards(fs, dir.by_way_of(fs), path_info_only, over)
    })
}

/// Reads what the walk will need into the caches, beginning with what it needs last, until the
/// two meet: with two processors this takes half the time.
fn read_backwards(
    fs: &Filesystem,
    top: Node,
    path_info_only: bool,
    over: &AtomicBool,
) -> Result<()> {
    let mut revprops = fs.revprops_snapshot();
    let mut novelty = Novelty::new(fs);
    let mut left = fs.cache_capacity().checked_div(SHARE).unwrap_or(0);
    let entries = top.entries()?;
    let mut stack = vec![Level { at: entries.len(), ..Level::new(top, entries) }];
    while let Some(level) = stack.last_mut() {
        let Some(at) = level.at.checked_sub(1) else {
            stack.pop();
            continue;
        };
        level.at = at;
        let Some(entry) = level.entries.get(at) else { continue };
        let is_dir = entry.kind == NodeKind::Dir;
        if path_info_only && !is_dir {
            continue;
        }
        if over.load(Ordering::Acquire) {
            return Ok(());
        }
        let node = level.dir.child_of(&entry)?;
        if !path_info_only {
            stat_node(&mut revprops, &node)?;
        }
        if is_dir {
            let entries = node.entries()?;
            // The text that was read is in the caches too, and the node-revision.
            let bytes = len64(entries.byte_len()).saturating_mul(3);
            let Some(rest) = left.checked_sub(bytes) else { return Ok(()) };
            left = rest;
            stack.push(Level { at: entries.len(), ..Level::new(node, entries) });
        }
        if novelty.known_in_a_row() >= MET {
            return Ok(());
        }
    }
    Ok(())
}

/// A directory that is being listed: its entries and the next place in them.
struct Level {
    dir: Node,
    entries: Directory,
    at: usize,
    /// Where the listing of the directory begins in the buffer.
    start: usize,
    /// Directories below, whose listings are cached if this one gets too long, and where
    /// they are in the buffer.
    parts: Vec<Part>,
    /// Whether everything below may be read.
    readable: bool,
    /// The cache key of its listing.
    name: Option<FormKey>,
}

impl Level {
    const fn new(dir: Node, entries: Directory) -> Self {
        Self { dir, entries, at: 0, start: 0, parts: Vec::new(), readable: false, name: None }
    }
}

/// A complete listing of what is below a directory: its range in the buffer.
struct Part {
    dir: Node,
    name: Option<FormKey>,
    place: Range<usize>,
}

/// The cache keys of listings.
#[derive(Clone, Copy)]
struct Forms {
    /// The key for directories of which nothing is hidden: all users share it.
    for_all: FormKey,
    /// The key for the others. Where refused paths are to be logged, directories with rules below them are
    /// walked each time.
    own: Option<FormKey>,
}

impl Forms {
    fn new(form: Form, authorizer: &dyn PathAuthorizer) -> Option<Self> {
        let viewer = Viewer::of(authorizer);
        let is_noted = matches!(viewer, Viewer::Rules { notes_refusals: true, .. });
        Some(Self {
            for_all: forms::key(form, Viewer::Everyone)?,
            own: if is_noted { None } else { forms::key(form, viewer) },
        })
    }
}

/// The most bytes of a listing that is cached as one.
const LIMIT: usize = 64 << 10;
/// Listings with fewer bytes are not cached: making one is as fast as a look-up.
const WORTHWHILE: usize = 256;

/// Writes the path of an entry of `dir`.
fn write_path<'p>(path: &'p mut String, dir: &FsPath, name: &str) -> &'p FsPath {
    path.clear();
    path.push_str(dir);
    if !dir.ends_with('/') {
        path.push('/');
    }
    path.push_str(name);
    FsPath::trusted(path)
}

struct Walk<'a> {
    request: &'a ListRequest<'a>,
    authorizer: &'a dyn PathAuthorizer,
    revprops: RevpropsSnapshot,
    receiver: &'a mut dyn ListReceiver,
    /// How listings are cached.
    form: Option<Forms>,
    /// Entries in that form that the receiver did not get yet.
    waiting: Vec<u8>,
    /// Listings are cached for the open directories from this one on.
    first_kept: usize,
    patterns: Option<glob::PatternSet<'a>>,
}

impl Walk<'_> {
    fn all(
        &mut self,
        root: &Root,
        top: Node,
        cancel: &CancelToken,
        ahead: &mut ColdReads,
    ) -> Result<()> {
        let request = self.request;
        if self.matches(path::basename(request.path)) {
            self.send(&top)?;
        }
        if top.kind() == NodeKind::File || request.depth == Depth::Empty {
            return Ok(());
        }
        self.run(root, top, cancel, ahead)
    }

    /// Walks the tree below `top`, which was sent already.
    fn run(
        &mut self,
        root: &Root,
        top: Node,
        cancel: &CancelToken,
        ahead: &mut ColdReads,
    ) -> Result<()> {
        let request = self.request;
        // Started once, when the walk has to read, in the directory that the walk is in.
        let mut helper = None;
        let is_slow = self.patterns.as_ref().is_some_and(glob::PatternSet::is_slow);
        let mut path = String::new();
        // Its size grows with the depth of the tree only.
        let mut stack = Vec::new();
        self.open(&mut stack, top)?;
        while let Some(level) = stack.last_mut() {
            let Some(entry) = level.entries.get(level.at) else {
                self.close(&mut stack)?;
                continue;
            };
            if level.at.is_multiple_of(AHEAD_BATCH) && ahead.is_cold() {
                if request.depth == Depth::Infinity {
                    helper.get_or_insert_with(|| help(root.fs(), &level.dir, request));
                }
                self.read_ahead(root, level);
            }
            level.at += 1;
            if is_slow { cancel.check_now() } else { cancel.check() }?;
            let is_dir = entry.kind == NodeKind::Dir;
            if is_dir && request.depth == Depth::Files {
                continue;
            }
            let is_match = self.matches(entry.name);
            let descend = is_dir && request.depth == Depth::Infinity;
            if !is_match && !descend {
                continue;
            }
            if !level.readable {
                let place = write_path(&mut path, level.dir.path(), entry.name);
                if !self.authorizer.readable(place)? {
                    continue;
                }
            }
            if request.fields.kind_only() && !descend {
                // The directory says the kind: the node itself need not be read.
                let place = write_path(&mut path, level.dir.path(), entry.name);
                self.pass_on(&ListEntry { path: place, kind: entry.kind, dirent: None })?;
            } else {
                let node = level.dir.child_of(&entry)?;
                if is_match {
                    self.send(&node)?;
                }
                if descend {
                    self.open(&mut stack, node)?;
                }
            }
            self.limit(&mut stack)?;
        }
        Ok(())
    }

    /// Begins to list what is below `dir`, or sends all of it when its listing is cached.
    fn open(&mut self, stack: &mut Vec<Level>, dir: Node) -> Result<()> {
        let is_in_kept = self.first_kept < stack.len();
        let readable = match stack.last() {
            Some(outer) if outer.readable => true,
            _ => self.authorizer.subtree(dir.path())? == SubtreeAccess::Readable,
        };
        let name = self.form.and_then(|form| if readable { Some(form.for_all) } else { form.own });
        if let Some(name) = name {
            if let Some(listing) = dir.cached_listing(name) {
                if is_in_kept {
                    self.waiting.extend_from_slice(listing.bytes());
                    return Ok(());
                }
                self.flush()?;
                return Ok(self.receiver.encoded(listing.bytes())?);
            }
            if !is_in_kept {
                self.flush()?;
            }
        }
        let (entries, start) = (dir.entries()?, self.waiting.len());
        stack.push(Level { start, readable, name, ..Level::new(dir, entries) });
        if name.is_none() {
            // This one is not cached, and so neither are its parents.
            self.first_kept = stack.len();
        }
        Ok(())
    }

    /// Finishes the innermost directory.
    fn close(&mut self, stack: &mut Vec<Level>) -> Result<()> {
        let depth = stack.len();
        let Some(Level { dir, start, name, .. }) = stack.pop() else { return Ok(()) };
        let all = Part { dir, name, place: start..self.waiting.len() };
        if self.first_kept < depth && all.place.len() >= WORTHWHILE {
            match stack.last_mut().filter(|_| self.first_kept < depth.saturating_sub(1)) {
                Some(outer) => outer.parts.push(all),
                None => self.keep(&all)?,
            }
        }
        self.first_kept = self.first_kept.min(stack.len());
        Ok(())
    }

    /// Stops caching the listings that got too long; their complete parts are cached.
    fn limit(&mut self, stack: &mut [Level]) -> Result<()> {
        if self.form.is_none() {
            return Ok(());
        }
        let mut given_up = false;
        while let Some(level) = stack.get_mut(self.first_kept) {
            if self.waiting.len().saturating_sub(level.start) <= LIMIT {
                break;
            }
            for part in std::mem::take(&mut level.parts) {
                self.keep(&part)?;
            }
            self.first_kept += 1;
            given_up = true;
        }
        let Some(first) = stack.get(self.first_kept) else {
            return if self.waiting.len() >= LIMIT { self.flush() } else { Ok(()) };
        };
        if given_up {
            let done = first.start;
            let ready = self.waiting.get(..done);
            self.receiver.encoded(ready.ok_or_else(|| SvnError::internal("a listing's start"))?)?;
            self.waiting.drain(..done);
            let left = |at: &mut usize| *at = at.saturating_sub(done);
            for level in stack.iter_mut().skip(self.first_kept) {
                left(&mut level.start);
                for part in &mut level.parts {
                    left(&mut part.place.start);
                    left(&mut part.place.end);
                }
            }
        }
        Ok(())
    }

    /// Caches a complete listing.
    fn keep(&self, part: &Part) -> Result<()> {
        let Part { dir, name, place } = part;
        let Some(name) = name else { return Ok(()) };
        let bytes = self.waiting.get(place.clone());
        dir.cache_listing(*name, bytes.ok_or_else(|| SvnError::internal("a listing's place"))?);
        Ok(())
    }

    /// Sends the buffered entries. No listing that is to be cached may have begun in them.
    fn flush(&mut self) -> Result<()> {
        if !self.waiting.is_empty() {
            self.receiver.encoded(&self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }

    fn pass_on(&mut self, entry: &ListEntry<'_>) -> Result<()> {
        match self.form {
            Some(_) => self.receiver.encode(entry, &mut self.waiting)?,
            None => self.receiver.entry(entry)?,
        }
        Ok(())
    }

    /// Hints which entries of a directory come next.
    fn read_ahead(&mut self, root: &Root, level: &Level) {
        let deep = self.request.depth == Depth::Infinity;
        let next = level.entries.iter().skip(level.at).take(AHEAD_BATCH);
        let needed = next.filter(|entry| {
            let is_dir = entry.kind == NodeKind::Dir;
            (is_dir && deep) || (!self.request.fields.kind_only() && self.matches(entry.name))
        });
        let ids: Vec<_> = needed.map(|entry| entry.id).collect();
        let wanted = NodesWanted { entries: deep, ..NodesWanted::default() };
        let revprops = Some(&mut self.revprops).filter(|_| !self.request.fields.kind_only());
        root.fs().will_need_nodes(&ids, wanted, revprops);
    }

    fn matches(&self, name: &str) -> bool {
        // Clients send patterns in folded case.
        self.patterns.as_ref().is_none_or(|patterns| patterns.matches(fold(name).as_ref()))
    }

    fn send(&mut self, node: &Node) -> Result<()> {
        let dirent = if self.request.fields.kind_only() {
            None
        } else {
            Some(stat_node(&mut self.revprops, node)?)
        };
        self.pass_on(&ListEntry { path: node.path(), kind: node.kind(), dirent: dirent.as_ref() })
    }
}
