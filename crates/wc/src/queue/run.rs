//! Running the work queue.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use sapwood_core::date::Timestamp;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{CancelToken, ErrorCode, SvnError};

use crate::conflict::{Conflict, prej_text, prej_text_of_skel};
use crate::db::{Db, Presence};
use crate::error::{Error, Result};
use crate::fan_out;
use crate::files::{self, Form};
use crate::layout;
use crate::pristine::remove_file;
use crate::props::rules::NEEDS_LOCK;
use crate::queue::old::run_old;
use crate::root::{Disk, WorkingCopy};
use crate::text_base::TextBase;
use crate::translate::{Direction, TranslatedReader, Translation, special};
use crate::view::{FileStat, Status, may_record_after_wait, stat_file};
use crate::work_item::WorkItem;

/// How many items are done before they are removed from the queue together.
const BATCH: u32 = 1000;

/// Size and time of a file, to be recorded when its item is removed.
pub(crate) type RecordedStat = (RelPathBuf, FileStat);

impl WorkingCopy {
    /// Runs the queue to its end. The caller holds a lock.
    ///
    /// # Errors
    /// E155009 with the item that failed; what was done before it is recorded.
    pub(crate) fn run_queue(&self, cancel: &CancelToken) -> Result<()> {
        if self.db().is_gathering() {
            // Its items are not committed yet; it runs when they are.
            return Ok(());
        }
        loop {
            let items = self.db().work_after(0, BATCH)?;
            if items.is_empty() {
                return Ok(());
            }
            remove_ahead(self.disk(), &items, cancel);
            let mut done = Vec::new();
            let mut recorded = Vec::new();
            let mut needed = HashSet::new();
            let mut failed = None;
            for (id, skel) in &items {
                if cancel.is_cancelled() {
                    failed = Some(Error::Cancelled);
                    break;
                }
                let ran = WorkItem::parse(skel).and_then(|item| {
                    if item.takes_away(&needed) {
                        finish_items(self.db(), &std::mem::take(&mut done), &recorded)?;
                        recorded.clear();
                        needed.clear();
                    }
                    needed.extend(item.source().map(RelPath::to_owned));
                    run_item(self, &item)
                });
                match ran {
                    Ok(stat) => {
                        recorded.extend(stat);
                        done.push(*id);
                    }
                    Err(e) => {
                        failed = Some(item_failed(self.disk(), *id, skel, e));
                        break;
                    }
                }
            }
            finish_items(self.db(), &done, &recorded)?;
            if let Some(e) = failed {
                return Err(e);
            }
        }
    }
}

/// Removes the trees that the queue begins with, by several threads. Whatever fails is met again, and reported, when
/// it is the turn of the item.
fn remove_ahead(disk: &Disk, items: &[(i64, Vec<u8>)], cancel: &CancelToken) {
    let tree = |(_, skel): &(i64, Vec<u8>)| match WorkItem::parse(skel) {
        Ok(WorkItem::DirRemove { relpath, recursive: true }) => Some(disk.abspath(&relpath)),
        _ => None,
    };
    let trees: Vec<PathBuf> = items.iter().map_while(tree).collect();
    if trees.len() < 2 {
        return;
    }
    fan_out::over_long(&trees, |tree, _, failed| {
        if !cancel.is_cancelled() {
            failed.extend(files::remove_tree(tree).err());
        }
    });
}

pub(crate) fn item_failed(disk: &Disk, id: i64, skel: &[u8], cause: Error) -> Error {
    let skel = String::from_utf8_lossy(skel);
    let root = disk.root().display();
    let message = format!(
        "Failed to run the WC DB work queue associated with '{root}', work item {id} {skel}"
    );
    Error::Svn(SvnError::from(cause).wrap(ErrorCode::WC_BAD_ADM_LOG, message))
}

/// Does one item. Returns what to record of a file when the item is removed.
pub(crate) fn run_item(wc: &WorkingCopy, item: &WorkItem) -> Result<Option<RecordedStat>> {
    wc.db().questions(|| do_item(wc, item))
}

fn do_item(wc: &WorkingCopy, item: &WorkItem) -> Result<Option<RecordedStat>> {
    match item {
        WorkItem::FileCommit { relpath } => run_file_commit(wc, relpath),
        WorkItem::FileInstall { relpath, use_commit_times, record_fileinfo, source } => {
            let stat = install_file(wc, relpath, *use_commit_times, source.as_deref())?;
            Ok(stat.filter(|_| *record_fileinfo).map(|stat| (relpath.clone(), stat)))
        }
        WorkItem::FileRemove { relpath } => {
            remove_file(&wc.abspath(relpath))?;
            Ok(None)
        }
        WorkItem::FileMove { from, to } => {
            let (from, to) = (wc.abspath(from), wc.abspath(to));
            match fs::rename(&from, &to) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
                other => other.map(|()| None).map_err(|e| Error::io(e, "Can't move", &from)),
            }
        }
        WorkItem::FileTranslate { relpath, from, to } => {
            copy_translated(wc, relpath, from, to)?;
            Ok(None)
        }
        WorkItem::SyncFileFlags { relpath } => {
            sync_flags(wc.db(), wc.disk(), relpath)?;
            Ok(None)
        }
        WorkItem::DirRemove { relpath, recursive: true } => {
            files::remove_tree(&wc.abspath(relpath))?;
            Ok(None)
        }
        WorkItem::DirRemove { relpath, recursive: false } => {
            files::remove_empty(&wc.abspath(relpath))?;
            Ok(None)
        }
        WorkItem::DirInstall { relpath } => {
            files::ensure_directory(&wc.abspath(relpath))?;
            Ok(None)
        }
        WorkItem::Postupgrade => {
            crate::upgrade::wipe_directories(wc.root())?;
            for name in ["format", "entries"] {
                let file = layout::adm(wc.root()).join(name);
                fs::write(&file, layout::OLD_FORMAT)
                    .map_err(|e| Error::io(e, "Can't write to file", &file))?;
            }
            Ok(None)
        }
        WorkItem::RecordFileinfo { relpath, set_time } => {
            let path = wc.abspath(relpath);
            let there = |stat: &FileStat| stat.file || stat.link;
            let Some(mut stat) = stat_file(&path)?.filter(there) else { return Ok(None) };
            if let Some(time) = set_time
                && stat.file
            {
                files::set_path_time(&path, Timestamp(*time))?;
                let Some(now) = stat_file(&path)?.filter(there) else { return Ok(None) };
                stat = now;
            }
            Ok(Some((relpath.clone(), stat)))
        }
        WorkItem::PrejInstall { relpath, old_skel } => {
            install_prej(wc.db(), wc.disk(), relpath, old_skel.as_deref())?;
            Ok(None)
        }
        WorkItem::BaseRemove { .. }
        | WorkItem::SetTextConflict { .. }
        | WorkItem::SetPropConflict { .. } => run_old(wc.db(), item).map(|()| None),
    }
}

/// What the pristine properties and the lock of a file say about its working form.
fn form_of(wc: &WorkingCopy, relpath: &RelPath, use_commit_times: bool) -> Result<Form> {
    let view = wc.view(relpath)?.ok_or_else(|| Error::NodeNotFound(wc.abspath(relpath)))?;
    let props = view.pristine_props()?;
    let locked = || -> Result<bool> {
        view.base().map_or(Ok(false), |base| Ok(wc.lock_of(base)?.is_some()))
    };
    let read_only = props.get(NEEDS_LOCK).is_some() && view.status() != Status::Added && !locked()?;
    Ok(Form {
        translation: wc.translation(relpath, &props)?,
        executable: props.get(names::EXECUTABLE).is_some(),
        read_only,
        time: view.top().changed_date.filter(|_| use_commit_times),
    })
}

fn install_file(
    wc: &WorkingCopy,
    relpath: &RelPath,
    use_commit_times: bool,
    source: Option<&RelPath>,
) -> Result<Option<FileStat>> {
    let row = wc.db().top(relpath)?.ok_or_else(|| Error::NodeNotFound(wc.abspath(relpath)))?;
    let path = wc.abspath(relpath);
    let mut text = if let Some(source) = source {
        let from = wc.abspath(source);
        // A text of a link is a link itself, which may lead to anything, or nowhere.
        if fs::symlink_metadata(&from).is_ok_and(|found| found.is_symlink()) {
            let mut normal = special::read_normal(&from)
                .map_err(|e| Error::io(e, "Can't read symbolic link", &from))?;
            let form = form_of(wc, relpath, use_commit_times)?;
            return files::replace(&path, &wc.temporary(), &mut normal, &form);
        }
        let file = File::open(&from).map_err(|e| Error::io(e, "Can't open file", &from))?;
        TextBase::Kept(file)
    } else if let Some(sha1) = row.checksum.filter(|_| row.presence == Presence::Normal) {
        wc.open_text_base(relpath, &sha1)?
    } else {
        let shown = path.display();
        return Err(Error::new(
            ErrorCode::WC_CORRUPT_TEXT_BASE,
            format!(
                "Can't install '{shown}' from pristine store, because no checksum is recorded \
                 for this file"
            ),
        ));
    };
    let form = form_of(wc, relpath, use_commit_times)?;
    match &mut text {
        TextBase::Kept(file) => files::replace_from(&path, &wc.temporary(), file, &form),
        TextBase::Working(text) => files::replace(&path, &wc.temporary(), text, &form),
    }
}

/// Copies a file, translated to working form as the properties of `relpath` say.
fn copy_translated(
    wc: &WorkingCopy,
    relpath: &RelPath,
    from: &RelPath,
    to: &RelPath,
) -> Result<()> {
    let props =
        wc.view(relpath)?.map_or_else(|| Ok(sapwood_core::PropList::new()), |v| v.props())?;
    let translation = wc.translation(relpath, &props)?;
    let (from, to) = (wc.abspath(from), wc.abspath(to));
    let mut text = File::open(&from).map_err(|e| Error::io(e, "Can't open file", &from))?;
    let form = Form { translation, ..Form::default() };
    files::replace(&to, &wc.temporary(), &mut text, &form)?;
    Ok(())
}

/// Writes the file that describes a property conflict, from the conflict's record.
fn install_prej(db: &Db, disk: &Disk, relpath: &RelPath, old_skel: Option<&[u8]>) -> Result<()> {
    let actual = db.actual(relpath)?;
    let Some(bytes) = actual.and_then(|a| a.conflict_data) else { return Ok(()) };
    let conflict = Conflict::parse(&bytes)?;
    let Some(marker) = conflict.prop.as_ref().and_then(|p| p.marker.clone()) else {
        return Ok(());
    };
    let text = match old_skel {
        Some(skel) => prej_text_of_skel(skel)?,
        None => {
            let pristine = db
                .view(relpath)?
                .map_or_else(|| Ok(sapwood_core::PropList::new()), |v| v.pristine_props())?;
            prej_text(&conflict, &pristine)
        }
    };
    files::replace(
        &disk.abspath(&marker),
        &disk.temporary(),
        &mut text.as_slice(),
        &Form::default(),
    )?;
    Ok(())
}

/// Sets the flags of a file as its properties and lock say.
pub(crate) fn sync_flags(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<()> {
    let Some(view) = db.view(relpath)? else { return Ok(()) };
    let status = view.status();
    if view.top().kind != crate::db::Kind::File || !matches!(status, Status::Normal | Status::Added)
    {
        return Ok(());
    }
    let props = view.props()?;
    let needs_lock = status == Status::Normal
        && props.get(NEEDS_LOCK).is_some()
        && view.pristine_props()?.get(NEEDS_LOCK).is_some();
    let locked = match view.base() {
        Some(base) if needs_lock => db.lock_of(base)?.is_some(),
        _ => false,
    };
    let executable = props.get(names::EXECUTABLE).is_some();
    files::set_flags(&disk.abspath(relpath), executable, needs_lock && !locked)
}

/// After a commit: translates anew where keywords or line ends ask for it, sets flags, records.
fn run_file_commit(wc: &WorkingCopy, relpath: &RelPath) -> Result<Option<RecordedStat>> {
    let Some(view) = wc.view(relpath)? else { return Ok(None) };
    let path = wc.abspath(relpath);
    let props = view.props()?;
    let translation = wc.translation(relpath, &props)?;
    let mut rewritten = false;
    if !translation.special && translation.is_needed() {
        rewritten = translate_again(wc.disk(), &path, &props, &translation)?;
    }
    let Some(stat) = stat_file(&path)? else { return Ok(None) };
    sync_flags(wc.db(), wc.disk(), relpath)?;
    // A file of ours that was written now is new to all others; theirs may change again while it is read.
    let same =
        || -> Result<bool> { Ok(may_record_after_wait(wc, &stat) && !wc.file_modified(&view)?) };
    if !(rewritten || same()?) {
        return Ok(None);
    }
    Ok((stat.file || stat.link).then(|| (relpath.to_owned(), stat)))
}

/// Writes a working file anew as its translation would have it; whether that made a difference.
fn translate_again(
    disk: &Disk,
    path: &std::path::Path,
    props: &sapwood_core::PropList,
    translation: &Translation,
) -> Result<bool> {
    let open = || File::open(path).map_err(|e| Error::io(e, "Can't open file", path));
    let working = match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        other => other.map_err(|e| Error::io(e, "Can't open file", path))?,
    };
    let normal = Translation::of(props, None).translator(Direction::ToNormal, true)?;
    let mut text = TranslatedReader::new(working, normal);
    let form = Form { translation: translation.clone(), ..Form::default() };
    let temporary = disk.temporary();
    files::create(&temporary, &mut text, &form)?;
    let made = File::open(&temporary).map_err(|e| Error::io(e, "Can't open file", &temporary))?;
    let same = crate::files::same_contents(made, open()?)
        .map_err(|e| Error::io(e, "Can't read file", path))?;
    if same {
        remove_file(&temporary)?;
        return Ok(false);
    }
    files::move_into_place(&temporary, path)?;
    Ok(true)
}

/// Removes items that are done, and records what they found.
pub(crate) fn finish_items(db: &Db, done: &[i64], recorded: &[RecordedStat]) -> Result<()> {
    if done.is_empty() {
        return Ok(());
    }
    db.write(|db| {
        for (relpath, stat) in recorded {
            db.record_fileinfo(relpath, stat.size, stat.mtime)?;
        }
        done.iter().try_for_each(|id| db.remove_work(*id))
    })
}
