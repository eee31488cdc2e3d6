//! `svn merge`.

use std::rc::Rc;

use sapwood_client::merge::{
    MergeOptions, Settle, TwoSources, merge_peg, merge_reintegrate, merge_two,
};
use sapwood_client::open::url_of;
use sapwood_client::target::is_url;
use sapwood_client::{Range, Revision};
use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, SvnError, SvnResult, path, uri};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::Conflict;
use sapwood_wc::local::Choice;

use super::given::Accept;
use super::notify::{ConflictKind, display_below};
use super::options::Opt;
use super::targets::{Arg, local_style};
use super::{Command, Invocation, Revisions};
use crate::command::usage_error;
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "merge",
    help: "Merge changes into a working copy.\n\
        usage: 1. merge SOURCE[@REV] [TARGET_WCPATH]\n          \
        (the 'complete' merge)\n       \
        2. merge [-c M[,N...] | -r N:M ...] SOURCE[@REV] [TARGET_WCPATH]\n          \
        (the 'cherry-pick' merge)\n       \
        3. merge SOURCE1[@REV1] SOURCE2[@REV2] [TARGET_WCPATH]\n          \
        (the '2-URL' merge)\n\
        \n  \
        1. Merge all that happened on SOURCE and that the target does not have yet. What was merged is\n     \
        recorded in the property svn:mergeinfo, so that the next merge goes on from there. After a merge\n     \
        in one direction this is also how a branch comes back to where it began.\n\
        \n  \
        2. Merge only these revisions of SOURCE; those that the target has already are left out. Numbers\n     \
        with a minus, and ranges the other way round, take changes back.\n\
        \n  \
        3. Merge what has to be changed in SOURCE1 to make it SOURCE2.\n\
        \n  \
        SOURCE is a URL, or a local path, which stands for its URL; a revision is a number, a date or\n  \
        HEAD. The target is a local path (without it: the current folder, or in it a file with the name\n  \
        of the source). It should be up to date and of one revision. Nothing is committed.\n\
        \n  \
        Letters are as with 'svn update'.\n",
    options: &[
        Opt::Revision,
        Opt::Change,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::Quiet,
        Opt::Force,
        Opt::DryRun,
        Opt::Diff3Cmd,
        Opt::RecordOnly,
        Opt::Extensions,
        Opt::IgnoreAncestry,
        Opt::Accept,
        Opt::Reintegrate,
        Opt::AllowMixedRevisions,
        Opt::Verbose,
    ],
    overrides: &[
        (Opt::NonRecursive, "old form of --depth=files"),
        (Opt::Force, "delete files too whose contents differ"),
    ],
    revisions: Revisions::Ranges,
    shows_progress: true,
    run,
    ..Command::DEFAULT
};

/// The kind of merge that the arguments request.
#[derive(Debug)]
struct MergeArguments {
    left: String,
    left_revision: Revision,
    right: String,
    right_revision: Revision,
    /// Whether two sources were given.
    two: bool,
    target: Option<String>,
}

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let first = inv.opt.range();
    if inv.has(Opt::Reintegrate) && first.start.is_given() {
        return Err(usage_error("-r and -c can't be used with --reintegrate"));
    }
    let targets = inv.targets()?;
    let wanted = wanted(inv, &targets, first)?;
    let target = match &wanted.target {
        Some(target) => target.clone(),
        None => implied_target(inv, &wanted)?,
    };
    let extensions = inv.opt.extensions.clone().unwrap_or_default();
    let words: Vec<&str> = extensions.split_ascii_whitespace().collect();
    check_reintegrate(inv, wanted.two)?;
    let options = MergeOptions {
        depth: inv.opt.depth,
        ignore_mergeinfo: inv.has(Opt::IgnoreAncestry),
        ignore_ancestry: inv.has(Opt::IgnoreAncestry),
        force_delete: inv.has(Opt::Force),
        record_only: inv.has(Opt::RecordOnly),
        dry_run: inv.has(Opt::DryRun),
        allow_mixed: inv.has(Opt::AllowMixedRevisions),
        diff: sapwood_diff::Options::parse(&words)?,
        settle: conflict_resolver(inv),
    };
    let result = loop {
        let mut result = merge(inv, &wanted, &target, &options);
        if let Err(error) = &result
            && error.code() == ErrorCode::CLIENT_INVALID_MERGEINFO_NO_MERGETRACKING
        {
            return result.map_err(|error| {
                error.context(
                    "Merge tracking not possible, use --ignore-ancestry or\nfix invalid mergeinfo \
                     in target with 'svn propset'",
                )
            });
        }
        let open = || !inv.notifier.stats().borrow().paths().is_empty();
        if options.dry_run || !open() {
            break result;
        }
        inv.resolve_conflicts()?;
        let stopped = result.as_ref().is_err_and(|e| e.has_code(ErrorCode::WC_FOUND_CONFLICT));
        if !stopped || open() {
            break result;
        }
        // All conflicts are resolved: the merge goes on.
        result = Ok(());
        drop(result);
    };
    if !inv.has(Opt::Quiet) {
        let summary = inv.notifier.stats().borrow().summary();
        inv.out.text(&summary)?;
    }
    result.map_err(|error| match error.code() {
        ErrorCode::UNVERSIONED_RESOURCE | ErrorCode::CLIENT_MODIFIED => error
            .context("Use --force to override this restriction (local modifications may be lost)"),
        _ => error,
    })
}

/// Understands the arguments: one source or two, and the target.
fn wanted(inv: &Invocation, targets: &[Arg], first: Range) -> SvnResult<MergeArguments> {
    let Some(one) = targets.first() else {
        return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, "Merge source required"));
    };
    let one = inv.target(Part::Source, one)?;
    let two = targets.get(1).map(|arg| inv.target(Part::Source, arg)).transpose()?;
    let folder = |at: usize| targets.get(at).map(|arg| inv.name(Part::Folder, arg)).transpose();
    let mut is_two = match &two {
        None => false,
        Some(two) => targets.len() != 2 || !one.is_url() || two.is_url(),
    };
    if first.start.is_given() {
        if !first.end.is_given() {
            let words = "Second revision required";
            return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, words));
        }
        is_two = false;
    }
    let most = if is_two { 3 } else { 2 };
    if targets.len() > most {
        return Err(usage_error("Too many arguments given"));
    }
    if let (true, Some(two)) = (is_two, &two) {
        check_revision(&one.text, one.peg)?;
        check_revision(&two.text, two.peg)?;
        return Ok(MergeArguments {
            left_revision: one.peg.or(Revision::Head),
            left: one.text,
            right_revision: two.peg.or(Revision::Head),
            right: two.text.clone(),
            two: true,
            target: folder(2)?,
        });
    }
    let peg = one.peg.or(if one.is_url() { Revision::Head } else { Revision::Working });
    let target = folder(1)?;
    if target.as_deref().is_some_and(is_url) {
        return Err(usage_error("Cannot specify a revision range with two URLs"));
    }
    Ok(MergeArguments {
        left: one.text.clone(),
        left_revision: peg,
        right: one.text,
        right_revision: peg,
        two: false,
        target,
    })
}

/// A local path stands for its URL, so the revision must be one of the repository.
fn check_revision(path: &str, revision: Revision) -> SvnResult<()> {
    let remote = matches!(revision, Revision::Number(_) | Revision::Date(_) | Revision::Head);
    if remote || is_url(path) {
        return Ok(());
    }
    Err(SvnError::new(
        ErrorCode::CLIENT_BAD_REVISION,
        format!(
            "Invalid merge source '{}'; a working copy path can only be used with a repository \
             revision (a number, a date, or head)",
            local_style(path)
        ),
    ))
}

/// The target where none is named: the current folder, unless there is a file in it with the
/// source's name.
fn implied_target(inv: &Invocation, wanted: &MergeArguments) -> SvnResult<String> {
    let here = String::new();
    let is_file =
        |path: &str| inv.ctx.absolute(path).symlink_metadata().is_ok_and(|found| !found.is_dir());
    if !is_url(&wanted.left) {
        let file = wanted.left == wanted.right && is_file(&wanted.left);
        return Ok(if file { wanted.left.clone() } else { here });
    }
    let name = |url: &str| uri::split(url).map_or(String::new(), |(_, name)| name);
    let source = name(&wanted.left);
    if source != name(&wanted.right) || source == name(&url_of(&inv.ctx, "")?) {
        return Ok(here);
    }
    let source = path::basename(&source);
    Ok(if !source.is_empty() && is_file(source) { source.to_owned() } else { here })
}

fn check_reintegrate(inv: &Invocation, two: bool) -> SvnResult<()> {
    if !inv.has(Opt::Reintegrate) {
        return Ok(());
    }
    let exclusive = |words: &str| Err(SvnError::new(ErrorCode::CL_MUTUALLY_EXCLUSIVE_ARGS, words));
    if inv.has(Opt::IgnoreAncestry) {
        return exclusive("--reintegrate cannot be used with --ignore-ancestry");
    }
    if inv.has(Opt::RecordOnly) {
        return exclusive("--reintegrate cannot be used with --record-only");
    }
    if inv.opt.depth.is_some() {
        return exclusive("--depth cannot be used with --reintegrate");
    }
    if inv.has(Opt::Force) {
        return exclusive("--force cannot be used with --reintegrate");
    }
    if two {
        return Err(usage_error("--reintegrate can only be used with a single merge source"));
    }
    if inv.has(Opt::AllowMixedRevisions) {
        return exclusive("--allow-mixed-revisions cannot be used with --reintegrate");
    }
    Ok(())
}

fn merge(
    inv: &Invocation,
    wanted: &MergeArguments,
    target: &str,
    options: &MergeOptions,
) -> SvnResult<()> {
    let ctx = &inv.ctx;
    let verbose = || if inv.has(Opt::Verbose) { inv.out.text("--- Merging\n") } else { Ok(()) };
    if inv.has(Opt::Reintegrate) {
        return merge_reintegrate(ctx, &wanted.left, wanted.left_revision, target, options);
    }
    if !wanted.two {
        let first = inv.opt.range();
        let given = first.start.is_given() || first.end.is_given();
        let ranges = given.then_some(inv.opt.ranges.as_slice());
        verbose()?;
        return merge_peg(ctx, &wanted.left, wanted.left_revision, ranges, target, options);
    }
    if is_url(&wanted.left) != is_url(&wanted.right) {
        return Err(usage_error("Merge sources must both be either paths or URLs"));
    }
    if is_url(target) {
        return Err(usage_error(format!(
            "Merge target '{target}' must be a local path but looks like a URL"
        )));
    }
    verbose()?;
    let sources = TwoSources {
        left: &wanted.left,
        left_revision: wanted.left_revision,
        right: &wanted.right,
        right_revision: wanted.right_revision,
    };
    merge_two(ctx, sources, target, options)
}

/// How `--accept` resolves conflicts between two ranges. A choice that asks the user or runs another program
/// waits until the end.
fn conflict_resolver(inv: &Invocation) -> Option<Rc<Settle>> {
    let choice = match inv.opt.accept? {
        Accept::Base => Some(Choice::Base),
        Accept::Working => Some(Choice::Working),
        Accept::MineConflict => Some(Choice::MineConflict),
        Accept::TheirsConflict => Some(Choice::TheirsConflict),
        Accept::MineFull => Some(Choice::MineFull),
        Accept::TheirsFull => Some(Choice::TheirsFull),
        Accept::Postpone | Accept::Edit | Accept::Launch | Accept::Recommended => None,
    };
    let notifier = Rc::clone(&inv.notifier);
    let here = inv.ctx.here.to_string_lossy().into_owned();
    Some(Rc::new(move |wc: &WorkingCopy, relpath: &RelPath, conflict: &Conflict| {
        let choice = choice?;
        let path = wc.abspath(relpath);
        let shown = display_below(&here, &path.to_string_lossy());
        let mut stats = notifier.stats().borrow_mut();
        for (there, kind) in [
            (conflict.text.is_some(), ConflictKind::Text),
            (conflict.prop.is_some(), ConflictKind::Property),
            (conflict.tree.is_some(), ConflictKind::Tree),
        ] {
            if there {
                stats.resolve(kind, &shown);
            }
        }
        Some(choice)
    }))
}
