//! `svn propedit`.

use sapwood_client::props::{self, Request};
use sapwood_client::{Revision, revprops};
use sapwood_core::paths::UrlBuf;
use sapwood_core::{Depth, ErrorCode, NodeKind, SvnError, SvnResult, path};
use sapwood_wc::props::Change;
use sapwood_wc::props::rules::needs_translation;

use super::options::Opt;
use super::prop_tools::{
    Use, check_boolean, check_spelling, check_valid, display_value, revprop_target,
    warn_of_binary_type,
};
use super::targets::{Arg, local_style};
use super::{Command, Invocation};
use crate::command::usage_error;
use crate::pegs::Part;
use crate::remote::editor::{self, Edit};
use crate::remote::revprops::translated;

pub(super) const COMMAND: Command = Command {
    name: "propedit",
    aliases: &["pedit", "pe"],
    help: "Edit a property with an external editor.\n\
        usage: 1. propedit PROPNAME TARGET...\n       \
        2. propedit PROPNAME --revprop -r REV [TARGET]\n\
        \n  \
        1. Edit a property of each TARGET, a local path or a URL; of a URL the new value is\n     \
        committed at once.\n\
        \n  \
        2. Edit a property of a revision. TARGET only says in which repository.\n\
        \n  \
        For properties of Subversion itself see 'svn help propset'.\n",
    options: &[
        Opt::Revision,
        Opt::Revprop,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
        Opt::Force,
    ],
    run,
    ..Command::DEFAULT
};

/// Lets the user edit a value; `None` when it was left as it was.
fn edited(
    invocation: &Invocation,
    name: &str,
    value: &[u8],
    base_dir: &str,
) -> SvnResult<Option<Vec<u8>>> {
    let edit = Edit {
        command: invocation.opt.editor_cmd.as_deref(),
        config: invocation.ctx.config(),
        prefix: "svn-prop",
        base_dir: Some(base_dir),
    };
    let before = display_value(name, value)?;
    let (edited, file) =
        editor::edit(&edit, &before).map_err(|failed| failed.keep(&before, "property value"))?;
    let _ = std::fs::remove_file(file);
    match edited {
        Some(text) if needs_translation(name) => translated(
            &text,
            invocation.opt.encoding.as_deref(),
            "Error normalizing edited contents to internal format",
        )
        .map(Some),
        other => Ok(other),
    }
}

fn of_revision(invocation: &Invocation, name: &str, targets: &[Arg]) -> SvnResult<()> {
    let (url, revision) = revprop_target(invocation, targets)?;
    let ctx = &invocation.ctx;
    let (old, number) = revprops::get(ctx, &url, name, revision)?;
    let dir = std::env::temp_dir();
    let value = old.as_deref().unwrap_or(b"");
    let Some(new) = edited(invocation, name, value, &dir.to_string_lossy())? else {
        return invocation
            .out
            .text(&format!("No changes to property '{name}' on revision {number}\n"));
    };
    let change = revprops::Change {
        name,
        value: Some(&new),
        expected: Some(old.as_deref()),
        force: invocation.has(Opt::Force),
    };
    let number = revprops::set(ctx, &url, revision, &change)?;
    invocation.out.text(&format!("Set new value for property '{name}' on revision {number}\n"))
}

fn of_target(invocation: &mut Invocation, name: &str, target: &str) -> SvnResult<()> {
    let is_url = sapwood_client::target::is_url(target);
    let request = Request {
        target,
        peg: Revision::Unspecified,
        revision: Revision::Unspecified,
        depth: Depth::Empty,
        changelists: &[],
        inherited: false,
        name: Some(name),
    };
    let mut old = Vec::new();
    let base = props::list(&invocation.ctx, &request, &mut |found| {
        if let Some(value) = found.props.as_ref().and_then(|props| props.get(name)) {
            old = value.to_vec();
        }
        Ok(())
    })?;
    let mut base_dir = ".";
    if !is_url {
        let opt = &invocation.opt;
        if opt.message.is_some() || opt.file_data.is_some() || opt.revprops.is_some() {
            return Err(super::invocation::local_operation_has_no_message());
        }
        let node = sapwood_client::working::Node::find(&invocation.ctx, target)?;
        base_dir = match node.kind()? {
            NodeKind::File => path::dirname(target),
            NodeKind::Dir => target,
        };
    }
    let shown = local_style(target).to_owned();
    let new = edited(invocation, name, &old, local_style(base_dir))?.filter(|new| *new != old);
    let Some(new) = new else {
        return invocation.out.text(&format!("No changes to property '{name}' on '{shown}'\n"));
    };
    check_boolean(&invocation.out, name, &new);
    let force = invocation.has(Opt::Force);
    let change = Change { name, value: Some(&new), force };
    let set = format!("Set new value for property '{name}' on '{shown}'\n");
    if is_url {
        invocation.ask_for_message(None)?;
        invocation.always_notify_commits(set);
        let base = base.ok_or_else(|| {
            usage_error("Setting property on non-local targets needs a base revision")
        })?;
        let revprops = invocation.opt.revprops();
        let done = props::set_remote(
            &invocation.ctx,
            change,
            &UrlBuf::canonicalize(target)?,
            base,
            &revprops,
        );
        return invocation.end_of_commit(done);
    }
    let paths = [target.to_owned()];
    warn_of_binary_type(invocation, name, &old, &paths);
    props::set_local(&invocation.ctx, change, &paths, Depth::Empty, &[])?;
    invocation.out.text(&set)
}

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let name = invocation.next_arg()?;
    check_valid(&name)?;
    let revprop = invocation.has(Opt::Revprop);
    if !invocation.has(Opt::Force) {
        check_spelling(&name, revprop, Use::Edit)?;
    }
    if invocation.opt.encoding.is_some() && !needs_translation(&name) {
        return Err(super::propset::encoding_is_for_text());
    }
    let mut targets = invocation.targets()?;
    // This function reports what happens, and the operations do not.
    invocation.ctx.notify = None;
    if revprop {
        if targets.is_empty() {
            targets.push(Arg::here());
        }
        return of_revision(invocation, &name, &targets);
    }
    if invocation.opt.revision().is_given() {
        return Err(usage_error(format!(
            "Cannot specify revision for editing versioned property '{name}'"
        )));
    }
    if targets.is_empty() {
        return Err(SvnError::new(
            ErrorCode::CL_INSUFFICIENT_ARGS,
            "Explicit target argument required",
        ));
    }
    for path in invocation.names(Part::Target, &targets)? {
        invocation.ctx.check_cancel()?;
        of_target(invocation, &name, &path)?;
    }
    Ok(())
}
