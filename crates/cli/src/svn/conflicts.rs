//! `--accept`: how conflicts are resolved, those that an operation met or those of `svn resolve`. Without it
//! the user is asked about each ([`super::questions`]).

use sapwood_client::Context;
use sapwood_client::resolve::resolve;
use sapwood_client::resolver::{Knowledge, TreeConflict};
use sapwood_core::paths::RelPath;
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::Conflict;
use sapwood_wc::local::Choice;

use super::Invocation;
use super::external_merge::run_merge_tool;
use super::given::Accept;
use super::questions::{End, Questions};
use super::tree_questions::note_settled;
use crate::remote::editor;

impl Invocation {
    /// Resolves the conflicts that an operation met, as `--accept` says.
    pub(super) fn resolve_conflicts(&self) -> SvnResult<()> {
        let paths = self.notifier.stats().borrow().paths();
        let depth = self.opt.depth.unwrap_or(Depth::Infinity);
        self.walk_conflicts(&paths, depth)
    }

    /// Resolves the conflicts at and below local paths, as `--accept` says. Conflicts that cannot be
    /// resolved in this way are reported, and the rest goes on.
    pub(super) fn walk_conflicts(&self, paths: &[String], depth: Depth) -> SvnResult<()> {
        let knowledge = Knowledge::default();
        let mut walk =
            Walk { inv: self, depth, knowledge, program_failed: false, summed_up: false };
        let mut failed = false;
        let mut stopped = false;
        // Where each node is asked for by itself, most are in no conflict.
        self.each_target(paths, depth != Depth::Empty, &mut |path| {
            if stopped {
                return Ok(());
            }
            self.ctx.check_cancel()?;
            if depth == Depth::Empty {
                // A single node that cannot be read is an error.
                self.ctx.working_copy(&self.ctx.absolute(path))?;
            }
            let done = resolve(&self.ctx, path, depth, &mut |ctx, wc, relpath, conflict| {
                walk.decide(ctx, wc, relpath, conflict)
            });
            let Err(error) = done else { return Ok(()) };
            let Some(cause) = error.chain().last().cloned() else { return Ok(()) };
            match cause.code() {
                ErrorCode::WC_PATH_NOT_FOUND if depth == Depth::Empty => return Err(cause),
                // Resolving another conflict moved it.
                ErrorCode::WC_PATH_NOT_FOUND => {}
                ErrorCode::CANCELLED => stopped = true,
                _ => {
                    self.out.warn(&cause);
                    failed = true;
                }
            }
            Ok(())
        })?;
        if failed {
            return Err(SvnError::new(
                ErrorCode::WC_CONFLICT_RESOLVER_FAILURE,
                "Failure occurred resolving one or more conflicts",
            ));
        }
        Ok(())
    }
}

/// One walk through conflicts.
struct Walk<'a> {
    inv: &'a Invocation,
    depth: Depth,
    /// The repositories' answers about tree conflicts.
    knowledge: Knowledge,
    /// Whether an editor or merge tool failed: it is not asked again.
    program_failed: bool,
    /// Whether it was said how many conflicts there are.
    summed_up: bool,
}

impl Walk<'_> {
    fn decide(
        &mut self,
        ctx: &Context,
        wc: &WorkingCopy,
        relpath: &RelPath,
        conflict: &Conflict,
    ) -> SvnResult<Option<Choice>> {
        Ok(match self.inv.opt.accept {
            Some(Accept::Base) => Some(Choice::Base),
            Some(Accept::Working) => Some(Choice::Working),
            Some(Accept::MineConflict) => Some(Choice::MineConflict),
            Some(Accept::TheirsConflict) => Some(Choice::TheirsConflict),
            Some(Accept::MineFull) => Some(Choice::MineFull),
            Some(Accept::TheirsFull) => Some(Choice::TheirsFull),
            Some(Accept::Edit | Accept::Launch) if self.program_failed => None,
            Some(Accept::Edit) => {
                let config = self.inv.ctx.config();
                let given = self.inv.opt.editor_cmd.as_deref();
                let done = editor::edit_file(given, config, &wc.abspath(relpath));
                self.program(done, ErrorCode::CL_NO_EXTERNAL_EDITOR, false)?;
                Some(Choice::Working)
            }
            Some(Accept::Launch) => self.launch(wc, relpath, conflict)?,
            Some(Accept::Postpone) => None,
            Some(Accept::Recommended) => {
                self.follow_recommendation(ctx, wc, relpath, conflict)?;
                None
            }
            None => {
                self.ask(ctx, wc, relpath)?;
                None
            }
        })
    }

    /// Does what is recommended. Nothing is for conflicts of texts and properties.
    fn follow_recommendation(
        &self,
        ctx: &Context,
        wc: &WorkingCopy,
        relpath: &RelPath,
        record: &Conflict,
    ) -> SvnResult<()> {
        let Some(mut conflict) = TreeConflict::of(ctx, &self.knowledge, wc, relpath)? else {
            return Ok(());
        };
        conflict.find_details()?;
        let Some(recommended) = conflict.recommended else { return Ok(()) };
        if record.prop.is_some() {
            // As one answer for all of the node's conflicts it does not fit.
            return Err(conflict.inapplicable());
        }
        conflict.resolve(recommended)?;
        note_settled(self.inv, &conflict);
        Ok(())
    }

    /// Asks what is to be done.
    fn ask(&mut self, ctx: &Context, wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<()> {
        if !std::mem::replace(&mut self.summed_up, true) {
            let summary = self.inv.notifier.stats().borrow().summary();
            self.inv.out.text(&summary)?;
        }
        let end =
            Questions { inv: self.inv, ctx, knowledge: &self.knowledge, wc, relpath }.ask()?;
        if end == End::Quit && self.depth != Depth::Empty {
            return Err(SvnError::new(ErrorCode::CANCELLED, ""));
        }
        Ok(())
    }

    /// Says that a program failed. It is no reason to stop, unless `stops`.
    fn program(&mut self, done: SvnResult<()>, missing: ErrorCode, stops: bool) -> SvnResult<()> {
        let Err(error) = done else { return Ok(()) };
        if ![missing, ErrorCode::EXTERNAL_PROGRAM].contains(&error.code()) {
            return Err(error);
        }
        self.inv.out.stderr(&format!("{}\n", error.message()));
        self.program_failed = true;
        if stops { Err(error) } else { Ok(()) }
    }

    /// Has a merge tool merge the three texts into the file.
    fn launch(
        &mut self,
        wc: &WorkingCopy,
        relpath: &RelPath,
        conflict: &Conflict,
    ) -> SvnResult<Option<Choice>> {
        let Some(text) = &conflict.text else { return Ok(None) };
        let mut clean = false;
        let done = run_merge_tool(self.inv, wc, relpath, text).map(|merged| {
            clean = merged == Some(true);
        });
        self.program(done, ErrorCode::CL_NO_EXTERNAL_MERGE_TOOL, true)?;
        Ok(clean.then_some(Choice::Working))
    }
}
