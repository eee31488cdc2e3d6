//! `svnlook tree`.

use sapwood_core::exact::Exact;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, NodeKind, SvnError, SvnResult, path};
use sapwood_fs::{Directory, Node};

use super::{Context, maybe_argument};
use crate::command::{Invocation, Runner, Subcommand, name};
use crate::output::Output;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "tree",
    aliases: &[],
    help: "usage: svnlook tree REPOS_PATH [PATH_IN_REPOS]\n\n\
        Print all that is in a directory (the root) and below it.\n",
    options: &[
        name::REVISION,
        name::TRANSACTION,
        name::NON_RECURSIVE,
        name::SHOW_IDS,
        name::FULL_PATHS,
        name::MEMORY_CACHE_SIZE,
    ],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let arg = maybe_argument(invocation)?.unwrap_or_default();
    let context = Context::open(invocation)?;
    let options = &invocation.options;
    let printer = TreePrinter {
        show_ids: options.has(name::SHOW_IDS),
        full_paths: options.has(name::FULL_PATHS),
        recurse: !options.has(name::NON_RECURSIVE),
    };
    let root = context.root()?;
    let top = root.node(&FsPathBuf::canonicalize(&arg))?;
    // Directories that are being printed, each with its entries and the place of the next one.
    let mut stack: Vec<(Node, Directory, String, usize)> = Vec::new();
    // In a damaged repository a directory may be inside of itself.
    let mut inside = std::collections::HashSet::from([top.id()]);
    printer.line(&mut invocation.out, (top.kind(), Some(&top)), &arg, 0)?;
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
        *next = next.plus(1);
        let child_path = path::join(dir_path, entry.name);
        // The listing says enough of most nodes.
        let into = entry.kind == NodeKind::Dir && printer.recurse;
        let child = if into || printer.show_ids { Some(dir.child_of(&entry)?) } else { None };
        let kind = entry.kind;
        let depth = stack.len();
        printer.line(&mut invocation.out, (kind, child.as_ref()), &child_path, depth)?;
        if let Some(child) = child.filter(|_| into) {
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
    /// Prints the line of a node; without its name in the filesystem where that is not wanted.
    fn line(
        &self,
        out: &mut Output,
        (kind, node): (NodeKind, Option<&Node>),
        path: &str,
        depth: usize,
    ) -> SvnResult<()> {
        let mut line = String::new();
        if !self.full_paths {
            line.extend(std::iter::repeat_n(' ', depth));
        }
        let name = if self.full_paths { path } else { path::basename(path) };
        let name = if name.is_empty() { "/" } else { name };
        line.push_str(name);
        if kind == NodeKind::Dir && name != "/" {
            line.push('/');
        }
        if let Some(node) = node.filter(|_| self.show_ids) {
            line.push_str(&format!(" <{}>", node.id()));
        }
        line.push('\n');
        out.text(&line)
    }
}
