//! Collects changes of an update that are written together.
//!
//! Otherwise an update would need three transactions for each file. Here steps are collected until
//! there are a thousand nodes or some megabytes of text, or until a reader needs what they change;
//! then [`Batch::flush`] writes them:
//!
//! 1. one transaction: what the last flush left done is removed from the queue and recorded; pristine
//!    texts get their files and rows; rows of NODES and items of the queue are written;
//! 2. the items are done, most of them from texts that are still in memory.
//!
//! The files of pristine texts are written by a thread beside the rows, and working files by one that
//! continues while the next batch is collected ([`writers`](super::writers)).
//!
//! The transaction holds no lock while the editor waits for the other side. After a kill at any
//! point the database lists what is still to be done: items that were done already are done again.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Md5, Revnum, Sha1};

use super::writers::{Install, NewFile, RunningWriter, write_beside};
use crate::base::{BaseNode, Removal};
use crate::error::{Error, Result};
use crate::files::{self, Form};
use crate::layout;
use crate::pristine::NewPristine;
use crate::queue::run::{item_failed, run_item};
use crate::queue::{RecordedStat, finish_items};
use crate::root::WorkingCopy;
use crate::text_base::drop_unneeded;
use crate::work_item::WorkItem;

/// The limit of steps that are written together.
const MAX_STEPS: usize = 3000;
/// The limit of bytes of texts that wait in memory, while as many of the previous batch may be being
/// written.
const MAX_BYTES: usize = 12 << 20;
/// Texts up to this length stay in memory until they are written.
pub(super) const IN_MEMORY: usize = 1 << 20;

/// A text that came with the update.
#[derive(Debug)]
pub(super) struct NewText {
    pub(super) sha1: Sha1,
    pub(super) md5: Md5,
    pub(super) size: u64,
    pub(super) body: Body,
}

/// Where a text is until it is in the pristine store.
#[derive(Debug)]
pub(super) enum Body {
    /// In memory.
    Memory(Arc<Vec<u8>>),
    /// In a temporary file.
    File(NewPristine),
}

/// Work that follows a step.
#[derive(Debug)]
pub(super) enum Work {
    /// An item that is run by the queue.
    Item(WorkItem),
    /// A file whose text is still available.
    Install {
        /// The file.
        relpath: RelPathBuf,
        /// Its form.
        form: Form,
        /// Its text in normal form.
        text: Arc<Vec<u8>>,
        /// Whether nothing is expected in its place.
        new: bool,
    },
}

/// A change of the database.
#[derive(Debug)]
pub(super) enum Step {
    /// A node of BASE, with its text and with what is to be done then.
    Put(Box<BaseNode>, Vec<Work>),
    /// A node is removed.
    Remove(RelPathBuf, Removal),
    /// A directory is being changed.
    StartDirectory { relpath: RelPathBuf, repos_path: RelPathBuf, revision: Revnum },
    /// A conflict (a skel) is recorded.
    Conflict(RelPathBuf, Vec<u8>),
    /// A lock of the repository is gone.
    RemoveLock(i64, RelPathBuf),
    /// A node becomes a local copy of what BASE has, with a conflict.
    MakeCopy(RelPathBuf, Vec<u8>),
}

/// Steps that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Batch {
    texts: Vec<NewText>,
    steps: Vec<Step>,
    bytes: usize,
    /// The paths of the steps.
    touched: HashSet<RelPathBuf>,
    /// Directories that the steps only begin to change: their properties stay as they are.
    started: HashSet<RelPathBuf>,
    /// Items that are done and still in the queue.
    done: Vec<i64>,
    recorded: Vec<RecordedStat>,
    /// Files that they read.
    needed: HashSet<RelPathBuf>,
    /// Texts that only their working files need, and that are not written yet.
    passing: Vec<Sha1>,
    /// Those whose working files are written.
    passed: Vec<Sha1>,
    /// Files of the last batch, which are being written.
    installing: Option<RunningWriter>,
}

impl Batch {
    /// Adds a text, which gets its place with the next flush.
    pub(super) fn add_text(&mut self, text: NewText) {
        if let Body::Memory(bytes) = &text.body {
            self.bytes = self.bytes.plus(bytes.len());
        }
        self.texts.push(text);
    }

    /// As [`Batch::add_text`], for a text that becomes a working file unchanged: where text bases are
    /// not kept, it is removed again with the flush after that.
    pub(super) fn add_installed_text(&mut self, text: NewText) {
        self.passing.push(text.sha1);
        self.add_text(text);
    }

    /// Adds a step. The caller flushes when [`Batch::is_full`].
    pub(super) fn add(&mut self, step: Step) {
        let path = match &step {
            Step::Put(node, _) => Some(&node.row.relpath),
            Step::Remove(relpath, _) | Step::Conflict(relpath, _) | Step::MakeCopy(relpath, _) => {
                Some(relpath)
            }
            Step::StartDirectory { relpath, .. } => {
                self.started.insert(relpath.clone());
                None
            }
            Step::RemoveLock(..) => None,
        };
        if let Some(path) = path
            && !self.touched.contains(path)
        {
            self.touched.insert(path.clone());
        }
        self.steps.push(step);
    }

    /// Whether it is time to flush.
    pub(super) fn is_full(&self) -> bool {
        self.steps.len() >= MAX_STEPS || self.bytes >= MAX_BYTES
    }

    /// Whether a pending step is about a path.
    pub(super) fn touches(&self, relpath: &RelPath) -> bool {
        self.touches_props(relpath) || self.started.contains(relpath)
    }

    /// Whether a pending step may change the properties of a path.
    pub(super) fn touches_props(&self, relpath: &RelPath) -> bool {
        self.touched.contains(relpath)
    }

    /// Writes all steps and does the work that follows from them; working files may still be written
    /// afterwards, until [`Batch::wait`].
    pub(super) fn flush(&mut self, wc: &WorkingCopy) -> Result<()> {
        if self.steps.is_empty() && self.texts.is_empty() {
            return Ok(());
        }
        self.wait(wc)?;
        let mut work = Vec::new();
        let (texts, steps) = (std::mem::take(&mut self.texts), std::mem::take(&mut self.steps));
        wc.db().write(|db| {
            finish_items(wc.db(), &self.done, &self.recorded)?;
            self.drop_passed(wc)?;
            let mut files = Vec::new();
            for text in texts {
                files.extend(place_text(wc, text)?);
            }
            write_beside(files, || {
                steps.into_iter().try_for_each(|step| write_step(db, step, &mut work))
            })
        })?;
        self.bytes = 0;
        self.touched.clear();
        self.started.clear();
        self.done.clear();
        self.recorded.clear();
        self.needed.clear();
        let passing = std::mem::take(&mut self.passing);
        let later = is_for_a_thread(&work);
        let mut installs = Vec::new();
        for (id, item) in work {
            match item {
                Work::Install { relpath, form, text, new } if later => {
                    let path = wc.abspath(&relpath);
                    let temporary = (!new).then(|| wc.temporary());
                    installs.push(Install { id, relpath, path, form, text, temporary });
                }
                item => self.run(wc, id, item)?,
            }
        }
        if installs.is_empty() {
            self.passed.extend(passing);
        } else {
            self.installing = Some(RunningWriter::begin(installs, passing));
        }
        Ok(())
    }

    /// Does the work that follows from a step.
    fn run(&mut self, wc: &WorkingCopy, id: i64, item: Work) -> Result<()> {
        if let Work::Item(item) = &item {
            if item.takes_away(&self.needed) {
                self.finish(wc)?;
            }
            self.needed.extend(item.source().map(RelPath::to_owned));
        }
        match run(wc, item) {
            Ok(stat) => {
                self.done.push(id);
                self.recorded.extend(stat);
                Ok(())
            }
            Err(e) => {
                self.finish(wc)?;
                let item = wc.db().work_after(id.saturating_sub(1), 1)?;
                let skel = item.first().map(|(_, skel)| skel.as_slice()).unwrap_or_default();
                Err(item_failed(wc.disk(), id, skel, e))
            }
        }
    }

    /// Waits for the files of the last batch.
    pub(super) fn wait(&mut self, wc: &WorkingCopy) -> Result<()> {
        let Some(installing) = self.installing.take() else { return Ok(()) };
        let written = installing.wait()?;
        for (id, recorded) in written.done {
            self.done.push(id);
            self.recorded.extend(recorded);
        }
        // A file that could not be made is tried again in this thread, which reports the error.
        for one in written.left {
            let Install { id, relpath, form, text, temporary, .. } = one;
            let new = temporary.is_none();
            self.run(wc, id, Work::Install { relpath, form, text, new })?;
        }
        self.passed.extend(written.passing);
        Ok(())
    }

    /// Removes texts whose working files are written and recorded.
    fn drop_passed(&mut self, wc: &WorkingCopy) -> Result<()> {
        let passed = std::mem::take(&mut self.passed);
        if wc.stores_pristines() { Ok(()) } else { drop_unneeded(wc.db(), wc.disk(), &passed) }
    }

    /// Removes finished items from the queue.
    pub(super) fn finish(&mut self, wc: &WorkingCopy) -> Result<()> {
        self.wait(wc)?;
        self.needed.clear();
        finish_items(
            wc.db(),
            &std::mem::take(&mut self.done),
            &std::mem::take(&mut self.recorded),
        )?;
        self.drop_passed(wc)
    }
}

/// Does the work that follows from a step; returns what to record of a file.
fn run(wc: &WorkingCopy, work: Work) -> Result<Option<RecordedStat>> {
    match work {
        Work::Item(item) => run_item(wc, &item),
        Work::Install { relpath, form, text, new } => {
            let path = wc.abspath(&relpath);
            let stat = if new {
                match files::create_whole(&path, &text, &form) {
                    Err(Error::Io { error, .. }) if is_in_the_way(&error) => {
                        files::replace_whole(&path, &wc.temporary(), &text, &form)
                    }
                    other => other,
                }
            } else {
                files::replace_whole(&path, &wc.temporary(), &text, &form)
            }?;
            Ok(stat.map(|stat| (relpath, stat)))
        }
    }
}

/// Whether only new directories, and many files whose texts are available, follow from some steps: then the
/// files may be written while others arrive.
fn is_for_a_thread(work: &[(i64, Work)]) -> bool {
    let is_simple = |work: &Work| match work {
        Work::Install { .. } => true,
        Work::Item(item) => matches!(item, WorkItem::DirInstall { .. }),
    };
    let files = work.iter().filter(|(_, work)| matches!(work, Work::Install { .. })).count();
    RunningWriter::pays(files) && work.iter().all(|(_, work)| is_simple(work))
}

fn is_in_the_way(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound)
}

/// Gives a text its row and its file. Runs in the transaction; a file that is still to be written is returned.
fn place_text(wc: &WorkingCopy, text: NewText) -> Result<Option<NewFile>> {
    match text.body {
        Body::File(file) => wc.install_pristine(file).map(|()| None),
        Body::Memory(text_bytes) => {
            let is_new = wc.db().add_pristine(&text.sha1, &text.md5, text.size)?;
            let path = layout::pristine(wc.root(), &text.sha1);
            Ok(is_new.then_some(NewFile { path, text: text_bytes }))
        }
    }
}

fn write_step(db: &crate::db::Db, step: Step, work: &mut Vec<(i64, Work)>) -> Result<()> {
    match step {
        Step::Put(node, items) => {
            db.put_base(&node)?;
            for item in items {
                let id = match &item {
                    Work::Item(item) => db.add_work(item)?,
                    Work::Install { relpath, form, .. } => {
                        db.add_work(&WorkItem::install(relpath.clone(), form.time.is_some()))?
                    }
                };
                work.push((id, item));
            }
        }
        Step::Remove(relpath, how) => {
            let items = db.remove_base(&relpath, &how)?;
            work.extend(items.into_iter().map(|(id, item)| (id, Work::Item(item))));
        }
        Step::StartDirectory { relpath, repos_path, revision } => {
            db.start_directory(&relpath, &repos_path, revision)?;
        }
        Step::Conflict(relpath, skel) => db.mark_conflict(&relpath, &skel)?,
        Step::RemoveLock(repos, path) => {
            db.remove_lock(repos, &path)?;
        }
        Step::MakeCopy(relpath, skel) => {
            db.make_copy(&relpath, false)?;
            db.mark_conflict(&relpath, &skel)?;
        }
    }
    Ok(())
}
