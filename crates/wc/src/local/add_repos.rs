//! Files that come from a repository and are added: as copies with history, or as new files.

use std::fs;
use std::io;
use std::path::Path;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, ErrorCode, PropList};

use super::copy_origin::From;
use super::copy_rows::{depths_for_copy, put_not_present};
use crate::db::{Kind, NodeRow, Presence, write_props};
use crate::error::{Error, Result};
use crate::local::add::check_parent_of_addition;
use crate::node::Origin;
use crate::pristine::PristineWriter;
use crate::root::WorkingCopy;
use crate::update::split_props;
use crate::view::{Status, View};
use crate::work_item::WorkItem;

/// As [`WorkingCopy::add_repos_file`].
pub(crate) fn add_repos_file(
    wc: &WorkingCopy,
    relpath: &RelPath,
    text: PristineWriter,
    props: &PropList,
    origin: Option<&Origin>,
    cancel: &CancelToken,
) -> Result<()> {
    add_file_from(wc, relpath, text, props, origin, None, cancel)
}

/// As [`WorkingCopy::add_foreign_file`].
pub(crate) fn add_foreign_file(
    wc: &WorkingCopy,
    relpath: &RelPath,
    text: PristineWriter,
    props: &PropList,
    cancel: &CancelToken,
) -> Result<()> {
    add_file_from(wc, relpath, text, &PropList::new(), None, Some(props), cancel)
}

/// Copies a text that will be no text base to a temporary file, by its path below the root.
fn copy_to_temporary(wc: &WorkingCopy, text: &Path) -> Result<RelPathBuf> {
    let temporary = wc.temporary();
    let failed = |e| Error::io(e, "Can't write file", &temporary);
    let mut from = fs::File::open(text).map_err(failed)?;
    let mut to = fs::File::create(&temporary).map_err(failed)?;
    io::copy(&mut from, &mut to).map_err(failed)?;
    wc.relpath(&temporary)
}

fn add_file_from(
    wc: &WorkingCopy,
    relpath: &RelPath,
    text: PristineWriter,
    props: &PropList,
    origin: Option<&Origin>,
    local: Option<&PropList>,
    cancel: &CancelToken,
) -> Result<()> {
    let is_gone = |view: View| matches!(view.status(), Status::NotPresent | Status::Deleted);
    if !wc.view(relpath)?.is_none_or(is_gone) {
        let message = format!("Node '{}' exists.", wc.abspath(relpath).display());
        return Err(Error::new(ErrorCode::ENTRY_EXISTS, message));
    }
    check_parent_of_addition(wc.db(), wc.disk(), relpath)?;
    let text = text.finish();
    let source = match origin {
        Some(_) => None,
        None => Some(copy_to_temporary(wc, text.path())?),
    };
    let mut work = vec![WorkItem::FileInstall {
        relpath: relpath.to_owned(),
        use_commit_times: false,
        record_fileinfo: local.is_none(),
        source: source.clone(),
    }];
    work.extend(source.map(|relpath| WorkItem::FileRemove { relpath }));
    let place = origin.map_or_else(From::default, |origin| From {
        repos_id: Some(origin.repos_id),
        path: Some(origin.repos_path.clone()),
        revision: Some(origin.revision),
    });
    wc.db().write(|db| {
        let depths = depths_for_copy(wc.db(), &place, relpath)?;
        let mut row = NodeRow::new(relpath, depths.op_depth, Presence::Normal, Kind::File);
        row.moved_to = db.node(relpath, depths.op_depth)?.and_then(|old| old.moved_to);
        row.changed_date = Some(sapwood_core::date::Timestamp(0));
        if origin.is_some() {
            let (regular, changed) = split_props(props);
            row.repos_id = place.repos_id;
            row.repos_path.clone_from(&place.path);
            row.revision = place.revision;
            row.properties = Some(write_props(&regular));
            row.checksum = Some(text.sha1);
            row.changed_revision = changed.revision;
            row.changed_date = changed.date.or(row.changed_date);
            row.changed_author = changed.author;
            wc.install_pristine(text)?;
        }
        db.put_node(&row)?;
        db.set_actual_props(relpath, local.filter(|props| !props.is_empty()))?;
        if let Some(depth) = depths.not_present {
            put_not_present(wc.db(), relpath, depth, Kind::File, &place)?;
        }
        work.iter().try_for_each(|item| db.add_work(item).map(|_| ()))
    })?;
    wc.run_queue(cancel)
}
