//! Applying a patch file to a working copy.
//!
//! The patches are applied one after the other: the target ([`target`]), the positions of its hunks ([`place`]) in
//! the content ([`content`]), the patched contents ([`apply`]), and then changes of the working copy ([`install`]).
//! A hunk that does not fit is left beside the file as `.svnpatch.rej`; nothing is asked and nothing becomes a conflict.

mod apply;
mod content;
mod install;
mod known;
mod output;
mod place;
mod target;

use std::cell::RefCell;
use std::fs::{self, File};

use sapwood_core::paths::RelPathBuf;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_diff::patch::{How, Patch, PatchFile};
use sapwood_wc::WorkingCopy;

use crate::context::Context;
use crate::target::is_url;

/// The number of patches that are applied before others may write to the working copy's database.
const AT_ONCE: usize = 64;

/// The options of a patch run.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// The patch file.
    pub patch: &'r str,
    /// The directory of a working copy that it is applied to.
    pub target: &'r str,
    /// Says what would be done, and does nothing.
    pub dry_run: bool,
    /// The number of leading name components in the patch that are left out.
    pub strip: u64,
    /// Backwards.
    pub reverse: bool,
    /// White space may differ where hunks fit.
    pub ignore_whitespace: bool,
}

/// A patch file that is being applied.
struct PatchRun<'r> {
    ctx: &'r Context,
    request: Request<'r>,
    file: PatchFile<File>,
    /// The folder that it is applied to, absolute.
    root: String,
    wc: WorkingCopy,
    /// Where the last path was found.
    place: RefCell<Option<WcDir>>,
    /// What the present patch found there.
    leaf: RefCell<Leaf>,
    known: known::PatchedPaths,
    witnesses: install::Witnesses,
}

/// A directory, and where it is in which working copy.
struct WcDir {
    /// Absolute.
    dir: String,
    wc: WorkingCopy,
    relpath: RelPathBuf,
}

/// A path, absolute, at which there is a file or nothing.
#[derive(Default)]
struct Leaf {
    abspath: String,
    /// Whether it is a file, and neither a link nor something else.
    is_file: bool,
}

/// Applies a patch file.
///
/// # Errors
/// E200009 for what is not a patch file or not a directory; those of the patch file and of the working copy.
pub fn patch(ctx: &Context, request: &Request<'_>) -> SvnResult<()> {
    let illegal = |text| Err(SvnError::new(ErrorCode::ILLEGAL_TARGET, text));
    if is_url(request.target) {
        return illegal(format!("'{}' is not a local path", request.target));
    }
    let (patch, root) = (ctx.absolute(request.patch), ctx.absolute(request.target));
    match fs::metadata(&patch) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return illegal(format!("'{}' is not a file", patch.display())),
        Err(_) => return illegal(format!("'{}' does not exist", patch.display())),
    }
    match fs::metadata(&root) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return illegal(format!("'{}' is not a directory", root.display())),
        Err(_) => return illegal(format!("'{}' does not exist", root.display())),
    }
    let (wc, relpath) = ctx.working_copy(&root)?;
    let _lock = wc.lock(&relpath, -1)?;
    let file = File::open(&patch)
        .map_err(|e| SvnError::io(&e, format!("Can't open file '{}'", patch.display())))?;
    let how = How { reverse: request.reverse, ignore_whitespace: request.ignore_whitespace };
    let mut run = PatchRun {
        ctx,
        request: *request,
        file: PatchFile::new(file, how),
        root: root.to_string_lossy().into_owned(),
        wc: wc.clone(),
        place: RefCell::new(None),
        leaf: RefCell::default(),
        known: known::PatchedPaths::default(),
        witnesses: install::Witnesses::new(),
    };
    let result = run.all();
    ctx.wait_for_clock();
    result
}

impl PatchRun<'_> {
    fn all(&mut self) -> SvnResult<()> {
        let wc = self.wc.clone();
        // Questions of many patches share a lock of the database; between them others may have it.
        while wc.db().questions(|| self.some())? {}
        Ok(())
    }

    /// Applies the next few patches; says whether there may be more.
    fn some(&mut self) -> SvnResult<bool> {
        for _ in 0..AT_ONCE {
            self.ctx.check_cancel()?;
            let Some(patch) = self.file.next_patch()? else { return Ok(false) };
            self.one(&patch)?;
        }
        Ok(true)
    }

    fn one(&mut self, patch: &Patch) -> SvnResult<()> {
        let mut target = self.apply(patch)?;
        // The patch's intention counts for later patches, even where it could not be applied.
        let (added, deleted) = (target.added, target.deleted);
        if !target.skipped {
            let moved = target.move_to.is_some();
            if target.has_text || added || moved || deleted {
                self.install(&mut target)?;
            }
            if target.has_props && !deleted {
                self.install_props(&mut target)?;
            }
            self.write_rejects(&target)?;
            self.known.add(target.abspath()?, added, deleted);
        }
        self.notify(&target);
        if target.deleted && !target.skipped {
            let abspath = target.abspath()?.to_owned();
            self.delete_empty_parents(&abspath)?;
        }
        Ok(())
    }
}
