//! `svnlook cat`, `filesize`, `tree`, `history`, `lock`, `uuid` and `youngest`.

use std::sync::Arc;

use sapwood_core::{ErrorCode, NodeKind, Revnum, SvnError, SvnResult, path};
use sapwood_fs::{Directory, Error, Node};

use super::{Context, Subject, existing_file, maybe_argument, no_argument, one_argument};
use crate::command::Invocation;
use crate::output::Output;

/// How much of a file is read at once, in bytes.
const BUFFER: usize = 128 << 10;

/// `svnlook cat`.
pub(super) fn cat(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let arg = one_argument(invocation)?;
    let context = Context::open(invocation)?;
    let node = existing_file(&context.root()?, &arg)?;
    let mut contents = node.contents()?;
    let mut buffer = vec![0; BUFFER];
    loop {
        let len = contents.read_some(&mut buffer)?;
        let Some(bytes) = buffer.get(..len).filter(|b| !b.is_empty()) else {
            return invocation.out.end_stream();
        };
        invocation.out.stream(bytes)?;
    }
}

/// `svnlook filesize`.
pub(super) fn filesize(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let arg = one_argument(invocation)?;
    let context = Context::open(invocation)?;
    let length = existing_file(&context.root()?, &arg)?.length()?;
    invocation.out.text(&format!("{length}\n"))
}

/// `svnlook uuid`.
pub(super) fn uuid(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let uuid = Context::open(invocation)?.fs().uuid()?;
    invocation.out.text(&format!("{uuid}\n"))
}

/// `svnlook youngest`.
pub(super) fn youngest(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let youngest = Context::open(invocation)?.fs().youngest()?;
    let end = if invocation.options.has("no-newline") { "" } else { "\n" };
    invocation.out.text(&format!("{youngest}{end}"))
}

/// `svnlook lock`.
pub(super) fn lock(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let arg = one_argument(invocation)?;
    let context = Context::open(invocation)?;
    if let Some(lock) = context.fs().lock(&path::canonical_fspath(&arg))? {
        invocation.out.text(&crate::svnadmin::lslocks::describe(&lock))?;
    }
    Ok(())
}

/// `svnlook history`.
pub(super) fn history(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let arg = maybe_argument(invocation)?.unwrap_or_else(|| "/".to_owned());
    let context = Context::open(invocation)?;
    let show_ids = invocation.options.has("show-ids");
    // A limit below zero is none, as ever.
    let limit = invocation
        .options
        .value("limit")?
        .and_then(|text| super::parse_long(&text))
        .and_then(|limit| u64::try_from(limit).ok())
        .unwrap_or(u64::MAX);
    let out = &mut invocation.out;
    out.text(if show_ids {
        "REVISION   PATH <ID>\n--------   ---------\n"
    } else {
        "REVISION   PATH\n--------   ----\n"
    })?;
    let Subject::Revision(revision) = context.subject else { return Ok(()) };
    let fs = context.fs();
    let history = fs.revision_root(revision)?.history(&path::canonical_fspath(&arg));
    let mut history = history.map_err(|error| match error {
        // The path as it was given, as the reference has it.
        Error::NotFound { place, .. } => Error::NotFound { place, path: arg.clone() },
        other => other,
    })?;
    let mut count = 0_u64;
    while count < limit {
        let Some((path, revision)) = history.previous(true)? else { break };
        count = count.saturating_add(1);
        out.text(&history_line(&context, &path, revision, show_ids)?)?;
    }
    Ok(())
}

fn history_line(
    context: &Context,
    path: &str,
    revision: Revnum,
    show_ids: bool,
) -> SvnResult<String> {
    let revision_text = revision.to_string();
    if !show_ids {
        return Ok(format!("{revision_text:>8}   {path}\n"));
    }
    let id = context.fs().revision_root(revision)?.node(path)?.id();
    Ok(format!("{revision_text:>8}   {path} <{id}>\n"))
}

/// `svnlook tree`.
pub(super) fn tree(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let arg = maybe_argument(invocation)?.unwrap_or_default();
    let context = Context::open(invocation)?;
    let options = &invocation.options;
    let printer = TreePrinter {
        show_ids: options.has("show-ids"),
        full_paths: options.has("full-paths"),
        recurse: !options.has("non-recursive"),
    };
    let root = context.root()?;
    let top = root.node(&path::canonical_fspath(&arg))?;
    // Directories that are being printed, each with its entries and the place of the next one.
    let mut stack: Vec<(Node, Arc<Directory>, String, usize)> = Vec::new();
    // In a damaged repository a directory may be inside of itself.
    let mut inside = std::collections::HashSet::from([top.id()]);
    printer.line(&mut invocation.out, &top, &arg, 0)?;
    if top.kind() == NodeKind::Dir {
        let entries = top.entries()?;
        stack.push((top, entries, arg, 0));
    }
    while let Some((dir, entries, dir_path, next)) = stack.last_mut() {
        crate::signals::check()?;
        let Some(entry) = entries.get(*next) else {
            inside.remove(&dir.id());
            stack.pop();
            continue;
        };
        *next = next.saturating_add(1);
        let child = dir.child_of(&entry)?;
        let child_path = path::join(dir_path, entry.name);
        let depth = stack.len();
        printer.line(&mut invocation.out, &child, &child_path, depth)?;
        if child.kind() == NodeKind::Dir && printer.recurse {
            if !inside.insert(child.id()) {
                let id = child.id();
                let message = format!("Node is its own direct or indirect parent '{id}'");
                return Err(SvnError::new(ErrorCode::FS_CORRUPT, message));
            }
            let entries = child.entries()?;
            stack.push((child, entries, child_path, 0));
        }
    }
    Ok(())
}

struct TreePrinter {
    show_ids: bool,
    full_paths: bool,
    recurse: bool,
}

impl TreePrinter {
    fn line(&self, out: &mut Output, node: &Node, path: &str, depth: usize) -> SvnResult<()> {
        let mut line = String::new();
        if !self.full_paths {
            line.extend(std::iter::repeat_n(' ', depth));
        }
        let name = if self.full_paths { path } else { path::basename(path) };
        let name = if name.is_empty() { "/" } else { name };
        line.push_str(name);
        if node.kind() == NodeKind::Dir && name != "/" {
            line.push('/');
        }
        if self.show_ids {
            line.push_str(&format!(" <{}>", node.id()));
        }
        line.push('\n');
        out.text(&line)
    }
}
