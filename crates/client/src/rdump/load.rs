//! Each revision of a dump stream becomes a commit.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufRead, Read};

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{
    CancelToken, ErrorCode, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult, path as paths,
};
use sapwood_delta::{FullText, Handle, StoredDelta};
use sapwood_ra::{CommitEditor, CommitRequest, DirentFields, RevpropChange, Session};
use sapwood_repos::dumpstream::{self, DumpVisitor, Headers, TextBlock, header};
use sapwood_repos::load::{LeftOut, Numbers, RevisionMap};
use sapwood_repos::prop_rules;

use crate::context::check_cancel;
use crate::oplock::{LockAttempt, LockNotice, OperationalLock};

/// Which process is at work on the repository.
const LOCK: &str = "svn:rdump-lock";

/// The events of loading a stream.
#[derive(Clone, Copy, Debug)]
pub enum LoadEvent<'a> {
    /// Another process has the lock, or had it.
    Lock(LockNotice<'a>),
    /// A revision of the stream was committed.
    Loaded(Revnum),
}

/// How a stream is loaded.
pub struct Load<'a> {
    /// Where to.
    pub session: &'a dyn Session,
    /// Another session at the same URL, for questions while a commit is under way.
    pub other: &'a dyn Session,
    /// Properties of revisions that are left out.
    pub skip: HashSet<String>,
    /// How the repository is locked.
    pub locking: LockAttempt,
    /// Asks the work to stop.
    pub cancel: &'a CancelToken,
    /// Receives the events.
    pub notify: &'a mut dyn FnMut(LoadEvent<'_>) -> SvnResult<()>,
}

impl std::fmt::Debug for Load<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Load").field("skip", &self.skip).finish_non_exhaustive()
    }
}

impl Load<'_> {
    /// Loads a stream.
    ///
    /// # Errors
    /// E140001 for what is no dump stream; those of the commits.
    pub fn run(self, input: &mut dyn BufRead) -> SvnResult<()> {
        let Self { session, other, skip, locking, cancel, notify } = self;
        let lock = OperationalLock::take(session, LOCK, &locking, cancel, &mut |notice| {
            notify(LoadEvent::Lock(notice))
        })?;
        let root = session.root_url();
        let parent_dir = session.url().relpath(&root)?;
        lock.hold(|| {
            let mut loader = Loader {
                session,
                other,
                parent_dir,
                notify,
                cancel,
                skip,
                map: RevisionMap::new(LeftOut::RepositoryNumber),
                oldest: None,
                revision: None,
                editor: None,
                dirs: Vec::new(),
                node: None,
            };
            let result = dumpstream::parse(input, &mut loader, false, cancel);
            if let Some(mut editor) = loader.editor.take() {
                // An open transaction is aborted before the lock is released.
                let _ = editor.abort_edit();
            }
            result
        })
    }
}

fn malformed(text: impl Into<String>) -> SvnError {
    SvnError::new(ErrorCode::STREAM_MALFORMED_DATA, text)
}

fn text_of(bytes: &[u8]) -> SvnResult<String> {
    String::from_utf8(bytes.to_vec())
        .map_err(|_| malformed("Dump stream has a name that is not UTF-8"))
}

/// A revision of the stream.
struct Revision {
    number: Revnum,
    /// Its number in the stream minus its new number.
    offset: i64,
    props: PropList,
}

/// Where a node comes from: relpath and revision.
type Origin = (String, Revnum);

/// A directory that is open in the commit.
#[derive(Clone)]
struct OpenDir {
    path: RelPathBuf,
    handle: Handle,
    /// `None` when it is new.
    origin: Option<Origin>,
}

/// A node of the stream.
struct Node {
    path: RelPathBuf,
    /// `None` for deletions.
    kind: Option<NodeKind>,
    /// `None` after a deletion.
    handle: Option<Handle>,
    /// `None` when it is new.
    origin: Option<Origin>,
    base: Option<Md5>,
    changes: BTreeMap<String, Option<Vec<u8>>>,
}

struct Loader<'s> {
    session: &'s dyn Session,
    /// For questions while a commit is under way.
    other: &'s dyn Session,
    parent_dir: RelPathBuf,
    notify: &'s mut dyn FnMut(LoadEvent<'_>) -> SvnResult<()>,
    cancel: &'s CancelToken,
    skip: HashSet<String>,
    map: RevisionMap,
    oldest: Option<u64>,
    revision: Option<Revision>,
    editor: Option<Box<dyn CommitEditor + 's>>,
    /// Open directories, the root first.
    dirs: Vec<OpenDir>,
    node: Option<Node>,
}

impl<'s> Loader<'s> {
    fn current(&self) -> SvnResult<&Revision> {
        self.revision.as_ref().ok_or_else(|| malformed("Dump stream has a node without a revision"))
    }

    /// The revision that the present one is committed on top of.
    fn base(&self) -> SvnResult<Revnum> {
        let revision = self.current()?;
        let number = sapwood_core::exact::signed(revision.number.0);
        let base = number.saturating_sub(revision.offset).saturating_sub(1);
        Ok(Revnum(u64::try_from(base).unwrap_or(0)))
    }

    fn editor(&mut self) -> SvnResult<&mut (dyn CommitEditor + 's)> {
        if self.editor.is_none() {
            let mut revprops = self.current()?.props.clone();
            // Those can only be set afterwards.
            revprops.remove(names::AUTHOR);
            revprops.remove(names::DATE);
            let session = self.session;
            let request =
                CommitRequest { revprops: &revprops, lock_tokens: &[], keep_locks: false };
            let mut editor = session.commit(&request)?;
            let base = self.base()?;
            let handle = editor.open_root(Some(base))?;
            let origin = Some((String::new(), base));
            self.dirs = vec![OpenDir { path: RelPathBuf::default(), handle, origin }];
            self.editor = Some(editor);
        }
        self.editor.as_deref_mut().ok_or_else(|| malformed("No commit is under way"))
    }

    /// Opens what is changed: its handle, and where it came from.
    fn open_changed(
        &mut self,
        path: &RelPath,
        is_dir: bool,
        base: Option<Revnum>,
    ) -> SvnResult<(Option<Handle>, Option<Origin>)> {
        if is_dir {
            let open = self.go_to(path)?;
            return Ok((Some(open.handle), open.origin));
        }
        let parent = self.go_to(path.parent())?;
        let handle = self.editor()?.open_file(path, parent.handle, base)?;
        let below = |(above, revision): Origin| (paths::join(&above, path.name()), revision);
        Ok((Some(handle), parent.origin.map(below)))
    }

    /// Closes and opens directories until the one at `path` is the innermost.
    fn go_to(&mut self, path: &RelPath) -> SvnResult<OpenDir> {
        self.editor()?;
        while let Some(open) = self.dirs.last().cloned() {
            if path.is_at_or_below(&open.path) {
                break;
            }
            self.editor()?.close_directory(open.handle)?;
            self.dirs.pop();
        }
        let base = self.base()?;
        loop {
            let Some(open) = self.dirs.last().cloned() else {
                return Err(malformed("No directory is open"));
            };
            let below = path.rest_below(&open.path)?;
            let Some(name) = below.names().next() else { return Ok(open) };
            let next = open.path.child(name);
            let handle = self.editor()?.open_directory(&next, open.handle, Some(base))?;
            // Nodes below a copy come from below the copy's source.
            let origin = open.origin.map(|(path, revision)| (paths::join(&path, name), revision));
            self.dirs.push(OpenDir { path: next, handle, origin });
        }
    }

    /// Where a copy comes from: relpath below the session, and revision there.
    fn source(&self, headers: &Headers) -> SvnResult<Option<(String, Revnum)>> {
        let (Some(path), Some(number)) =
            (headers.get(header::COPYFROM_PATH), headers.get(header::COPYFROM_REV))
        else {
            return Ok(None);
        };
        let path = text_of(path)?;
        let number = Revnum::parse(number)
            .ok_or_else(|| malformed("Dump stream has a copy from no revision"))?;
        let revision = match self.map.get(number.0) {
            Some(known) => Revnum(known),
            None => {
                let offset = self.current()?.offset;
                let shifted = number.0.checked_add_signed(offset.saturating_neg());
                Revnum(shifted.ok_or_else(|| {
                    SvnError::new(
                        ErrorCode::FS_NO_SUCH_REVISION,
                        format!("Relative source revision {number} is not available in current repository"),
                    )
                })?)
            }
        };
        Ok(Some((paths::canonical_relpath(&path).into_owned(), revision)))
    }

    fn set_after(&self, revision: Revnum, name: &str, props: &PropList) -> SvnResult<()> {
        if self.skip.contains(name) {
            return Ok(());
        }
        self.session.change_rev_prop(&RevpropChange {
            revision,
            name,
            expected: None,
            value: props.get(name),
        })
    }
}

impl DumpVisitor for Loader<'_> {
    fn format_version(&mut self, _: i64) -> SvnResult<()> {
        Ok(())
    }

    fn uuid(&mut self, _: &[u8]) -> SvnResult<()> {
        Ok(())
    }

    fn revision(&mut self, headers: &Headers) -> SvnResult<()> {
        let number = headers.get(header::REVISION_NUMBER).and_then(Revnum::parse);
        let number =
            number.ok_or_else(|| malformed("Dump stream has a revision without number"))?;
        let head = self.session.latest_revnum()?;
        let own = sapwood_core::exact::signed(number.0);
        let next = sapwood_core::exact::signed(head.next().0);
        self.oldest.get_or_insert(number.0);
        self.revision =
            Some(Revision { number, offset: own.saturating_sub(next), props: PropList::new() });
        Ok(())
    }

    fn revision_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()> {
        let name = text_of(name)?;
        let value = prop_rules::normalize(&name, value);
        prop_rules::check(&name, &value)?;
        let skipped = self.skip.contains(&name);
        let Some(revision) = &mut self.revision else { return Ok(()) };
        if revision.number == Revnum::ZERO && revision.offset == -1 && !skipped {
            // Nothing is being committed yet: it can be set at once.
            self.session.change_rev_prop(&RevpropChange {
                revision: Revnum::ZERO,
                name: &name,
                expected: None,
                value: Some(&value),
            })?;
        }
        if !skipped {
            revision.props.set(&name, &value);
        }
        Ok(())
    }

    fn close_revision(&mut self) -> SvnResult<()> {
        let number = self.current()?.number;
        let offset = self.current()?.offset;
        let committed = if number == Revnum::ZERO {
            (self.notify)(LoadEvent::Loaded(number))?;
            if offset != -1 {
                self.revision = None;
                return Ok(());
            }
            Revnum::ZERO
        } else {
            self.editor()?;
            while let Some(open) = self.dirs.pop() {
                self.editor()?.close_directory(open.handle)?;
            }
            let mut editor = self.editor.take().ok_or_else(|| malformed("No commit"))?;
            editor.close_edit()?;
            // Properties are set of this revision next: it must not be a guess.
            let revision = editor.committed().map(|info| info.revision).ok_or_else(|| {
                let message = format!("The commit of r{number} did not say which revision it made");
                SvnError::new(ErrorCode::INCOMPLETE_DATA, message)
            })?;
            drop(editor);
            (self.notify)(LoadEvent::Loaded(revision))?;
            self.map.insert(number.0, revision.0);
            revision
        };
        let Some(revision) = self.revision.take() else { return Ok(()) };
        self.set_after(committed, names::DATE, &revision.props)?;
        self.set_after(committed, names::AUTHOR, &revision.props)
    }

    fn node(&mut self, headers: &Headers) -> SvnResult<()> {
        let path =
            headers.get(header::NODE_PATH).ok_or_else(|| malformed("A node without a path"))?;
        let path = text_of(path)?;
        let path = RelPathBuf::canonicalize(&path);
        let kind = headers.get(header::NODE_KIND).and_then(NodeKind::from_word);
        let is_dir = kind == Some(NodeKind::Dir);
        let base_sum = headers.get(header::DELTA_BASE_MD5).and_then(Md5::parse);
        let mut node = Node {
            path: path.clone(),
            kind,
            handle: None,
            origin: None,
            base: base_sum,
            changes: BTreeMap::new(),
        };
        let action = headers.get(header::NODE_ACTION).unwrap_or(b"").to_vec();
        let base = Some(self.base()?);
        match action.as_slice() {
            b"change" => {
                (node.handle, node.origin) = self.open_changed(&path, is_dir, base)?;
            }
            b"delete" => {
                let parent = self.go_to(path.parent())?;
                self.editor()?.delete_entry(&path, base, parent.handle)?;
            }
            b"add" | b"replace" => {
                let parent = self.go_to(path.parent())?;
                if action == b"replace" {
                    self.editor()?.delete_entry(&path, base, parent.handle)?;
                }
                let parent = parent.handle;
                node.origin = self.source(headers)?;
                let url = self.session.url();
                let from = node
                    .origin
                    .as_ref()
                    .map(|(from, rev)| (url.join(RelPath::trusted(from)), *rev));
                let from = from.as_ref().map(|(url, rev)| (url.as_str(), *rev));
                let editor = self.editor()?;
                node.handle = Some(if is_dir {
                    let handle = editor.add_directory(&path, parent, from)?;
                    self.dirs.push(OpenDir { path, handle, origin: node.origin.clone() });
                    handle
                } else {
                    editor.add_file(&path, parent, from)?
                });
            }
            other => {
                return Err(malformed(format!(
                    "Unrecognized node-action '{}'",
                    String::from_utf8_lossy(other)
                )));
            }
        }
        self.node = Some(node);
        Ok(())
    }

    fn remove_node_props(&mut self) -> SvnResult<()> {
        let Some(node) = &mut self.node else { return Ok(()) };
        let Some((path, revision)) = &node.origin else { return Ok(()) };
        let revision = *revision;
        let props = if node.kind == Some(NodeKind::Dir) {
            self.other
                .get_dir(RelPath::trusted(path), Some(revision), None::<DirentFields>, true)?
                .props
        } else {
            self.other.get_file(RelPath::trusted(path), Some(revision), None, true)?.props
        };
        for (name, _) in props.iter() {
            if !name.starts_with(names::ENTRY_PREFIX) && !name.starts_with(names::WC_PREFIX) {
                node.changes.entry(name.to_owned()).or_insert(None);
            }
        }
        Ok(())
    }

    fn node_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()> {
        let name = text_of(name)?;
        let mut value = prop_rules::normalize(&name, value);
        if name == names::MERGEINFO {
            let numbers =
                Numbers { map: &self.map, oldest: self.oldest, offset: self.current()?.offset };
            let parent = (!self.parent_dir.is_root()).then(|| self.parent_dir.to_fspath());
            value = numbers.adjust(&value, parent.as_deref())?;
        }
        if let Some(node) = &mut self.node {
            prop_rules::check_node(&node.path, &name, &value)?;
            node.changes.insert(name, Some(value));
        }
        Ok(())
    }

    fn delete_node_prop(&mut self, name: &[u8]) -> SvnResult<()> {
        let name = text_of(name)?;
        if let Some(node) = &mut self.node {
            node.changes.insert(name, None);
        }
        Ok(())
    }

    fn text(&mut self, text: &mut TextBlock<'_>) -> SvnResult<()> {
        let Some((file, base)) =
            self.node.as_ref().and_then(|node| Some((node.handle?, node.base)))
        else {
            return Ok(());
        };
        let is_delta = text.is_delta();
        let block = Block { text, cancel: self.cancel };
        let editor = self.editor()?;
        if is_delta {
            editor.apply_textdelta(file, base, &mut StoredDelta::new(block))
        } else {
            editor.apply_textdelta(file, None, &mut FullText::new(block))
        }
    }

    fn close_node(&mut self) -> SvnResult<()> {
        let Some(Node { kind, handle: Some(handle), changes, .. }) = self.node.take() else {
            return Ok(());
        };
        let editor = self.editor()?;
        for (name, value) in &changes {
            if kind == Some(NodeKind::Dir) {
                editor.change_dir_prop(handle, name, value.as_deref())?;
            } else {
                editor.change_file_prop(handle, name, value.as_deref())?;
            }
        }
        if kind == Some(NodeKind::Dir) { Ok(()) } else { editor.close_file(handle, None) }
    }
}

/// A text of the stream, to be read.
struct Block<'a, 'b> {
    text: &'a mut TextBlock<'b>,
    cancel: &'a CancelToken,
}

impl Read for Block<'_, '_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        check_cancel(self.cancel).map_err(io::Error::other)?;
        self.text.read_into(buf).map_err(io::Error::other)
    }
}
