//! `svnlook diff`.

use std::io::{self, Read, Write as _};
use std::process::Command;

use sapwood_core::paths::FsPathBuf;
use sapwood_core::props::{is_binary_mime_type, names};
use sapwood_core::{ErrorCode, NodeKind, PropList, Revnum, SvnError, SvnResult, path};
use sapwood_diff::{
    EQUAL_LINE, LargeDiff, LargeText, Options as DiffOptions, props as prop_diff, unified,
    write_header,
};
use sapwood_fs::{Node, Root, Roots};
use sapwood_repos::change_tree::{ChangeAction, ChangeNode, ChangeTree};

use super::{Context, Subject, no_argument};
use crate::command::{Invocation, Runner, Subcommand, name};
use crate::locale;
use crate::output::{Output, write_error};
use crate::signals;

/// The lines of context around changes in properties.
const PROP_CONTEXT: usize = DiffOptions::DEFAULT_CONTEXT;

/// Two texts that together are longer are compared as files; in bytes.
const LARGE: u64 = 8 << 20;

struct Differ<'a> {
    context: &'a Context,
    root: Root,
    out: &'a mut Output,
    extensions: Vec<String>,
    command: Option<String>,
    no_added: bool,
    no_deleted: bool,
    copy_from: bool,
    ignore_properties: bool,
    properties_only: bool,
}

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "diff",
    aliases: &[],
    help: "usage: svnlook diff REPOS_PATH\n\n\
        Print what changed in files and properties, as unified diffs.\n",
    options: &[
        name::REVISION,
        name::TRANSACTION,
        name::NO_DIFF_DELETED,
        name::NO_DIFF_ADDED,
        name::DIFF_COPY_FROM,
        name::DIFF_CMD,
        name::EXTENSIONS,
        name::IGNORE_PROPERTIES,
        name::PROPERTIES_ONLY,
    ],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let context = Context::open(invocation)?;
    let options = &invocation.options;
    let extensions: Vec<String> = options
        .value(name::EXTENSIONS)?
        .unwrap_or_default()
        .split([' ', '\t', '\n', '\r'])
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    let root = context.root()?;
    let Some(base) = context.base()? else { return Ok(()) };
    let tree = ChangeTree::of(&root, base, &signals::cancel_token())?;
    let mut differ = Differ {
        context: &context,
        root,
        command: options.value(name::DIFF_CMD)?,
        extensions,
        no_added: options.has(name::NO_DIFF_ADDED),
        no_deleted: options.has(name::NO_DIFF_DELETED),
        copy_from: options.has(name::DIFF_COPY_FROM),
        ignore_properties: options.has(name::IGNORE_PROPERTIES),
        properties_only: options.has(name::PROPERTIES_ONLY),
        out: &mut invocation.out,
    };
    let mut roots = Roots::new(context.fs());
    let base_root = roots.get(base)?;
    // Each node with its path, and with the tree and path that it is compared with.
    let mut stack = vec![(0_usize, String::new(), base_root, String::new())];
    while let Some((at, path, base_root, base_path)) = stack.pop() {
        signals::check()?;
        let Some(node) = tree.get(at) else { continue };
        let (base_root, base_path) = match &node.copy_from {
            Some((source, revision)) => {
                (roots.get(*revision)?, path::to_relpath(source).to_owned())
            }
            None => (base_root, base_path),
        };
        differ.node(node, &path, &base_root, &base_path)?;
        for child in node.children.iter().rev() {
            let Some(child_node) = tree.get(*child) else { continue };
            stack.push((
                *child,
                path::join(&path, &child_node.name),
                base_root.clone(),
                path::join(&base_path, &child_node.name),
            ));
        }
    }
    Ok(())
}

fn node_at(root: &Root, relpath: &str) -> SvnResult<Node> {
    Ok(root.node(&FsPathBuf::canonicalize(relpath))?)
}

/// A file's text in a temporary file, read as often as it takes; what no file holds is empty.
struct SpooledText {
    file: Option<tempfile::NamedTempFile>,
    len: u64,
}

impl SpooledText {
    fn new(node: Option<&Node>) -> SvnResult<Self> {
        let Some(node) = node else { return Ok(Self { file: None, len: 0 }) };
        let failed = |e: io::Error| SvnError::io(&e, "Can't create temporary file");
        let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
        let len = io::copy(&mut node.contents()?, &mut file).map_err(SvnError::from_stream)?;
        Ok(Self { file: Some(file), len })
    }
}

impl LargeText for SpooledText {
    fn len(&self) -> u64 {
        self.len
    }

    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match &self.file {
            None => Box::new(io::empty()),
            Some(file) => Box::new(file.reopen()?),
        })
    }
}

/// How long a file's text is; what no file holds is empty.
fn length(node: Option<&Node>) -> SvnResult<u64> {
    Ok(node.map_or(Ok(0), Node::length)?)
}

/// What comes before the hunks of a file.
fn head_of(header: &str, (old, new): &(String, String)) -> Vec<u8> {
    let mut lines = Vec::new();
    write_header(&mut lines, old, new);
    [locale::encode(header).as_ref(), &locale::encode_bytes(&lines)].concat()
}

/// All of a file; what no file holds is empty.
fn read_all(node: Option<&Node>) -> SvnResult<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(node) = node {
        let mut contents = node.contents()?;
        contents.read_to_end(&mut bytes).map_err(|e| write_error(&e))?;
    }
    Ok(bytes)
}

impl Differ<'_> {
    fn node(
        &mut self,
        node: &ChangeNode,
        path: &str,
        base_root: &Root,
        base_path: &str,
    ) -> SvnResult<()> {
        let is_copy = node.copy_from.is_some();
        let mut header = match &node.copy_from {
            Some((_, revision)) => {
                format!("Copied: {path} (from rev {revision}, {base_path})\n")
            }
            None => String::new(),
        };
        let mut header_printed = false;
        if node.kind == NodeKind::File {
            // Which texts to compare: the old one, and the new one.
            let sides = match node.action {
                ChangeAction::Opened if node.text_mod => Some((true, true)),
                ChangeAction::Opened => None,
                ChangeAction::Added if self.copy_from && is_copy => {
                    node.text_mod.then_some((true, true))
                }
                ChangeAction::Added => (!self.no_added).then_some((false, true)),
                ChangeAction::Deleted => (!self.no_deleted).then_some((true, false)),
            };
            if header.is_empty() && (node.action != ChangeAction::Opened || node.text_mod) {
                let what = match node.action {
                    ChangeAction::Added => "Added",
                    ChangeAction::Deleted => "Deleted",
                    ChangeAction::Opened => "Modified",
                };
                header = format!("{what}: {path}\n");
            }
            if let Some((with_old, with_new)) = sides {
                let old = with_old.then(|| node_at(base_root, base_path)).transpose()?;
                let new = with_new.then(|| node_at(&self.root, path)).transpose()?;
                if !self.properties_only {
                    header.push_str(EQUAL_LINE);
                    header.push('\n');
                    header_printed =
                        self.text(node, path, base_root, base_path, old, new, &header)?;
                }
            }
        }
        if node.prop_mod && node.action != ChangeAction::Deleted && !self.ignore_properties {
            self.properties(node, path, base_root, base_path, header_printed)?;
        }
        Ok(())
    }

    /// Prints the difference of two texts. Says whether the lines that name the files were printed.
    #[allow(clippy::too_many_arguments, reason = "two sides, each with its tree and path")]
    fn text(
        &mut self,
        node: &ChangeNode,
        path: &str,
        base_root: &Root,
        base_path: &str,
        old: Option<Node>,
        new: Option<Node>,
        header: &str,
    ) -> SvnResult<bool> {
        for side in [&old, &new].into_iter().flatten() {
            if side.props()?.get(names::MIME_TYPE).is_some_and(is_binary_mime_type) {
                self.out.text(&format!("{header}(Binary files differ)\n\n"))?;
                return Ok(false);
            }
        }
        let of_old = if old.is_some() { (Some(base_root), base_path) } else { (None, path) };
        let labels = || -> SvnResult<(String, String)> {
            Ok((self.label(of_old.0, of_old.1)?, self.label(Some(&self.root), path)?))
        };
        if let Some(command) = self.command.clone() {
            let (old_label, new_label) = labels()?;
            let (old_text, new_text) = (read_all(old.as_ref())?, read_all(new.as_ref())?);
            self.out.text(header)?;
            self.external(&command, &old_label, &new_label, &old_text, &new_text)?;
            self.out.text("\n")?;
            return Ok(true);
        }
        let options = DiffOptions::parse(&self.extensions)?;
        let head = || Ok::<_, SvnError>(head_of(header, &labels()?));
        let together = length(old.as_ref())?.saturating_add(length(new.as_ref())?);
        let differs = if together > LARGE {
            let head = head()?;
            let [old, new] = &[SpooledText::new(old.as_ref())?, SpooledText::new(new.as_ref())?];
            let diff = LargeDiff::new(options, old, new).map_err(|e| write_error(&e))?;
            if diff.has_changes() {
                self.out.bytes(&head)?;
                diff.write(self.out).map_err(|e| write_error(&e))?;
            }
            diff.has_changes()
        } else {
            let mut hunks = Vec::new();
            let (old_text, new_text) = (read_all(old.as_ref())?, read_all(new.as_ref())?);
            let differs = unified(&options, &old_text, &new_text, &mut hunks);
            if differs {
                self.out.bytes(&head()?)?;
                self.out.bytes(&hunks)?;
            }
            differs
        };
        if differs {
            self.out.text("\n")?;
            return Ok(true);
        }
        if self.reports_empty(node) {
            self.out.text(header)?;
        }
        Ok(false)
    }

    /// Whether an empty file was added or deleted: there is nothing to compare, but something to report.
    fn reports_empty(&self, node: &ChangeNode) -> bool {
        let is_reported = match node.action {
            ChangeAction::Added => !self.no_added,
            ChangeAction::Deleted => !self.no_deleted,
            ChangeAction::Opened => false,
        };
        is_reported && !node.prop_mod
    }

    fn file_lines(&mut self, old_label: &str, new_label: &str) -> SvnResult<()> {
        let mut lines = Vec::new();
        write_header(&mut lines, old_label, new_label);
        self.out.bytes(&locale::encode_bytes(&lines))
    }

    /// The label of one side: path, date, and revision or transaction. Revision 0 for no tree.
    fn label(&self, root: Option<&Root>, path: &str) -> SvnResult<String> {
        let fs = self.context.fs();
        let (date, what) = match root {
            None => (None, "rev 0".to_owned()),
            Some(root) => match (root.revision(), &self.context.subject) {
                (Some(revision), _) => {
                    (date_of(&*fs.revprops(revision)?), format!("rev {revision}"))
                }
                (None, Subject::Transaction(name)) => {
                    (date_of(&fs.txn_props(name)?), format!("txn {name}"))
                }
                (None, Subject::Revision(_)) => (None, format!("rev {}", Revnum::ZERO)),
            },
        };
        let date = date.unwrap_or_else(|| " ".repeat(23));
        Ok(format!("{path}\t{date} ({what})"))
    }

    fn properties(
        &mut self,
        node: &ChangeNode,
        path: &str,
        base_root: &Root,
        base_path: &str,
        header_printed: bool,
    ) -> SvnResult<()> {
        let new = node_at(&self.root, path)?.props()?;
        let is_copy = node.copy_from.is_some();
        let old = if node.action == ChangeAction::Added && !(self.copy_from && is_copy) {
            PropList::new()
        } else {
            (*node_at(base_root, base_path)?.props()?).clone()
        };
        let (old, new) = (regular(&old), regular(&new));
        if old == new {
            return Ok(());
        }
        if !header_printed {
            let old_label = self.label(Some(base_root), base_path)?;
            let new_label = self.label(Some(&self.root), path)?;
            self.out.text(&format!("Index: {path}\n{EQUAL_LINE}\n"))?;
            self.file_lines(&old_label, &new_label)?;
        }
        let mut text = Vec::new();
        prop_diff::write_heading(&mut text, path);
        self.out.bytes(&locale::encode_bytes(&text))?;
        text.clear();
        prop_diff::write_changes(&mut text, &old, &new, false, PROP_CONTEXT);
        self.out.bytes(&text)
    }

    /// Runs a comparison program of the user's choice.
    fn external(
        &mut self,
        command: &str,
        old_label: &str,
        new_label: &str,
        old: &[u8],
        new: &[u8],
    ) -> SvnResult<()> {
        let file = |bytes: &[u8]| -> std::io::Result<tempfile::NamedTempFile> {
            let mut file = tempfile::Builder::new().prefix("svn-").suffix(".tmp").tempfile()?;
            file.write_all(bytes)?;
            Ok(file)
        };
        let failed = |e: std::io::Error| SvnError::io(&e, "Can't create temporary file");
        let (old, new) = (file(old).map_err(failed)?, file(new).map_err(failed)?);
        self.out.flush()?;
        let mut child = Command::new(command);
        if self.extensions.is_empty() {
            child.arg("-u");
        } else {
            child.args(&self.extensions);
        }
        child.args(["-L", old_label, "-L", new_label]).arg(old.path()).arg(new.path());
        let code = match child.status() {
            Ok(status) => status.code(),
            Err(e) => {
                crate::report::exec_failed(command, &e);
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
}

/// A date as labels show it.
fn date_of(props: &PropList) -> Option<String> {
    let date = props.get_str(names::DATE)?;
    let day = date.get(..10).unwrap_or(date);
    let time = date.get(11..).map_or("", |t| t.get(..8).unwrap_or(t));
    Some(format!("{day} {time} UTC"))
}

/// Without what belongs to working copies and entries.
fn regular(props: &PropList) -> PropList {
    props
        .iter()
        .filter(|(name, _)| !name.starts_with("svn:entry:") && !name.starts_with("svn:wc:"))
        .map(|(name, value)| (name.to_owned(), value.to_vec()))
        .collect()
}
