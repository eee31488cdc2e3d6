//! Putting what was patched in its place, and saying what was done.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{BufWriter, Read as _, Write};

use sapwood_core::notify::{Action, Hunk as Lines, Notify, State};
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, NodeKind, PropList, SvnError, SvnResult, path};
use sapwood_diff::patch::{Operation, Which};
use sapwood_wc::conflict::names::reserve;
use sapwood_wc::props::Change;
use sapwood_wc::props::rules::{self, FileForCheck, Newlines};
use sapwood_wc::root::disk_kind;
use sapwood_wc::status;

use super::PatchRun;
use super::output::unwritten;
use super::place::HunkPosition;
use super::target::{PropTarget, Target};

/// The errors for which a property value is refused without ending the run.
const REFUSED: [ErrorCode; 5] = [
    ErrorCode::ILLEGAL_TARGET,
    ErrorCode::NODE_UNEXPECTED_KIND,
    ErrorCode::IO_UNKNOWN_EOL,
    ErrorCode::BAD_MIME_TYPE,
    ErrorCode::CLIENT_INVALID_EXTERNALS_DESCRIPTION,
];

impl PatchRun<'_> {
    /// Puts a patched target in its place.
    pub(super) fn install(&mut self, target: &mut Target) -> SvnResult<()> {
        let abspath = target.abspath()?.to_owned();
        if target.deleted {
            if !self.request.dry_run {
                self.delete(&abspath)?;
            }
            return Ok(());
        }
        if target.added {
            self.prepare_parents(target)?;
        } else {
            let kind = match target.plain {
                Some(_) => target.kind,
                None => self.kind_of(&abspath)?,
            };
            let other = kind != target.on_disk;
            target.skipped |= target.on_disk.is_none() || other;
            target.obstructed |= other;
        }
        if self.request.dry_run || target.skipped {
            return Ok(());
        }
        let (wc, relpath) = self.place_of(&abspath)?;
        let (to, to_relpath) = match &target.move_to {
            Some(to) if !target.is_special => {
                let (wc, relpath) = self.place_of(to)?;
                (wc, relpath)
            }
            _ => (wc.clone(), relpath.clone()),
        };
        let text = target.patched.finished()?;
        if target.is_special {
            let failed = |e| SvnError::io(&e, "Can't read a patched file");
            let link: &[u8] = if target.git_link { b"link " } else { b"" };
            wc.install_special(&relpath, &mut link.chain(text.open().map_err(failed)?))?;
        } else {
            to.install_text(&to_relpath, text, &target.translation, target.executable)?;
        }
        if target.added {
            let _lock = self.lock_above(&abspath)?;
            wc.add_one(&relpath, &PropList::new(), &|_| {})?;
        }
        let Some(to) = &target.move_to else { return Ok(()) };
        let (dest, dest_relpath) = self.place_of(to)?;
        let cancel = self.ctx.cancel();
        wc.move_node(&relpath, &dest, &dest_relpath, true, false, cancel, &|_| {})?;
        fs::remove_file(&abspath)
            .map_err(|e| SvnError::io(&e, format!("Can't remove file '{abspath}'")))
    }

    fn delete(&self, abspath: &str) -> SvnResult<()> {
        let (wc, relpath) = self.place_of(abspath)?;
        let _lock = self.lock_above(abspath)?;
        Ok(wc.delete_versioned(&relpath, &[], self.ctx.cancel(), &|_| {})?)
    }

    /// A lock where a path is, in a working copy inside this one.
    fn lock_above(&self, abspath: &str) -> SvnResult<Option<sapwood_wc::locks::Lock>> {
        let (wc, relpath) = self.place_of(abspath)?;
        if wc.root() == self.wc.root() {
            return Ok(None);
        }
        Ok(Some(wc.lock(relpath.parent(), 0)?))
    }

    /// Makes the directories that a new file needs.
    fn prepare_parents(&mut self, target: &mut Target) -> SvnResult<()> {
        let abspath = target.abspath()?.to_owned();
        let parent = path::dirname(&abspath);
        match self.kind_of(parent)? {
            Some(NodeKind::Dir) => {
                let found = fs::metadata(parent);
                target.skipped |= !found.is_ok_and(|found| found.is_dir());
                return Ok(());
            }
            Some(_) => {
                target.skipped = true;
                return Ok(());
            }
            None => {}
        }
        let below = path::rest_below(&self.root, parent)?.to_owned();
        let mut at = self.root.clone();
        let mut missing = Vec::new();
        for name in path::components(&below) {
            at = path::join(&at, name);
            if !missing.is_empty() {
                missing.push(at.clone());
                continue;
            }
            let on_disk = disk_kind(at.as_ref())?;
            let is_dir = on_disk.is_some_and(|kind| kind.is_dir());
            match self.kind_of(&at)? {
                Some(NodeKind::Dir) if is_dir => {}
                None if on_disk.is_none() && !self.is_hidden(&at)? => missing.push(at.clone()),
                _ => {
                    target.skipped = true;
                    return Ok(());
                }
            }
        }
        for dir in missing {
            self.ctx.check_cancel()?;
            if !self.known.is_added(&dir) {
                self.add_directory(&dir)?;
            }
        }
        Ok(())
    }

    /// Whether a node is known but not here: not present, or excluded.
    fn is_hidden(&self, abspath: &str) -> SvnResult<bool> {
        let (wc, relpath) = self.place_of(abspath)?;
        Ok(wc.view(&relpath)?.is_some_and(|view| !view.status().is_present()))
    }

    fn add_directory(&mut self, dir: &str) -> SvnResult<()> {
        self.known.add(dir, true, false);
        if self.request.dry_run {
            let kind = Some(NodeKind::Dir);
            self.ctx.notify(&Notify { kind, ..Notify::new(Action::Add, dir) });
            return Ok(());
        }
        let failed = |e| SvnError::io(&e, format!("Can't create directory '{dir}'"));
        fs::create_dir(dir).map_err(failed)?;
        let (wc, relpath) = self.place_of(dir)?;
        let _lock = self.lock_above(dir)?;
        Ok(wc.add_one(&relpath, &PropList::new(), &|notice| self.ctx.notify(notice))?)
    }

    /// Sets the properties that were patched. A value that is refused rejects its hunks.
    pub(super) fn install_props(&mut self, target: &mut Target) -> SvnResult<()> {
        let abspath = target.move_to.as_deref().unwrap_or(target.abspath()?).to_owned();
        let (wc, relpath) = self.place_of(&abspath)?;
        let _lock = self.lock_above(&abspath)?;
        let mut props = std::mem::take(&mut target.props);
        for (name, prop) in &mut props {
            self.ctx.check_cancel()?;
            let value = prop.value();
            if prop.skipped || (self.request.dry_run && value.is_none()) {
                continue;
            }
            let change = Change { name, value, force: true };
            let set = if self.request.dry_run {
                let kind = target.kind.unwrap_or(NodeKind::File);
                let value = value.unwrap_or_default();
                check_value(name, value, &abspath, kind)
            } else {
                let cancel = self.ctx.cancel();
                let lists = HashSet::new();
                wc.set_prop(&relpath, change, Depth::Empty, &lists, cancel, &|_| {})
                    .map_err(SvnError::from)
            };
            match set {
                Err(error) if REFUSED.contains(&error.code()) => {
                    for one in &mut prop.placed {
                        one.rejected = true;
                        target.reject(Some(name), &one.hunk);
                    }
                }
                other => other?,
            }
        }
        target.props = props;
        Ok(())
    }

    /// Writes the hunks that do not fit beside the target, or where there is no such directory, into the
    /// folder that the patch is applied to.
    pub(super) fn write_rejects(&mut self, target: &Target) -> SvnResult<()> {
        if self.request.dry_run || target.rejects.is_empty() {
            return Ok(());
        }
        let (dir, name) = path::split(target.abspath()?);
        let is_dir = disk_kind(dir.as_ref())?.is_some_and(|kind| kind.is_dir());
        let dir = if is_dir { dir } else { &self.root };
        let dir = self.wc.relpath(dir.as_ref())?;
        let file = self.wc.abspath(&reserve(self.wc.disk(), &dir, name, ".svnpatch.rej")?);
        let failed = |e| SvnError::io(&e, format!("Can't open file '{}'", file.display()));
        let mut out = BufWriter::new(File::create(&file).map_err(failed)?);
        let (old, new) = &target.reject_names;
        write!(out, "--- {old}\n+++ {new}\n").map_err(unwritten)?;
        let mut line = Vec::new();
        for (prop, hunk) in &target.rejects {
            let mut mark = "@@";
            if let Some(name) = prop {
                writeln!(out, "Property: {name}").map_err(unwritten)?;
                mark = "##";
            }
            let (before, after) = (&hunk.before, &hunk.after);
            writeln!(
                out,
                "{mark} -{},{} +{},{} {mark}",
                before.start, before.len, after.start, after.len
            )
            .map_err(unwritten)?;
            let mut cursor = hunk.lines(Which::All);
            while let Some(end) = self.file.line(&mut cursor, &mut line)? {
                out.write_all(&line)
                    .and_then(|()| out.write_all(end.bytes()))
                    .map_err(unwritten)?;
            }
        }
        out.flush().map_err(unwritten)
    }

    /// Deletes the directories above a deleted file that have nothing left.
    pub(super) fn delete_empty_parents(&mut self, abspath: &str) -> SvnResult<()> {
        let mut dir = path::dirname(abspath).to_owned();
        while dir != self.root && path::is_ancestor(&self.root, &dir) && !self.must_stay(&dir)? {
            if !self.request.dry_run {
                self.delete(&dir)?;
            }
            self.known.add(&dir, false, true);
            let kind = Some(NodeKind::Dir);
            self.ctx.notify(&Notify { kind, ..Notify::new(Action::Delete, &dir) });
            dir = path::dirname(&dir).to_owned();
        }
        Ok(())
    }

    /// Whether something in a directory was not deleted. One such thing is cached: it will
    /// answer for the next file that is deleted.
    fn must_stay(&mut self, dir: &str) -> SvnResult<bool> {
        let (wc, relpath) = self.place_of(dir)?;
        if let Some(witness) = self.witnesses.get(dir)
            && !self.known.is_gone(witness)
        {
            let status = wc.status_of(&wc.relpath(witness.as_ref())?)?;
            if !matches!(status.node, status::State::None | status::State::Deleted) {
                return Ok(true);
            }
        }
        for depth in [Depth::Immediates, Depth::Infinity] {
            let options = status::Options {
                depth,
                all: true,
                ignores: self.ctx.ignores(),
                cancel: self.ctx.cancel().clone(),
                ..status::Options::default()
            };
            let mut last = None;
            wc.status(&relpath, &options, &mut |status| {
                if matches!(status.node, status::State::None | status::State::Deleted)
                    || status.relpath == relpath
                {
                    return Ok(());
                }
                let found = wc.abspath(&status.relpath).to_string_lossy().into_owned();
                if !self.known.is_gone(&found) {
                    last = Some(found);
                }
                Ok(())
            })?;
            if let Some(last) = last {
                self.witnesses.insert(dir.to_owned(), last);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reports the outcome for a target.
    pub(super) fn notify(&self, target: &Target) {
        let action = if target.skipped {
            Action::Skip
        } else if target.deleted {
            Action::Delete
        } else if target.added || target.move_to.is_some() {
            Action::Add
        } else {
            Action::Patch
        };
        let shown = target.move_to.as_deref().unwrap_or(target.display_path());
        let kind = if target.kind == Some(NodeKind::Dir) { NodeKind::Dir } else { NodeKind::File };
        let (content, props) = target.states();
        let value = Notify { kind: Some(kind), content, props, ..Notify::new(action, shown) };
        self.ctx.notify(&value);
        if action == Action::Patch {
            target.placed.iter().for_each(|placed| self.notify_hunk(target, placed, None));
            for (name, prop) in &target.props {
                let whole = matches!(prop.operation, Operation::Added | Operation::Deleted);
                let reported = prop.placed.iter().filter(|one| {
                    // An added or deleted file has no hunks to report.
                    !whole || one.rejected || one.already_applied
                });
                reported.for_each(|placed| self.notify_hunk(target, placed, Some(name)));
            }
        }
        if !target.skipped && target.move_to.is_some() {
            let kind = Some(NodeKind::File);
            self.ctx.notify(&Notify { kind, ..Notify::new(Action::Delete, target.display_path()) });
        }
    }

    fn notify_hunk(&self, target: &Target, placed: &HunkPosition, prop: Option<&str>) {
        let action = if placed.already_applied {
            Action::PatchHunkAlreadyApplied
        } else if placed.rejected {
            Action::PatchRejectedHunk
        } else {
            Action::PatchAppliedHunk
        };
        let (before, after) = (&placed.hunk.before, &placed.hunk.after);
        let hunk = Lines {
            original: (before.start, before.len),
            modified: (after.start, after.len),
            matched_line: placed.line,
            fuzz: placed.reported_fuzz,
        };
        let value = Notify { hunk, prop_name: prop, ..Notify::new(action, target.display_path()) };
        self.ctx.notify(&value);
    }
}

impl Target {
    /// The outcome for text and properties, or why the target was skipped.
    fn states(&self) -> (State, State) {
        if self.skipped {
            let why = match (self.obstructed, self.kind) {
                (true, _) => State::Obstructed,
                (false, None) => State::Missing,
                (false, Some(_)) => State::Unknown,
            };
            return (why, State::Inapplicable);
        }
        let state = |rejects, changed, applied| {
            if rejects {
                State::Conflicted
            } else if changed {
                State::Changed
            } else if applied {
                State::Merged
            } else {
                State::Unchanged
            }
        };
        (
            state(self.had_rejects, self.has_text, self.had_applied),
            state(self.had_prop_rejects, self.has_props, self.had_prop_applied),
        )
    }
}

impl PropTarget {
    /// The value to set; `None` deletes the property. One that had a value and has none left goes.
    fn value(&self) -> Option<&[u8]> {
        let emptied = self.had_value && self.patched.is_empty();
        (self.operation != Operation::Deleted && !emptied).then_some(self.patched.as_slice())
    }
}

/// Whether a property could have a value.
fn check_value(name: &str, value: &[u8], abspath: &str, kind: NodeKind) -> SvnResult<()> {
    if name.starts_with(names::PREFIX) {
        rules::canonicalize(name, value, abspath, kind, true, &mut NoFile)?;
    }
    Ok(())
}

/// No file to look at: with `force` nothing is asked of it.
struct NoFile;

impl FileForCheck for NoFile {
    fn mime_type(&mut self) -> SvnResult<Option<Vec<u8>>> {
        Ok(None)
    }

    fn has_consistent_newlines(&mut self) -> SvnResult<bool> {
        Ok(Newlines::default().consistent())
    }
}

/// For each directory that stays, something in it that does.
pub(super) type Witnesses = HashMap<String, String>;
