//! `svn diff`.

use std::borrow::Cow;
use std::io::Write;
use std::process::{Command as Process, Stdio};

use sapwood_client::diff::sides::Text;
use sapwood_client::diff::summary::{Kind, Summary};
use sapwood_client::diff::writer::{ExternalDiff, Style};
use sapwood_client::diff::{Request, Sink, diff};
use sapwood_client::target::is_url;
use sapwood_client::{Range, Revision, Target};
use sapwood_core::{Depth, ErrorCode, NodeKind, SvnError, SvnResult, path, uri};

use super::options::Opt;
use super::out::Out;
use super::targets::{Arg, check_one_kind, local_style, one};
use super::{Command, Invocation, Revisions, colour, xml_out};
use crate::command::usage_error;
use crate::pegs::Part;
use crate::xml::{self, Tag};
use crate::{locale, report};

pub(super) const COMMAND: Command = Command {
    name: "diff",
    aliases: &["di"],
    help: "Display local changes or differences between two revisions or paths.\n\
        usage: 1. diff\n       \
        2. diff [-c M | -r N[:M]] [TARGET[@REV]...]\n       \
        3. diff [-r N[:M]] --old=OLD-TGT[@OLDREV] [--new=NEW-TGT[@NEWREV]] \\\n               \
        [PATH...]\n       \
        4. diff OLD-URL[@OLDREV] NEW-URL[@NEWREV]\n       \
        5. diff OLD-URL[@OLDREV] NEW-PATH[@NEWREV]\n       \
        6. diff OLD-PATH[@OLDREV] NEW-URL[@NEWREV]\n\
        \n  \
        1. Show what was changed locally at and below the current folder.\n\
        \n  \
        2. The same of each TARGET; with -r what changed from revision N to M, or to the working copy; with\n     \
        -c what revision M changed.\n\
        \n  \
        3. Compare OLD-TGT with NEW-TGT. PATHs are below both of them. Without --new they are the same;\n     \
        revisions say what is compared.\n\
        \n  \
        4. Short for --old=OLD-URL[@OLDREV] --new=NEW-URL[@NEWREV].\n\
        \n  \
        5. and 6. The same where one side is a local path.\n\
        \n  \
        Without -r, a local path is compared as it was checked out with how it is now, a URL in its\n  \
        youngest revision. With --summarize only what differs is listed; the letters are those of\n  \
        'svn status'.\n",
    options: &[
        Opt::Revision,
        Opt::Change,
        Opt::Old,
        Opt::New,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::DiffCmd,
        Opt::InternalDiff,
        Opt::Extensions,
        Opt::NoDiffAdded,
        Opt::NoDiffDeleted,
        Opt::IgnoreProperties,
        Opt::PropertiesOnly,
        Opt::ShowCopiesAsAdds,
        Opt::NoticeAncestry,
        Opt::Summarize,
        Opt::Changelist,
        Opt::Force,
        Opt::Xml,
        Opt::Git,
        Opt::PatchCompatible,
    ],
    overrides: &[(Opt::NonRecursive, "old form of --depth=files")],
    revisions: Revisions::Range,
    run,
    ..Command::DEFAULT
};

/// The sides to compare, before the single paths.
struct Plan {
    old: String,
    new: String,
    range: Range,
    paths: Vec<Arg>,
    /// Whether paths have a history that is followed.
    pegged: bool,
}

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    check_summary(invocation)?;
    let plan = plan(invocation)?;
    let xml = invocation.has(Opt::Xml);
    if xml {
        xml_out::header(&invocation.out, "diff")?;
        let mut text = String::new();
        xml::open(&mut text, "paths", Tag::Normal, &[]);
        invocation.out.bytes(text.as_bytes())?;
    }
    let of_working_copy = (plan.range.start, plan.range.end) == (Revision::Base, Revision::Working)
        && plan.old.is_empty()
        && plan.new.is_empty();
    let asks = !of_working_copy || plan.paths.iter().any(Arg::asks);
    let inv = &*invocation;
    inv.each_target(&plan.paths, asks, &mut |arg| one_path(inv, &plan, arg))?;
    if xml {
        let mut text = String::new();
        xml::close(&mut text, "paths");
        invocation.out.bytes(text.as_bytes())?;
        xml_out::footer(&invocation.out, "diff")?;
    }
    Ok(())
}

/// Options that make no sense with a summary, or only with one.
fn check_summary(invocation: &Invocation) -> SvnResult<()> {
    if !invocation.has(Opt::Summarize) {
        if invocation.has(Opt::Xml) {
            return Err(usage_error("'--xml' option only valid with '--summarize' option"));
        }
        return Ok(());
    }
    for (opt, name) in [
        (Opt::Git, "--git"),
        (Opt::PatchCompatible, "--patch-compatible"),
        (Opt::ShowCopiesAsAdds, "--show-copies-as-adds"),
        (Opt::InternalDiff, "--internal-diff"),
        (Opt::DiffCmd, "--diff-cmd"),
        (Opt::NoDiffAdded, "--no-diff-added"),
        (Opt::NoDiffDeleted, "--no-diff-deleted"),
        (Opt::Force, "--force"),
    ] {
        if invocation.has(opt) {
            return Err(usage_error(format!("'{name}' not valid with '--summarize' option")));
        }
    }
    Ok(())
}

fn default_revision(path: &str) -> Revision {
    if is_url(path) { Revision::Head } else { Revision::Working }
}

fn plan(invocation: &mut Invocation) -> SvnResult<Plan> {
    let mut targets = invocation.targets()?;
    let mut range = invocation.opt.range();
    let given = range.start.is_given() || range.end.is_given();
    let (old, new) = (invocation.opt.old.clone(), invocation.opt.new.clone());
    let shorthand =
        targets.len() == 2 && targets.iter().any(Arg::is_url) && !given && old.is_none();
    let mut plan =
        Plan { old: String::new(), new: String::new(), range, paths: Vec::new(), pegged: false };
    if shorthand && new.is_none() {
        let sides = std::mem::take(&mut targets);
        let mut sides = sides.iter().map(|arg| invocation.target(Part::Target, arg));
        if let (Some(first), Some(second)) = (sides.next(), sides.next()) {
            let (first, second) = (first?, second?);
            plan.range.start = first.peg.or(default_revision(&first.text));
            plan.range.end = second.peg.or(default_revision(&second.text));
            (plan.old, plan.new) = (first.text, second.text);
        }
    } else if let Some(old) = old {
        let first = named(invocation, &old)?;
        let explicit = new.is_some();
        let second = named(invocation, new.as_ref().unwrap_or(&old))?;
        range.start = first.peg.or(range.start);
        range.end = second.peg.or(range.end);
        let start = match (is_url(&first.text), explicit) {
            (true, _) => Revision::Head,
            (false, true) => Revision::Working,
            (false, false) => Revision::Base,
        };
        plan.range.start = range.start.or(start);
        plan.range.end = range.end.or(default_revision(&second.text));
        (plan.old, plan.new) = (first.text, second.text);
    } else if new.is_some() {
        return Err(usage_error("'--new' option only valid with '--old' option"));
    } else {
        if targets.is_empty() {
            targets.push(Arg::here());
        }
        check_one_kind(&targets).map_err(|e| {
            e.context(
                "'svn diff [-r N[:M]] [TARGET[@REV]...]' does not support mixed target types. Try \
                 using the --old and --new options or one of the shorthand invocations listed in \
                 'svn help diff'.",
            )
        })?;
        let local = targets.first().is_some_and(|arg| !arg.is_url());
        if local {
            plan.range.start = range.start.or(Revision::Base);
        }
        plan.range.end = range.end.or(if local { Revision::Working } else { Revision::Head });
        let is_local = |r| matches!(r, Revision::Base | Revision::Working);
        plan.pegged = !is_local(plan.range.start) || !is_local(plan.range.end);
    }
    if targets.is_empty() {
        targets.push(Arg::here());
    }
    plan.paths = targets;
    Ok(plan)
}

/// The value of `--old` or `--new`, which may begin with `^/`.
fn named(invocation: &mut Invocation, word: &str) -> SvnResult<Target> {
    if !word.starts_with("^/") {
        return invocation.target(Part::Target, &one(word)?);
    }
    let kept = invocation.opt.targets.take();
    invocation.args.push_back(word.into());
    let found = invocation.targets();
    invocation.opt.targets = kept;
    let found = found?.pop();
    let found = found.ok_or_else(|| SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, ""))?;
    invocation.target(Part::Target, &found)
}

fn below(base: &str, at: &str) -> String {
    if is_url(base) { uri::join(base, at) } else { path::join(base, at) }
}

fn one_path(invocation: &Invocation, plan: &Plan, arg: &Arg) -> SvnResult<()> {
    let (old, new, peg) = if plan.pegged {
        let target = invocation.target(Part::Target, arg)?;
        let peg = target.peg.or(default_revision(&target.text));
        (target.text.clone(), target.text, peg)
    } else {
        if arg.is_url() {
            return Err(usage_error(format!("Path '{}' not relative to base URLs", arg.text())));
        }
        let path = invocation.name(Part::Below, arg)?;
        (below(&plan.old, &path), below(&plan.new, &path), Revision::Unspecified)
    };
    let shows_copies =
        invocation.has(Opt::PatchCompatible) || invocation.has(Opt::ShowCopiesAsAdds);
    let ignore_props =
        invocation.has(Opt::PatchCompatible) || invocation.has(Opt::IgnoreProperties);
    let git = invocation.has(Opt::Git);
    let request = Request {
        old: &old,
        old_revision: plan.range.start,
        new: &new,
        new_revision: plan.range.end,
        peg,
        depth: invocation.opt.depth_or(Depth::Infinity),
        ignore_ancestry: !invocation.has(Opt::NoticeAncestry) && !shows_copies && !git,
        changelists: &invocation.opt.changelists,
    };
    if invocation.has(Opt::Summarize) {
        let out = invocation.out.clone();
        let xml = invocation.has(Opt::Xml);
        return diff(
            &invocation.ctx,
            &request,
            Sink::Summary(&mut |summary| summarize(&out, &old, ignore_props, xml, summary)),
        );
    }
    let method = Method::of(invocation);
    let external = method.external();
    let config = invocation.ctx.config();
    let style = Style {
        no_added: invocation.has(Opt::NoDiffAdded),
        no_deleted: invocation.has(Opt::NoDiffDeleted),
        copies_as_adds: shows_copies,
        force_binary: invocation.has(Opt::Force)
            || config.get_bool("miscellany", "diff-ignore-content-type", false)?,
        ignore_props,
        props_only: invocation.has(Opt::PropertiesOnly),
        git,
        ..method.style(&external)?
    };
    let mut sink = invocation.out.clone();
    if !colour::wanted(config)? {
        return diff(&invocation.ctx, &request, Sink::Diff { style, out: &mut sink });
    }
    let mut painter = colour::DiffPainter::new(&mut sink);
    let done = diff(&invocation.ctx, &request, Sink::Diff { style, out: &mut painter });
    let finished = painter.finish().map_err(|e| crate::output::write_error(&e));
    done.and(finished)
}

/// With what texts are compared: ours or another program, and its options.
pub(super) struct Method {
    command: Option<String>,
    words: Vec<String>,
    out: Out,
}

impl Method {
    /// The method that command line and configuration select.
    pub(super) fn of(invocation: &Invocation) -> Self {
        let config = invocation.ctx.config();
        let command = config.get("helpers", "diff-cmd").filter(|c| !c.is_empty());
        let command = command.filter(|_| !invocation.has(Opt::InternalDiff)).map(Cow::into_owned);
        let extensions = match &invocation.opt.extensions {
            Some(given) => Cow::Borrowed(given.as_str()),
            None => config.get("helpers", "diff-extensions").unwrap_or("".into()),
        };
        let words = extensions.split_ascii_whitespace().map(str::to_owned).collect();
        Self { command, words, out: invocation.out.clone() }
    }

    /// The callback that runs the other program.
    pub(super) fn external(
        &self,
    ) -> impl Fn([&str; 2], [&Text; 2], &mut dyn Write) -> SvnResult<()> + '_ {
        move |labels, texts, _| {
            let command = self.command.as_deref();
            let command = command.ok_or_else(|| SvnError::internal("no program was named"))?;
            run_external(&self.out, command, &self.words, labels, texts)
        }
    }

    /// A diff that shows everything. Fails where our comparison does not know an option.
    pub(super) fn style<'a>(&self, external: ExternalDiff<'a>) -> SvnResult<Style<'a>> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        Ok(Style {
            options: match &self.command {
                Some(_) => sapwood_diff::Options::default(),
                None => sapwood_diff::Options::parse(&words)?,
            },
            external: self.command.is_some().then_some(external),
            no_added: false,
            no_deleted: false,
            copies_as_adds: false,
            force_binary: false,
            ignore_props: false,
            props_only: false,
            git: false,
            encode: locale::encode,
        })
    }
}

/// Runs another program on two files; it writes where we write.
fn run_external(
    out: &Out,
    command: &str,
    words: &[String],
    [first, second]: [&str; 2],
    texts: [&Text; 2],
) -> SvnResult<()> {
    out.flush()?;
    let [old, new] = texts;
    let (old, new) = (old.to_file()?, new.to_file()?);
    let mut process = Process::new(command);
    if words.is_empty() {
        process.arg("-u");
    } else {
        process.args(words);
    }
    process.args(["-L", first, "-L", second]).arg(old.path()).arg(new.path()).stdin(Stdio::null());
    let code = match process.stderr(Stdio::piped()).output() {
        Ok(output) => {
            out.bytes(&output.stdout)?;
            report::as_it_is(&String::from_utf8_lossy(&output.stderr));
            output.status.code()
        }
        Err(error) => {
            report::exec_failed(command, &error);
            Some(255)
        }
    };
    match code {
        Some(0 | 1) => Ok(()),
        code => Err(SvnError::new(
            ErrorCode::EXTERNAL_PROGRAM,
            format!("'{command}' returned {}", code.unwrap_or(-1)),
        )),
    }
}

/// Prints one line of a summary.
pub(super) fn summarize(
    out: &Out,
    anchor: &str,
    ignore_props: bool,
    xml: bool,
    summary: &Summary<'_>,
) -> SvnResult<()> {
    if ignore_props && summary.kind == Kind::Normal {
        return Ok(());
    }
    let shown = below(anchor, summary.path);
    let shown = local_style(&shown);
    let props = summary.props && !ignore_props;
    if !xml {
        let letter = match summary.kind {
            Kind::Added => 'A',
            Kind::Modified => 'M',
            Kind::Deleted => 'D',
            Kind::Normal => ' ',
        };
        let mark = if props { 'M' } else { ' ' };
        out.text(&format!("{letter}{mark}      {shown}\n"))?;
        return out.show();
    }
    let item = match summary.kind {
        Kind::Added => "added",
        Kind::Modified => "modified",
        Kind::Deleted => "deleted",
        Kind::Normal => "none",
    };
    let kind = if summary.node_kind == NodeKind::Dir { "dir" } else { "file" };
    let mut text = String::new();
    let props = if props { "modified" } else { "none" };
    xml::open(&mut text, "path", Tag::Text, &[("kind", kind), ("item", item), ("props", props)]);
    xml::escape(&mut text, shown, false);
    xml::close(&mut text, "path");
    out.bytes(text.as_bytes())
}
