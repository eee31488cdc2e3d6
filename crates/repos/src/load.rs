//! Loading dump streams: each revision of the stream becomes one of the repository.
//!
//! [`Loader`] is a [`DumpVisitor`]. A revision is a transaction in memory until it is committed,
//! texts stream into it; only the map of revision numbers lives from revision to revision.

mod ahead;
mod delta_guesses;
mod events;
mod mergeinfo;
mod revision_map;
mod revprops;

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::FsPath;
use sapwood_core::exact::signed;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::props::names as prop_names;
use sapwood_core::{
    CancelToken, ErrorCode, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult, path, rawname,
};
use sapwood_delta::StoredDelta;
use sapwood_fs::Roots;
use sapwood_fs::txn::{Bulk, Txn, WriteOptions, Writer};

use crate::dumpstream::{DumpVisitor, Headers, TextBlock, header};
use crate::hooks::Hooks;
use crate::prop_rules;
use crate::repository::Repository;
use ahead::Patient;
use delta_guesses::{CurrentWriter, DeltaGuesses};
use events::Events;
pub use mergeinfo::Numbers;
pub use revision_map::{LeftOut, RevisionMap};
use revprops::Rules;
pub use revprops::{RevpropsLoadOptions, load_revprops};

/// What to do with the UUID of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UuidAction {
    /// Use it if the repository has no revisions yet.
    #[default]
    Default,
    /// Keep the repository's own.
    Ignore,
    /// Use it.
    Force,
}

/// How to load.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Only load revisions of the stream from one number to another.
    pub range: Option<(u64, u64)>,
    /// What to do with the stream's UUID.
    pub uuid: UuidAction,
    /// Load below this directory (an fspath), which must exist.
    pub parent_dir: Option<FsPathBuf>,
    /// Accept invalid property values.
    pub bypass_validation: bool,
    /// Give new revisions the present time instead of the stream's dates.
    pub ignore_dates: bool,
    /// Mend line endings in the values of `svn:` properties.
    pub normalize_props: bool,
    /// Do not wait for the disk.
    pub no_flush: bool,
    /// Run `pre-commit` before each revision.
    pub pre_commit_hook: bool,
    /// Run `post-commit` after each revision.
    pub post_commit_hook: bool,
}

/// Events of a load, reported as they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadEvent<'a> {
    /// A revision of the stream begins.
    Started(u64),
    /// A revision of the stream is left out.
    Skipped(u64),
    /// A node begins: its relpath.
    Node(&'a str),
    /// It is a copy.
    Copied,
    /// `\r` was removed from its mergeinfo.
    NormalizedMergeinfo,
    /// The node is done.
    NodeDone,
    /// A warning.
    Warning(u32, &'a str),
    /// The revision is committed: its number here and in the stream.
    Committed(Revnum, u64),
    /// The properties of an existing revision were set to those of the stream.
    PropsSet(Revnum),
}

/// Called for each event.
pub type LoadNotify<'a> = dyn FnMut(LoadEvent<'_>) -> SvnResult<()> + 'a;

/// How many transactions' numbers are reserved at once.
const NUMBERS_AT_ONCE: u64 = 1024;
/// The reference's number of the warning about invalid mergeinfo.
const INVALID_MERGEINFO: u32 = 5;

/// Loads the stream `input`, which another thread reads ahead.
///
/// # Errors
/// Those of [`parse`](crate::dumpstream::parse); E125005 for invalid property values; errors
/// of changing the tree and committing.
pub fn load(
    repository: &Repository,
    input: Box<dyn BufRead + Send>,
    options: LoadOptions,
    notify: &mut LoadNotify<'_>,
    cancel: &CancelToken,
) -> SvnResult<()> {
    let writer = Writer::new(
        repository.fs(),
        WriteOptions {
            flush_to_disk: !options.no_flush,
            numbers_at_once: NUMBERS_AT_ONCE,
            batch_reps: true,
        },
    )?;
    let current = Arc::new(Mutex::new(Arc::clone(&writer)));
    // Bases of skipped texts need not be guessed.
    let delta_guesses = match options.range {
        None => DeltaGuesses::new(&current, options.parent_dir.as_deref()),
        Some(_) => None,
    };
    // Hooks run before and after each revision.
    let hooked = options.pre_commit_hook || options.post_commit_hook;
    let mut loader = Loader {
        bulk: if hooked { None } else { Bulk::new(&writer)? },
        sources: Roots::new(writer.fs()),
        writer,
        current,
        hooks: Hooks::new(repository, None),
        options,
        events: Events::new(notify),
        map: RevisionMap::new(LeftOut::StreamNumber),
        oldest: None,
        revision: None,
        node: None,
    };
    let loaded = ahead::parse_ahead(input, &mut loader, delta_guesses, cancel);
    // Revisions before an error are committed, too. If that fails, it is the first error: the
    // rest of the stream was based on them.
    let loaded = loader.sync().and(loaded);
    // The thread that reads holds the writer, too, and the process may end before that does.
    loader.writer.flush_reps();
    loaded
}

/// A path of the stream as an fspath, for a load below `parent_dir`.
fn place(parent_dir: Option<&FsPath>, relpath: &[u8]) -> SvnResult<FsPathBuf> {
    let relpath = &*rawname::from_bytes(relpath).ok_or_else(|| not_utf8(relpath))?;
    let joined = match parent_dir {
        Some(parent) => path::join(parent, path::to_relpath(&path::canonical_fspath(relpath))),
        None => relpath.to_owned(),
    };
    if joined.split('/').any(|name| name == ".") {
        let names: Vec<&str> = joined.split('/').filter(|name| *name != ".").collect();
        return Ok(FsPathBuf::canonicalize(&names.join("/")));
    }
    Ok(FsPathBuf::canonicalize(&joined))
}

struct Loader<'a, 'b> {
    /// Commits; without it revisions are committed one by one.
    bulk: Option<Bulk>,
    /// Trees that are copied from.
    sources: Roots,
    writer: Arc<Writer>,
    /// The same writer, for the thread that reads ahead.
    current: CurrentWriter,
    hooks: Hooks,
    options: LoadOptions,
    events: Events<'a, 'b>,
    /// Revisions of the stream, and their numbers here.
    map: RevisionMap,
    /// The first revision that was loaded.
    oldest: Option<u64>,
    revision: Option<OpenRevision>,
    node: Option<OpenNode>,
}

struct OpenRevision {
    number: u64,
    skipped: bool,
    /// The offset between numbers of the stream and numbers here.
    offset: i64,
    /// `None` for revision 0 and skipped ones.
    txn: Option<Txn>,
    props: PropList,
}

struct OpenNode {
    path: FsPathBuf,
    base: Option<Md5>,
    result: Option<Md5>,
}

impl Loader<'_, '_> {
    fn notify(&mut self, event: LoadEvent<'_>) -> SvnResult<()> {
        if let Some(bulk) = self.bulk.as_ref().filter(|_| self.events.are_many()) {
            self.events.emit(bulk.published())?;
        }
        self.events.notify(event)
    }

    /// Waits until what was committed is published, and reports it.
    fn sync(&mut self) -> SvnResult<()> {
        let Some(bulk) = &self.bulk else { return Ok(()) };
        let synced = bulk.sync();
        self.events.emit(bulk.published())?;
        Ok(synced?)
    }

    fn youngest(&self) -> SvnResult<Revnum> {
        Ok(match &self.bulk {
            Some(bulk) => bulk.youngest()?,
            None => self.writer.fs().youngest()?,
        })
    }

    /// The open transaction and node; `None` in a revision that is skipped.
    fn open(&mut self) -> Option<(&mut Txn, &OpenNode)> {
        let txn = self.revision.as_mut()?.txn.as_mut()?;
        Some((txn, self.node.as_ref()?))
    }

    /// A path of the stream as an fspath here.
    fn place(&self, relpath: &[u8]) -> SvnResult<FsPathBuf> {
        place(self.options.parent_dir.as_deref(), relpath)
    }

    fn change_prop(&mut self, name: &str, value: Option<Vec<u8>>) -> SvnResult<()> {
        let (normalize, validate) = (self.options.normalize_props, !self.options.bypass_validation);
        let Some((txn, node)) = self.open() else { return Ok(()) };
        let value = match value {
            Some(value) if normalize => Some(prop_rules::normalize(name, value)),
            value => value,
        };
        if let (true, Some(value)) = (validate, &value) {
            prop_rules::check_node(path::to_relpath(&node.path), name, value)?;
        }
        Ok(txn.change_prop(&node.path, name, value.as_deref())?)
    }

    /// `svn:mergeinfo` with its numbers and paths mapped to this repository.
    fn adjust_mergeinfo(&mut self, value: Vec<u8>) -> SvnResult<Vec<u8>> {
        let value = if value.contains(&b'\r') {
            self.notify(LoadEvent::NormalizedMergeinfo)?;
            prop_rules::with_newlines(&value)
        } else {
            value
        };
        let numbers = Numbers {
            map: &self.map,
            oldest: self.oldest,
            offset: self.revision.as_ref().map_or(0, |r| r.offset),
        };
        match numbers.adjust(&value, self.options.parent_dir.as_deref()) {
            Ok(value) => Ok(value),
            Err(error) if !self.options.bypass_validation => {
                Err(error.context("Invalid svn:mergeinfo value"))
            }
            Err(_) => {
                self.notify(LoadEvent::Warning(
                    INVALID_MERGEINFO,
                    "Invalid svn:mergeinfo value; leaving unchanged",
                ))?;
                Ok(value)
            }
        }
    }

    /// Adds the node at `to`, as a copy if the headers say so.
    fn add(&mut self, headers: &Headers, to: &FsPath, kind: Option<NodeKind>) -> SvnResult<()> {
        let source = match headers.get(header::COPYFROM_PATH) {
            Some(source) => Some(self.place(source)?),
            None => None,
        };
        let Some(revision) = self.revision.as_mut() else { return Ok(()) };
        let Some(txn) = revision.txn.as_mut() else { return Ok(()) };
        let Some(source) = source else {
            match kind {
                Some(NodeKind::File) => txn.make_file(to)?,
                Some(NodeKind::Dir) => txn.make_dir(to)?,
                None => {}
            }
            return Ok(());
        };
        let from = headers.number(header::COPYFROM_REV).unwrap_or(-1);
        let mapped = u64::try_from(from).ok().and_then(|from| self.map.get(from));
        let shifted = from.wrapping_sub(revision.offset);
        let here = mapped.or_else(|| u64::try_from(shifted).ok());
        let Some(here) = here else {
            return Err(SvnError::new(
                ErrorCode::FS_NO_SUCH_REVISION,
                format!(
                    "Relative source revision {shifted} is not available in current repository"
                ),
            ));
        };
        let root = self.sources.get(Revnum(here))?;
        if let Some(expected) = checksum(headers, header::COPY_SOURCE_MD5)? {
            let actual = root.node(&source)?.md5()?;
            if expected != actual {
                let (source, to) = (path::to_relpath(&source), path::to_relpath(to));
                let number = revision.number;
                return Err(SvnError::new(
                    ErrorCode::CHECKSUM_MISMATCH,
                    format!(
                        "Copy source checksum mismatch on copy from '{source}'@{here}\nto '{to}' \
                         in rev based on r{number}:\n   expected:  {expected}\n     actual:  \
                         {actual}\n"
                    ),
                ));
            }
        }
        txn.copy(&root, &source, to, true)?;
        self.notify(LoadEvent::Copied)
    }

    /// Revision 0 of the stream only has properties, which an empty repository takes over.
    fn close_revision_zero(&mut self, props: PropList) -> SvnResult<()> {
        if self.youngest()? != Revnum::ZERO {
            return Ok(());
        }
        let rules = Rules {
            validate: !self.options.bypass_validation,
            normalize: self.options.normalize_props,
        };
        rules.replace(&self.writer, Revnum::ZERO, &props)
    }

    fn checked_props(&self, props: PropList) -> SvnResult<PropList> {
        let mut checked = PropList::new();
        for (name, value) in props {
            let value = if self.options.normalize_props {
                prop_rules::normalize(&name, value)
            } else {
                value
            };
            if !self.options.bypass_validation {
                prop_rules::check(&name, &value)?;
            }
            checked.set(name, value);
        }
        Ok(checked)
    }
}

impl DumpVisitor for Loader<'_, '_> {
    fn format_version(&mut self, _version: i64) -> SvnResult<()> {
        Ok(())
    }

    fn uuid(&mut self, uuid: &[u8]) -> SvnResult<()> {
        let take = match self.options.uuid {
            UuidAction::Ignore => false,
            UuidAction::Force => true,
            UuidAction::Default => self.youngest()? == Revnum::ZERO,
        };
        if take {
            self.sync()?;
            self.writer.flush_reps();
            self.writer = self.writer.set_uuid(utf8(uuid)?)?;
            // It has another handle of the filesystem.
            self.sources = Roots::new(self.writer.fs());
            if self.bulk.is_some() {
                self.bulk = Bulk::new(&self.writer)?;
            }
            *self.current.lock() = Arc::clone(&self.writer);
        }
        Ok(())
    }

    fn revision(&mut self, headers: &Headers) -> SvnResult<()> {
        let number = number_of(headers);
        let skipped =
            self.options.range.is_some_and(|(first, last)| number < first || number > last);
        let txn = match &self.bulk {
            _ if number == 0 || skipped => None,
            Some(bulk) => Some(bulk.begin()?),
            None => Some(self.writer.begin(self.writer.fs().youngest()?)?),
        };
        let head = match &txn {
            Some(txn) => txn.base_revision(),
            None => self.youngest()?,
        };
        let offset = signed(number).saturating_sub(signed(head.next().0));
        if txn.is_some() {
            self.notify(LoadEvent::Started(number))?;
            self.oldest.get_or_insert(number);
        }
        if skipped {
            self.notify(LoadEvent::Skipped(number))?;
        }
        let props = PropList::new();
        self.revision = Some(OpenRevision { number, skipped, offset, txn, props });
        Ok(())
    }

    fn revision_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()> {
        let ignore_dates = self.options.ignore_dates;
        let Some(revision) = self.revision.as_mut().filter(|r| !r.skipped) else { return Ok(()) };
        let name = utf8(name)?;
        if !(ignore_dates && name == prop_names::DATE) {
            revision.props.set(name, value);
        }
        Ok(())
    }

    fn close_revision(&mut self) -> SvnResult<()> {
        let Some(revision) = self.revision.take().filter(|r| !r.skipped) else { return Ok(()) };
        let OpenRevision { number, txn, props, .. } = revision;
        let Some(mut txn) = txn else { return self.close_revision_zero(props) };
        *txn.props_mut() = self.checked_props(props)?;
        // Without dates in the stream the new revision has none, unless dates are ignored.
        txn.keep_date(!self.options.ignore_dates);
        if self.options.pre_commit_hook {
            self.hooks.pre_commit(&mut txn, &[])?;
        }
        let name = self.options.post_commit_hook.then(|| txn.name());
        if let Some(bulk) = &self.bulk {
            let here = bulk.commit(txn)?;
            self.events.committed(here, number);
            self.events.emit(bulk.published())?;
            self.map.insert(number, here.0);
            return Ok(());
        }
        let here = txn.commit()?;
        if let Some(name) = name {
            self.hooks.post_commit(here, &name).map_err(|e| {
                e.wrap(
                    ErrorCode::REPOS_POST_COMMIT_HOOK_FAILED,
                    "Commit succeeded, but post-commit hook failed",
                )
            })?;
        }
        self.map.insert(number, here.0);
        self.notify(LoadEvent::Committed(here, number))
    }

    fn node(&mut self, headers: &Headers) -> SvnResult<()> {
        self.node = None;
        let Some(revision) = &self.revision else { return Ok(()) };
        if revision.number == 0 {
            return Err(SvnError::new(
                ErrorCode::STREAM_MALFORMED_DATA,
                "Malformed dumpstream: Revision 0 must not contain node records",
            ));
        }
        if revision.txn.is_none() {
            return Ok(());
        }
        let place = self.place(headers.get(header::NODE_PATH).unwrap_or(&[]))?;
        let relpath = path::to_relpath(&place).to_owned();
        let shown = rawname::printable(&relpath);
        let kind = headers.get(header::NODE_KIND).and_then(NodeKind::from_word);
        let action = headers.get(header::NODE_ACTION).unwrap_or(&[]);
        let (deletes, adds) = match action {
            b"change" => (false, false),
            b"delete" => (true, false),
            b"add" => (false, true),
            b"replace" => (true, true),
            _ => {
                return Err(SvnError::new(
                    ErrorCode::STREAM_UNRECOGNIZED_DATA,
                    format!("Unrecognized node-action on node '{shown}'"),
                ));
            }
        };
        let base = checksum(headers, header::DELTA_BASE_MD5)?;
        let result = checksum(headers, header::CONTENT_MD5)?;
        self.notify(LoadEvent::Node(&shown))?;
        if deletes && let Some(txn) = self.revision.as_mut().and_then(|r| r.txn.as_mut()) {
            txn.delete(&place)?;
        }
        if adds {
            if shown.split('/').any(|name| name == "..") {
                return Err(SvnError::new(
                    ErrorCode::FS_PATH_SYNTAX,
                    format!("Path '{shown}' contains '.' or '..' element"),
                ));
            }
            if rawname::is_raw(&relpath) {
                return Err(SvnError::new(
                    ErrorCode::FS_PATH_SYNTAX,
                    format!("Path '{shown}' is not in UTF-8"),
                ));
            }
            self.add(headers, &place, kind)?;
        }
        self.node = Some(OpenNode { path: place, base, result });
        Ok(())
    }

    fn remove_node_props(&mut self) -> SvnResult<()> {
        let Some((txn, node)) = self.open() else { return Ok(()) };
        for (name, _) in txn.node_props(&node.path)? {
            txn.change_prop(&node.path, &name, None)?;
        }
        Ok(())
    }

    fn node_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()> {
        if self.open().is_none() {
            return Ok(());
        }
        let name = utf8(name)?;
        let value =
            if name == prop_names::MERGEINFO { self.adjust_mergeinfo(value)? } else { value };
        self.change_prop(name, Some(value))
    }

    fn delete_node_prop(&mut self, name: &[u8]) -> SvnResult<()> {
        self.change_prop(utf8(name)?, None)
    }

    fn text(&mut self, text: &mut TextBlock<'_>) -> SvnResult<()> {
        let Some((txn, node)) = self.open() else { return Ok(()) };
        let (is_delta, known) = (text.is_delta(), text.take_known());
        let mut reader = BlockReader { block: text, error: None };
        let done = if is_delta {
            let mut delta = StoredDelta::new(&mut reader);
            txn.apply_delta(&node.path, node.base, &mut delta, node.result)
        } else {
            txn.set_known_text(&node.path, &mut reader, known.as_ref(), node.result)
        };
        // The stream's own error says more than its consequence.
        match reader.error {
            Some(error) => Err(error),
            None => Ok(done?),
        }
    }

    fn close_node(&mut self) -> SvnResult<()> {
        if self.node.take().is_some() {
            self.notify(LoadEvent::NodeDone)?;
        }
        Ok(())
    }
}

impl Patient for Loader<'_, '_> {
    fn idle(&mut self) -> SvnResult<()> {
        if self.events.are_waiting() { self.sync() } else { Ok(()) }
    }
}

/// A text block as `io::Read`.
struct BlockReader<'a, 'b> {
    block: &'a mut TextBlock<'b>,
    error: Option<SvnError>,
}

impl Read for BlockReader<'_, '_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.block.read_into(buf) {
            Ok(count) => Ok(count),
            Err(error) => {
                self.error = Some(error.clone());
                Err(io::Error::other(error))
            }
        }
    }
}

/// The number of a revision of the stream. A negative number, on which the reference's process aborts, is
/// taken as revision 0, which has no nodes.
fn number_of(headers: &Headers) -> u64 {
    headers.number(header::REVISION_NUMBER).and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}

fn utf8(bytes: &[u8]) -> SvnResult<&str> {
    std::str::from_utf8(bytes).map_err(|_| not_utf8(bytes))
}

fn not_utf8(bytes: &[u8]) -> SvnError {
    let shown = sapwood_core::ascii::of_bytes(bytes);
    SvnError::new(ErrorCode::STREAM_MALFORMED_DATA, format!("'{shown}' is not UTF-8"))
}

/// The MD5 in a header.
fn checksum(headers: &Headers, name: &str) -> SvnResult<Option<Md5>> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    match Md5::parse(value) {
        // All zeros stand for an unknown checksum.
        Some(Md5(bytes)) if bytes == [0; 16] => Ok(None),
        Some(md5) => Ok(Some(md5)),
        None => Err(SvnError::new(ErrorCode::BAD_CHECKSUM_PARSE, "")),
    }
}
