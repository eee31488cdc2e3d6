//! Options that do not go together, or not with a subcommand.
//!
//! Invariant: they are refused before anything is opened.

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::given::{Accept, Options};
use super::options::Opt;
use super::{Command, Revisions};
use crate::command::usage_error;
use crate::remote;

/// Checks options that do not go together.
pub(super) fn check_together(command: &Command, opt: &Options) -> SvnResult<()> {
    let exclusive = |text: &str| Err(usage_error(text));
    if command.revisions != Revisions::Ranges && opt.ranges.len() > 1 {
        return exclusive(
            "Multiple revision arguments encountered; can't specify -c twice, or both -c and -r",
        );
    }
    if opt.depth.is_some() && opt.set_depth.is_some() {
        return exclusive("--depth and --set-depth are mutually exclusive");
    }
    if opt.has(Opt::WithAllRevprops) && opt.has(Opt::WithNoRevprops) {
        return exclusive("--with-all-revprops and --with-no-revprops are mutually exclusive");
    }
    if opt.revprops.is_some() && opt.has(Opt::WithNoRevprops) {
        return exclusive("--with-revprop and --with-no-revprops are mutually exclusive");
    }
    if opt.file_data.is_some() && opt.message.is_some() && command.name != "propset" {
        return exclusive("--message (-m) and --file (-F) are mutually exclusive");
    }
    remote::check(&opt.session, opt.non_interactive)?;
    if opt.diff_cmd.is_some() && opt.has(Opt::InternalDiff) {
        return exclusive("--diff-cmd and --internal-diff are mutually exclusive");
    }
    Ok(())
}

/// Checks options that need the subcommand to be understood.
pub(super) fn check_alone(command: &Command, opt: &mut Options) -> SvnResult<()> {
    if opt.has(Opt::Relocate) {
        let with = if opt.depth.is_some() {
            Some("--depth")
        } else if opt.has(Opt::NonRecursive) {
            Some("--non-recursive (-N)")
        } else {
            None
        };
        if let Some(with) = with {
            return Err(SvnError::new(
                ErrorCode::CL_MUTUALLY_EXCLUSIVE_ARGS,
                format!("--relocate and {with} are mutually exclusive"),
            ));
        }
    }
    if command.revisions == Revisions::One && opt.range().end.is_given() {
        return Err(SvnError::new(ErrorCode::CLIENT_REVISION_RANGE, ""));
    }
    if opt.has(Opt::NonRecursive) {
        opt.depth = Some(command.non_recursive);
    }
    Ok(())
}

/// The default for conflicts without `--accept`.
pub(super) fn choose_conflicts(
    command: &Command,
    opt: &mut Options,
    interactive: bool,
) -> SvnResult<()> {
    if opt.non_interactive {
        let asks = match opt.accept {
            Some(Accept::Edit) => Some("edit"),
            Some(Accept::Launch) => Some("launch"),
            _ => None,
        };
        if let Some(word) = asks {
            return Err(usage_error(format!(
                "--accept={word} incompatible with --non-interactive"
            )));
        }
        opt.accept.get_or_insert(Accept::Recommended);
    }
    if !interactive {
        if command.name == "resolve" {
            opt.non_interactive = true;
        }
        opt.accept.get_or_insert(Accept::Postpone);
    }
    Ok(())
}
