//! Applying the hunks of a patch to the contents of its target. The results are kept aside: nothing of the
//! working copy changes here.

use std::fs::File;
use std::io::{Read, Write};

use sapwood_core::exact::{Cut, Exact};
use sapwood_core::props::names;
use sapwood_core::{NodeKind, SvnError, SvnResult};
use sapwood_diff::patch::{BinaryPatch, Hunk, Literal, Operation, Patch, PatchFile, Which};
use sapwood_wc::translate::same_bytes;

use super::PatchRun;
use super::content::Content;
use super::output::Output;
use super::output::unwritten;
use super::place::{Around, HunkPosition, Obstacle, Search, TakenLines};
use super::target::Target;

impl PatchRun<'_> {
    /// Applies a patch to its target, as far as it fits.
    pub(super) fn apply(&mut self, patch: &Patch) -> SvnResult<Target> {
        let mut target = self.target(patch)?;
        if target.skipped {
            return Ok(target);
        }
        let writes = !patch.hunks.is_empty()
            || patch.binary.is_some()
            || target.added
            || target.move_to.is_some();
        if writes && !self.request.dry_run {
            let (wc, _) = self.place_of(target.abspath()?)?;
            target.patched = Output::new(wc.temporary());
        }
        if !patch.hunks.is_empty() {
            self.place_text(&mut target, patch)?;
            self.apply_text(&mut target)?;
            if target.deleted && !target.had_rejects && !target.patched.is_empty() {
                target.reject_deletion();
            }
        } else if let Some(binary) = &patch.binary {
            self.apply_binary(&mut target, binary)?;
        } else if target.move_to.is_some() {
            copy_rest(&mut target)?;
        }
        // A deletion without a text does not delete a text that only this working copy has.
        let says_no_text = patch.hunks.is_empty() && patch.binary.is_none();
        if target.deleted && says_no_text && self.has_own_text(&target)? {
            target.skipped = true;
            return Ok(target);
        }
        if target.had_rejects || target.locally_deleted {
            target.deleted = false;
        }
        if target.added && !target.is_missing() {
            target.added = false;
        }
        self.place_props(&mut target, patch)?;
        self.apply_props(&mut target)?;
        Ok(target)
    }

    /// Whether there is a file that is not empty and differs from what was checked out.
    fn has_own_text(&self, target: &Target) -> SvnResult<bool> {
        if target.on_disk != Some(NodeKind::File) || target.is_empty || target.locally_deleted {
            return Ok(false);
        }
        let (wc, relpath) = self.place_of(target.abspath()?)?;
        Ok(wc.view(&relpath)?.map_or(Ok(true), |view| wc.file_modified(&view))?)
    }

    /// Finds the positions of the hunks of a text.
    fn place_text(&mut self, target: &mut Target, patch: &Patch) -> SvnResult<()> {
        let around = Around {
            is_prop: false,
            operation: target.operation,
            deleted: target.locally_deleted,
            obstacle: obstacle(target)?,
        };
        let mut content = target.content.take().unwrap_or_else(Content::none);
        let mut taken = TakenLines::default();
        let mut offset = 0_u64;
        for hunk in &patch.hunks {
            self.ctx.check_cancel()?;
            let file = &mut self.file;
            let search =
                &mut Search { file, content: &mut content, taken: &taken, around, hunk: *hunk };
            let placed = search.place(offset, None)?;
            if placed.line > 0 {
                offset = placed.line.wrapping_sub(hunk.before.start);
            }
            taken.add(&placed);
            target.placed.push(placed);
        }
        target.content = Some(content);
        // They are applied in the order of the positions that were found.
        target.placed.sort_by_key(|placed| {
            let fits = !placed.rejected && !placed.already_applied;
            (!fits, if fits { placed.line } else { placed.hunk.before.start })
        });
        Ok(())
    }

    fn apply_text(&mut self, target: &mut Target) -> SvnResult<()> {
        let mut content = target.content.take().unwrap_or_else(Content::none);
        let copies = target.on_disk == Some(NodeKind::File);
        let mut placed = std::mem::take(&mut target.placed);
        for one in &mut placed {
            self.ctx.check_cancel()?;
            if one.already_applied {
                target.had_applied = true;
            } else if one.rejected {
                target.reject(None, &one.hunk);
            } else if apply_hunk(&mut self.file, &mut content, one, copies, &mut target.patched)? {
                target.has_text = true;
            } else {
                one.rejected = true;
                target.reject(None, &one.hunk);
            }
        }
        target.placed = placed;
        target.content = Some(content);
        copy_rest(target)
    }

    /// Replaces a text that has no lines, if it is the one before or already the one after.
    fn apply_binary(&mut self, target: &mut Target, binary: &BinaryPatch) -> SvnResult<()> {
        if self.is_text(target, &binary.before)? {
            target.has_text = true;
        } else if self.is_text(target, &binary.after)? {
            target.had_applied = true;
        } else {
            target.skipped = true;
            return Ok(());
        }
        let mut text = self.file.literal(&binary.after);
        let mut buffer = vec![0; 64 << 10];
        loop {
            self.ctx.check_cancel()?;
            let count = text.read(&mut buffer).map_err(SvnError::from_stream)?;
            if count == 0 {
                return Ok(());
            }
            let bytes = buffer.head(count);
            target.patched.write_all(bytes).map_err(unwritten)?;
        }
    }

    fn is_text(&mut self, target: &Target, literal: &Literal) -> SvnResult<bool> {
        let text = self.file.literal(literal);
        if target.is_link || target.on_disk != Some(NodeKind::File) {
            return same_bytes(std::io::empty(), text).map_err(SvnError::from_stream);
        }
        let abspath = target.abspath()?;
        let failed = |e| SvnError::io(&e, format!("Can't open file '{abspath}'"));
        let file = File::open(abspath).map_err(failed)?;
        same_bytes(std::io::BufReader::new(file), text).map_err(SvnError::from_stream)
    }

    /// Finds the positions of the hunks of properties, those that bits imply included.
    fn place_props(&mut self, target: &mut Target, patch: &Patch) -> SvnResult<()> {
        target.is_special = target.is_link;
        if let Some(prop) = patch.props.get(names::SPECIAL) {
            target.is_special = prop.operation != Operation::Deleted;
        }
        let mut props = std::mem::take(&mut target.props);
        for (name, prop) in &mut props {
            self.ctx.check_cancel()?;
            let around = Around {
                is_prop: true,
                operation: target.operation,
                deleted: target.locally_deleted,
                obstacle: Obstacle::None,
            };
            let implied = [implied_hunk(prop.operation)];
            let said = patch.props.get(name);
            let (hunks, most_fuzz) = match said {
                Some(said) => (said.hunks.as_slice(), None),
                None => (implied.as_slice(), Some(0)),
            };
            if said.is_none() && name == names::SPECIAL {
                target.is_special = prop.operation == Operation::Added;
            }
            let mut taken = TakenLines::default();
            for hunk in hunks {
                let (file, content) = (&mut self.file, &mut prop.content);
                let search = &mut Search { file, content, taken: &taken, around, hunk: *hunk };
                let placed = search.place(0, most_fuzz)?;
                taken.add(&placed);
                prop.placed.push(placed);
            }
        }
        target.props = props;
        target.reject_props_of_nothing();
        Ok(())
    }

    fn apply_props(&mut self, target: &mut Target) -> SvnResult<()> {
        let mut props = std::mem::take(&mut target.props);
        for (name, prop) in &mut props {
            let mut applied = false;
            for one in &mut prop.placed {
                self.ctx.check_cancel()?;
                if one.already_applied {
                    target.had_prop_applied = true;
                    continue;
                }
                let (file, content) = (&mut self.file, &mut prop.content);
                if !one.rejected && apply_hunk(file, content, one, true, &mut prop.patched)? {
                    applied = true;
                    target.has_props = true;
                    continue;
                }
                // 1.14 goes on with the value, but for hunks that had no place from the start.
                applied |= !one.rejected;
                one.rejected = true;
                target.reject(Some(name), &one.hunk);
            }
            if !applied {
                prop.skipped = true;
            } else if prop.content.existed() {
                prop.content.copy_to(0, &mut prop.patched)?;
                prop.skipped |= !prop.content.ended();
            }
        }
        target.props = props;
        Ok(())
    }
}

impl Target {
    /// Keeps a hunk that does not fit.
    pub(super) fn reject(&mut self, prop: Option<&str>, hunk: &Hunk) {
        match prop {
            Some(_) => self.had_prop_rejects = true,
            None => self.had_rejects = true,
        }
        self.rejects.push((prop.map(str::to_owned), *hunk));
    }

    /// Keeps the file whole, and all hunks, where lines would go that the patch does not know. (1.14 deletes it.)
    fn reject_deletion(&mut self) {
        let mut placed = std::mem::take(&mut self.placed);
        for one in placed.iter_mut().filter(|one| !one.already_applied) {
            one.rejected = true;
            self.reject(None, &one.hunk);
        }
        self.placed = placed;
        self.has_text = false;
    }

    /// Where nothing will be after the patch there is nothing to have properties.
    fn reject_props_of_nothing(&mut self) {
        if !self.deleted && (self.added || !self.is_missing()) {
            return;
        }
        for prop in self.props.values_mut() {
            if prop.operation == Operation::Deleted {
                continue;
            }
            for one in &mut prop.placed {
                if one.already_applied || one.rejected {
                    continue;
                }
                one.rejected = true;
                prop.skipped = true;
                self.skipped |= !self.deleted && !self.added;
            }
        }
    }
}

/// The change of a property that a bit stands for: all of these have the same value.
const fn implied_hunk(operation: Operation) -> Hunk {
    Hunk::of_line("*", matches!(operation, Operation::Added))
}

/// The state of the path of a new file.
fn obstacle(target: &Target) -> SvnResult<Obstacle> {
    if target.on_disk != Some(NodeKind::File) {
        return Ok(Obstacle::None);
    }
    Ok(if target.is_empty {
        Obstacle::None
    } else if target.kind == Some(NodeKind::File) {
        Obstacle::Versioned
    } else {
        Obstacle::Other
    })
}

/// Copies what comes after the last hunk. What cannot be copied whole is not put in place.
fn copy_rest(target: &mut Target) -> SvnResult<()> {
    if target.on_disk != Some(NodeKind::File) {
        return Ok(());
    }
    if let Some(content) = &mut target.content {
        content.copy_to(0, &mut target.patched)?;
        target.skipped |= !content.ended();
    }
    Ok(())
}

/// Writes what is above a hunk, and the hunk. Lines that need not fit stay as they are. `false` when
/// the lines that the hunk replaces are not all there.
fn apply_hunk(
    file: &mut PatchFile<File>,
    content: &mut Content,
    placed: &HunkPosition,
    copies: bool,
    out: &mut dyn Write,
) -> SvnResult<bool> {
    let (hunk, fuzz) = (&placed.hunk, placed.fuzz);
    if copies {
        content.copy_to(placed.line.saturating_add(fuzz), out)?;
        let replaced = hunk.before.len.wrapping_sub(fuzz.saturating_mul(2));
        let line = content.current().wrapping_add(replaced);
        content.seek(line);
        if content.current() != line && !content.ended() {
            return Ok(false);
        }
    }
    let until = hunk.after.len.saturating_sub(fuzz);
    let mut cursor = hunk.lines(Which::After);
    let mut line = Vec::new();
    let mut number = 0_u64;
    while let Some(end) = file.line(&mut cursor, &mut line)? {
        number = number.plus(1);
        if number <= fuzz || number > until {
            continue;
        }
        let end = if end.is_empty() { b"" } else { content.line_end(end.bytes()) };
        out.write_all(&line).and_then(|()| out.write_all(end)).map_err(unwritten)?;
    }
    Ok(true)
}
