//! Additions of what is on disk.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::RelPath;
use sapwood_core::props::names;
use sapwood_core::{CancelToken, Depth, ErrorCode, NodeKind, PropList, path};

use super::Notifier;
use crate::autoprops::{self, AutoProps};
use crate::db::{Db, Kind, NodeRow, Presence, depth_of, parent_of};
use crate::error::{Error, Result};
use crate::gather::GatheredChanges;
use crate::ignore::Patterns;
use crate::props::WorkingFile;
use crate::props::inherited::inherited_props;
use crate::props::rules::{self, AUTO_PROPS, TRUE_VALUE};
use crate::root::{Disk, WorkingCopy};
use crate::status::ignore_patterns;
use crate::view::Status;
use crate::work_item::WorkItem;

/// What is added, and with what.
#[derive(Clone, Debug)]
pub struct AddOptions {
    /// How deep.
    pub depth: Depth,
    /// Leaves alone what is versioned already.
    pub force: bool,
    /// Adds what patterns ignore, too.
    pub no_ignore: bool,
    /// The ignore patterns of the configuration.
    pub ignores: Patterns,
    /// The automatic properties of the configuration; `None` when there are to be none at all.
    pub auto_props: Option<AutoProps>,
    /// Media types by extension, in lower case.
    pub media_types: BTreeMap<String, String>,
    /// Adds directories above that are not versioned.
    pub parents: bool,
}

/// What is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnDisk {
    File,
    Link,
    Dir,
    /// A pipe, a socket or a device, which cannot be under version control.
    Other,
}

fn unsupported(path: &Path) -> Error {
    let message = format!("Unsupported node kind for path '{}'", path.display());
    Error::new(ErrorCode::UNSUPPORTED_FEATURE, message)
}

fn already(path: &std::path::Path) -> Error {
    Error::AlreadyVersioned(path.to_owned())
}

fn is_exists(error: &Error) -> bool {
    matches!(error, Error::AlreadyVersioned(_))
}

fn reserved(wc: &WorkingCopy, relpath: &RelPath) -> Error {
    let message = format!("'{}' ends in a reserved name", wc.abspath(relpath).display());
    Error::new(ErrorCode::RESERVED_FILENAME_SPECIFIED, message)
}

/// As [`WorkingCopy::add`].
pub(crate) fn add(
    wc: &WorkingCopy,
    relpath: &RelPath,
    options: &AddOptions,
    gathered: &GatheredChanges<'_>,
) -> Result<()> {
    if relpath.is_empty() && !options.force {
        return Err(already(wc.root()));
    }
    let parent = parent_of(relpath).unwrap_or(RelPath::ROOT);
    let mut above = parent;
    if path::basename(parent) == ".svn" {
        return Err(reserved(wc, parent));
    }
    if options.parents {
        while !is_versioned_dir(wc.db(), above)? {
            let message = || Error::new(ErrorCode::CLIENT_NO_VERSIONED_PARENT, "");
            if path::basename(above) == ".svn" {
                return Err(reserved(wc, above));
            }
            above = parent_of(above).ok_or_else(message)?;
        }
    }
    let lock_at = if is_versioned_dir(wc.db(), above)? { above } else { RelPath::ROOT };
    gathered.lock(lock_at)?;
    if above != parent {
        add_parents(wc, relpath, above, gathered)?;
    }
    let result = match on_disk_at(wc.disk(), relpath)? {
        Some(OnDisk::Dir) => {
            let ignores = (!options.no_ignore).then(Patterns::none);
            add_dir(wc, relpath, options.depth, options, None, ignores, true, gathered)
        }
        Some(OnDisk::File | OnDisk::Link) => add_file(wc, relpath, options, None, gathered),
        Some(OnDisk::Other) => Err(unsupported(&wc.abspath(relpath))),
        None => Err(nothing_to_add(wc.db(), wc.disk(), relpath)?),
    };
    match result {
        Err(e) if options.force && is_exists(&e) => Ok(()),
        other => other,
    }
}

fn is_versioned_dir(db: &Db, relpath: &RelPath) -> Result<bool> {
    Ok(db.view(relpath)?.is_some_and(|view| {
        view.is_dir()
            && matches!(view.status(), Status::Normal | Status::Incomplete | Status::Added)
    }))
}

fn nothing_to_add(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<Error> {
    let shown = disk.abspath(relpath);
    let shown = shown.display();
    if db.actual(relpath)?.is_some_and(|a| a.conflict_data.is_some()) {
        return Ok(in_conflict(&shown));
    }
    Ok(Error::new(ErrorCode::WC_PATH_NOT_FOUND, format!("'{shown}' not found")))
}

fn add_parents(
    wc: &WorkingCopy,
    relpath: &RelPath,
    above: &RelPath,
    gathered: &GatheredChanges<'_>,
) -> Result<()> {
    let below = relpath.rest_below(above)?;
    let mut at = above.to_owned();
    for name in path::components(below.parent()) {
        at = at.child(name);
        let dir = wc.abspath(&at);
        if on_disk_at(wc.disk(), &at)?.is_some_and(|found| found != OnDisk::Dir) {
            let target = wc.abspath(relpath);
            return Err(Error::new(
                ErrorCode::CLIENT_NO_VERSIONED_PARENT,
                format!("'{}' prevents creating parent of '{}'", dir.display(), target.display()),
            ));
        }
        fs::create_dir_all(&dir).map_err(|e| Error::io(e, "Can't create directory", &dir))?;
        wc.add_one(&at, &PropList::new(), &|value| gathered.notify(value))?;
    }
    Ok(())
}

fn on_disk_at(disk: &Disk, relpath: &RelPath) -> Result<Option<OnDisk>> {
    let path = disk.abspath(relpath);
    match fs::symlink_metadata(&path) {
        Ok(found) if found.is_dir() => Ok(Some(OnDisk::Dir)),
        Ok(found) if found.is_file() => Ok(Some(OnDisk::File)),
        Ok(found) if found.is_symlink() => Ok(Some(OnDisk::Link)),
        Ok(_) => Ok(Some(OnDisk::Other)),
        Err(e) if crate::status::is_missing(&e) => Ok(None),
        Err(e) => Err(Error::io(e, "Can't check path", &path)),
    }
}

#[expect(clippy::too_many_arguments, reason = "the state of a recursion")]
fn add_dir(
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
    options: &AddOptions,
    auto: Option<&AutoProps>,
    ignores: Option<Patterns>,
    refresh: bool,
    gathered: &GatheredChanges<'_>,
) -> Result<()> {
    gathered.step()?;
    let notify = |value: &Notify<'_>| gathered.notify(value);
    let existed = match wc.add_one(relpath, &PropList::new(), &notify) {
        Err(e) if options.force && is_exists(&e) => true,
        other => {
            other?;
            false
        }
    };
    let ignores = match ignores {
        Some(_) if refresh => Some(ignore_patterns(wc.db(), relpath, &options.ignores)?),
        other => other,
    };
    let fresh;
    let auto = match auto {
        None if !existed => {
            fresh = auto_props_at(wc.db(), wc.disk(), relpath, options)?;
            Some(&fresh)
        }
        given => given,
    };
    // What is below an unversioned directory inherits the same.
    let refresh = refresh && existed;
    let dir = wc.abspath(relpath);
    for name in names_in(&dir)? {
        let Some(name) = name.to_str() else {
            return Err(Error::not_utf8(&dir, name.as_encoded_bytes()));
        };
        if ignores.as_ref().is_some_and(|i| i.matches(name.as_bytes())) {
            continue;
        }
        let child = relpath.child(name);
        match on_disk_at(wc.disk(), &child)? {
            Some(OnDisk::Dir) if depth >= Depth::Immediates => {
                let deeper = if depth == Depth::Immediates { Depth::Empty } else { depth };
                let ignores = ignores.clone();
                add_dir(wc, &child, deeper, options, auto, ignores, refresh, gathered)?;
            }
            Some(OnDisk::File | OnDisk::Link) if depth >= Depth::Files => {
                match add_file(wc, &child, options, auto, gathered) {
                    Err(e) if options.force && is_exists(&e) => {}
                    other => other?,
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn add_file(
    wc: &WorkingCopy,
    relpath: &RelPath,
    options: &AddOptions,
    auto: Option<&AutoProps>,
    gathered: &GatheredChanges<'_>,
) -> Result<()> {
    gathered.step()?;
    let notify = |value: &Notify<'_>| gathered.notify(value);
    let mut props = PropList::new();
    if on_disk_at(wc.disk(), relpath)? == Some(OnDisk::Link) {
        props.set(names::SPECIAL, TRUE_VALUE);
        return wc.add_one(relpath, &props, &notify);
    }
    let name = path::basename(relpath);
    if options.auto_props.is_some() {
        let fresh;
        let auto = match auto {
            Some(auto) => auto,
            None => {
                fresh = auto_props_at(
                    wc.db(),
                    wc.disk(),
                    parent_of(relpath).unwrap_or(RelPath::ROOT),
                    options,
                )?;
                &fresh
            }
        };
        props = auto.of(name);
    }
    let path = wc.abspath(relpath);
    let failed = |e| Error::io(e, "Can't open file", &path);
    let mut start = Vec::new();
    if props.get(names::MIME_TYPE).is_none() {
        use std::io::Read as _;
        let file = fs::File::open(&path).map_err(failed)?;
        file.take(1024).read_to_end(&mut start).map_err(failed)?;
    }
    let media = autoprops::media_type(name, &options.media_types, &start);
    let executable = fs::metadata(&path).map_err(failed)?.permissions().mode() & 0o100 != 0;
    autoprops::add_found(&mut props, media.as_deref(), executable);
    wc.add_one(relpath, &props, &notify)
}

/// The automatic properties that hold for what is added to a directory.
fn auto_props_at(
    db: &Db,
    disk: &Disk,
    relpath: &RelPath,
    options: &AddOptions,
) -> Result<AutoProps> {
    let mut auto = options.auto_props.clone().unwrap_or_default();
    let Some(view) = db.view(relpath)? else { return Ok(auto) };
    for above in inherited_props(db, disk, relpath, Some(AUTO_PROPS))? {
        if let Some(value) = above.props.get(AUTO_PROPS) {
            auto.add_value(value);
        }
    }
    if let Some(value) = view.props()?.get(AUTO_PROPS) {
        auto.add_value(value);
    }
    Ok(auto)
}

/// As [`WorkingCopy::add_one`].
pub(crate) fn add_one(
    wc: &WorkingCopy,
    relpath: &RelPath,
    props: &PropList,
    notify: &Notifier<'_>,
) -> Result<()> {
    let kind = check_addable(wc.db(), wc.disk(), relpath)?;
    check_parent_of_addition(wc.db(), wc.disk(), relpath)?;
    let path = wc.abspath(relpath);
    let shown = path.to_string_lossy();
    let mut kept = PropList::new();
    for (name, value) in props.iter() {
        let mut file = WorkingFile { path: path.clone(), props };
        let value = if name.starts_with(names::PREFIX) {
            rules::canonicalize(name, value, &shown, kind, false, &mut file)?
        } else {
            value.to_vec()
        };
        kept.set(name, value);
    }
    let sync = kind == NodeKind::File && rules::sets_flags(&kept);
    wc.db().write(|db| {
        insert_addition(wc.db(), relpath, kind.into())?;
        if !kept.is_empty() {
            db.set_actual_props(relpath, Some(&kept))?;
        }
        if sync {
            db.add_work(&WorkItem::SyncFileFlags { relpath: relpath.to_owned() })?;
        }
        Ok(())
    })?;
    if sync {
        wc.run_queue(&CancelToken::new())?;
    }
    let value = Notify {
        kind: Some(kind),
        mime_type: kept.get_str(names::MIME_TYPE),
        ..Notify::new(Action::Add, &shown)
    };
    notify(&value);
    Ok(())
}

pub(crate) fn check_addable(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<NodeKind> {
    let path = disk.abspath(relpath);
    let shown = path.display();
    if path::basename(relpath) == ".svn" {
        return Err(Error::new(
            ErrorCode::ENTRY_FORBIDDEN,
            format!("Can't create an entry with a reserved name while trying to add '{shown}'"),
        ));
    }
    if let Some(bad) = relpath.bytes().find(u8::is_ascii_control) {
        return Err(path::invalid_control(bad, &shown.to_string()).into());
    }
    let found = on_disk_at(disk, relpath)?
        .ok_or_else(|| Error::new(ErrorCode::WC_PATH_NOT_FOUND, format!("'{shown}' not found")))?;
    let actual = db.actual(relpath)?;
    if actual.is_some_and(|a| a.conflict_data.is_some()) {
        return Err(in_conflict(&shown));
    }
    match db.view(relpath)?.map(|view| view.status()) {
        None | Some(Status::NotPresent | Status::Deleted) => match found {
            OnDisk::File | OnDisk::Link => Ok(NodeKind::File),
            OnDisk::Dir => Ok(NodeKind::Dir),
            OnDisk::Other => Err(unsupported(&path)),
        },
        Some(_) => Err(already(&path)),
    }
}

pub(crate) fn check_parent_of_addition(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<()> {
    let path = disk.abspath(relpath);
    let shown = path.display();
    let parent = parent_of(relpath).unwrap_or(RelPath::ROOT);
    let view = db.view(parent)?;
    let missing = || {
        let message = format!("Can't find parent directory's node while trying to add '{shown}'");
        let cause: Option<sapwood_core::SvnError> =
            view.is_none().then(|| Error::NodeNotFound(disk.abspath(parent)).into());
        let error = sapwood_core::SvnError::new(ErrorCode::ENTRY_NOT_FOUND, message);
        Error::Svn(match cause {
            Some(cause) => error.with_cause(cause),
            None => error,
        })
    };
    let found = view.as_ref().filter(|v| v.status().is_present()).ok_or_else(missing)?;
    if found.status() == Status::Deleted {
        return Err(Error::new(
            ErrorCode::WC_SCHEDULE_CONFLICT,
            format!("Can't add '{shown}' to a parent directory scheduled for deletion"),
        ));
    }
    if !found.is_dir() {
        return Err(Error::new(
            ErrorCode::NODE_UNEXPECTED_KIND,
            format!("Can't schedule an addition of '{shown}' below a not-directory node"),
        ));
    }
    Ok(())
}

/// The names in a directory on disk but for the administrative one, sorted.
fn names_in(dir: &Path) -> Result<Vec<OsString>> {
    let failed = |e| Error::io(e, "Can't open directory", dir);
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name());
    }
    names.sort();
    names.retain(|name| name != ".svn");
    Ok(names)
}

/// The row of an addition without history, inside a transaction.
fn insert_addition(db: &Db, relpath: &RelPath, kind: Kind) -> Result<()> {
    let op_depth = depth_of(relpath);
    let mut row = NodeRow::new(relpath, op_depth, Presence::Normal, kind);
    row.moved_to = db.node(relpath, op_depth)?.and_then(|old| old.moved_to);
    row.changed_date = Some(sapwood_core::date::Timestamp(0));
    if kind == Kind::Dir {
        row.depth = Some(Depth::Infinity);
    }
    db.put_node(&row)?;
    if kind == Kind::Dir
        && let Some(mut actual) = db.actual(relpath)?
    {
        actual.changelist = None;
        db.put_actual(&actual)?;
    }
    Ok(())
}

fn in_conflict(shown: &std::path::Display<'_>) -> Error {
    Error::new(
        ErrorCode::WC_FOUND_CONFLICT,
        format!(
            "'{shown}' is an existing item in conflict; please mark the conflict as resolved before \
             adding a new item here"
        ),
    )
}
