//! `svn status`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use sapwood_client::revision::Revision;
use sapwood_client::status::{StatusItem, StatusOptions, join_shown, status};
use sapwood_client::tree_conflict;
use sapwood_core::config::Config;
use sapwood_core::date::Timestamp;
use sapwood_core::exact::Exact;
use sapwood_core::hashorder;
use sapwood_core::{Depth, ErrorCode, Revnum, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::status::{LockInfo, State, Status};

use super::options::Opt;
use super::out::Out;
use super::targets::{check_all_local, local_style};
use super::{Command, Invocation, colour, xml_out};
use crate::command::usage_error;
use crate::pegs::Part;
use crate::xml::{self, Tag};

pub(super) const COMMAND: Command = Command {
    name: "status",
    aliases: &["stat", "st"],
    help: "Print the status of working copy files and directories.\n\
        usage: status [PATH...]\n\
        \n\
        \x20 Without arguments only what differs from the last update is shown, and no server is\n\
        \x20 asked. -q leaves out what is not versioned, -v shows every node with its revisions,\n\
        \x20 -u asks the server what is newer there and which paths are locked.\n\
        \n\
        \x20 A line has seven columns of one letter each, and the path:\n\
        \x20   1  what became of the item: ' ' nothing, 'A' added, 'C' in conflict, 'D' deleted,\n\
        \x20      'I' ignored, 'M' modified, 'R' replaced, 'X' from an external definition,\n\
        \x20      '?' not versioned, '!' missing or incomplete, '~' another kind is in its place\n\
        \x20   2  its properties: ' ', 'C' or 'M'\n\
        \x20   3  'L' if the working copy is locked there (see 'svn cleanup')\n\
        \x20   4  '+' if a commit will carry history along\n\
        \x20   5  'S' if it is switched, 'X' for a file from an external definition\n\
        \x20   6  locks: 'K' held here; with -u also 'O' held elsewhere, 'T' stolen, 'B' broken\n\
        \x20   7  'C' if it is the victim of a tree conflict\n\
        \x20 With -u or -v a '*' follows where the server has something newer, then the revision;\n\
        \x20 with -v also the revision and author of the last change.\n",
    options: &[
        Opt::ShowUpdates,
        Opt::Verbose,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::Revision,
        Opt::Quiet,
        Opt::NoIgnore,
        Opt::Incremental,
        Opt::Xml,
        Opt::IgnoreExternals,
        Opt::Changelist,
    ],
    overrides: &[
        (Opt::NonRecursive, "old form of --depth=immediates"),
        (Opt::Quiet, "leave unversioned files out"),
    ],
    non_recursive: Depth::Immediates,
    run,
    ..Command::DEFAULT
};

/// The options for printing a status.
struct Printer {
    out: Out,
    xml: bool,
    quiet: bool,
    detailed: bool,
    last_changed: bool,
    updates: bool,
    colour: bool,
    /// Lines that wait for the end, by changelist.
    lists: HashMap<String, Vec<ChangelistItem>>,
    /// Names of changelists in the order in which they came.
    order: Vec<String>,
    conflicts: [u32; 3],
}

/// A target, as it was given and in absolute form.
struct StatusTarget {
    path: String,
    abspath: PathBuf,
}

/// An entry that is printed with its changelist.
struct ChangelistItem {
    target: Rc<StatusTarget>,
    path: String,
    wc: WorkingCopy,
    status: Status,
}

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let targets = invocation.targets_or_here()?;
    check_all_local(&targets)?;
    let against = compared_revision(invocation)?;
    let updates = against.is_some();
    let (xml, incremental) = (invocation.has(Opt::Xml), invocation.has(Opt::Incremental));
    if incremental && !xml {
        return Err(usage_error("'incremental' option only valid in XML mode"));
    }
    let out = invocation.out.clone();
    if xml && !incremental {
        xml_out::header(&out, "status")?;
    }
    let (quiet, verbose) = (invocation.has(Opt::Quiet), invocation.has(Opt::Verbose));
    let mut printer = Printer {
        out: out.clone(),
        xml,
        quiet,
        detailed: verbose || updates,
        last_changed: verbose,
        updates,
        colour: !xml && colour::wanted(invocation.ctx.config())?,
        lists: HashMap::new(),
        order: Vec::new(),
        conflicts: [0; 3],
    };
    let options = StatusOptions {
        depth: invocation.opt.depth_or(Depth::Unknown),
        all: verbose,
        no_ignore: invocation.has(Opt::NoIgnore),
        unversioned: xml || verbose || !quiet,
        ignore_externals: invocation.has(Opt::IgnoreExternals),
        changelists: invocation.opt.changelists.iter().cloned().collect(),
        updates: against,
    };
    let paths = invocation.names(Part::Target, &targets)?;
    let mut seen = Vec::new();
    let inv = &*invocation;
    inv.each_target(&paths, updates, &mut |target| {
        if xml {
            begin_target(&out, target)?;
        }
        let abspath = inv.ctx.absolute(target);
        let seen_as = Rc::new(StatusTarget { path: target.to_owned(), abspath });
        let result = status(&inv.ctx, target, &options, &mut |shown| printer.take(&seen_as, shown));
        let not_versioned = [ErrorCode::WC_NOT_WORKING_COPY, ErrorCode::WC_PATH_NOT_FOUND];
        let revision = inv.tolerate(result, &not_versioned, &mut seen)?.flatten();
        if xml { end_target(&out, revision) } else { Ok(()) }
    })?;
    printer.changelists()?;
    if xml && !incremental {
        xml_out::footer(&out, "status")?;
    }
    if !quiet && !xml {
        printer.summary()?;
    }
    Ok(())
}

/// The revision of the repository that is compared with, if any is.
fn compared_revision(invocation: &Invocation) -> SvnResult<Option<Revision>> {
    if !invocation.has(Opt::ShowUpdates) {
        return match invocation.has(Opt::Revision) {
            true => Err(usage_error(
                "--revision (-r) option valid only with --show-updates (-u) option",
            )),
            false => Ok(None),
        };
    }
    Ok(Some(match invocation.opt.revision() {
        Revision::Unspecified => Revision::Head,
        given => given,
    }))
}

/// Begins what XML says of a target.
fn begin_target(out: &Out, target: &str) -> SvnResult<()> {
    let mut text = String::new();
    xml::open(&mut text, "target", Tag::Normal, &[("path", local_style(target))]);
    out.bytes(text.as_bytes())
}

/// Ends what XML says of a target, which was compared with a revision.
fn end_target(out: &Out, against: Option<Revnum>) -> SvnResult<()> {
    let mut text = String::new();
    if let Some(revision) = against {
        let number = revision.to_string();
        xml::open(&mut text, "against", Tag::Empty, &[("revision", &number)]);
    }
    xml::close(&mut text, "target");
    out.bytes(text.as_bytes())
}

/// Prints the line of one status, as `svn status` would from the root of the working copy.
pub(super) fn print_one(
    out: &Out,
    config: &Config,
    wc: &WorkingCopy,
    status: &Status,
) -> SvnResult<()> {
    let mut printer = Printer {
        out: out.clone(),
        xml: false,
        quiet: false,
        detailed: false,
        last_changed: false,
        updates: false,
        colour: colour::wanted(config)?,
        lists: HashMap::new(),
        order: Vec::new(),
        conflicts: [0; 3],
    };
    let target = Rc::new(StatusTarget { path: String::new(), abspath: wc.root().to_owned() });
    printer.line(&target, &status.relpath, wc, status)
}

/// The letter in the first column.
fn combined(status: &Status) -> State {
    match status.node {
        State::Conflicted if !status.versioned && status.conflicted => State::Missing,
        State::Conflicted | State::Modified => status.text,
        state => state,
    }
}

fn combined_remote(status: &Status) -> State {
    match status.remote.node {
        State::Modified => status.remote.text,
        state => state,
    }
}

impl Printer {
    fn take(&mut self, target: &Rc<StatusTarget>, shown: StatusItem<'_>) -> SvnResult<()> {
        let StatusItem { path, wc, mut status } = shown;
        before_operation(wc, &mut status)?;
        if let Some(name) = &status.changelist {
            if !self.lists.contains_key(name) {
                self.order.push(name.clone());
            }
            let held = ChangelistItem {
                target: Rc::clone(target),
                path: path.to_owned(),
                wc: wc.clone(),
                status: status.clone(),
            };
            self.lists.entry(name.clone()).or_default().push(held);
            return Ok(());
        }
        self.print(target, path, wc, &status)
    }

    fn print(
        &mut self,
        target: &Rc<StatusTarget>,
        path: &str,
        wc: &WorkingCopy,
        status: &Status,
    ) -> SvnResult<()> {
        if self.xml {
            self.print_xml(target, path, wc, status)
        } else {
            self.line(target, path, wc, status)
        }
    }

    fn is_left_out(&self, status: &Status) -> bool {
        let remote = status.remote.node;
        if status.node == State::None && remote == State::None {
            return true;
        }
        if !self.quiet {
            return false;
        }
        if !status.versioned && !status.conflicted && status.node != State::External {
            return true;
        }
        if self.last_changed || remote != State::None || status.conflicted {
            return false;
        }
        let plain = |state| matches!(state, State::Normal | State::None);
        status.node == State::External
            || (status.file_external
                && plain(status.node)
                && plain(status.props)
                && status.changelist.is_none()
                && status.lock.is_none()
                && !status.wc_locked)
    }

    fn count_conflicts(&mut self, status: &Status) {
        let kinds = if status.versioned {
            [status.text_conflicted, status.prop_conflicted, status.tree_conflicted]
        } else {
            [false, false, true]
        };
        let [text, props, tree] = &mut self.conflicts;
        let one = match kinds {
            [_, _, true] => tree,
            [true, _, _] => text,
            [_, true, _] => props,
            _ => return,
        };
        one.tally(1);
    }

    fn line(
        &mut self,
        target: &Rc<StatusTarget>,
        path: &str,
        wc: &WorkingCopy,
        status: &Status,
    ) -> SvnResult<()> {
        if self.is_left_out(status) {
            return Ok(());
        }
        let mut tree = ' ';
        let mut more = moves(target, wc, status);
        if status.conflicted {
            self.count_conflicts(status);
            if status.tree_conflicted || !status.versioned {
                tree = 'C';
                if let Some(text) = tree_conflict::describe(wc, &status.relpath)? {
                    more.push_str(&format!("\n      >   {text}"));
                }
            }
        }
        // Additions show no state of properties, for historic reasons.
        let props = if status.node == State::Added { State::None } else { status.props };
        let columns = self.columns(status, props, tree);
        let path = local_style(path);
        let print = |line: String| match self.colour {
            false => self.out.text(&(line + "\n")),
            true => {
                let states = [combined(status), props];
                self.out.text(&(colour::status_line(&line, states, tree == 'C') + "\n"))
            }
        };
        if !self.detailed {
            return print(format!("{columns} {path}{more}"));
        }
        let stale = if status.remote.node == State::None { ' ' } else { '*' };
        let revision = match status.revision {
            _ if !status.versioned => String::new(),
            Some(revision) if !status.copied => revision.to_string(),
            _ => "-".to_owned(),
        };
        if !self.last_changed {
            return print(format!("{columns} {stale} {revision:>8}   {path}{more}"));
        }
        let unknown = if status.versioned { " ? " } else { "" };
        let changed = status.changed.revision.map_or(unknown.to_owned(), |r| r.to_string());
        let author = status.changed.author.as_deref().unwrap_or(unknown);
        print(format!("{columns} {stale} {revision:>8} {changed:>8} {author:<12} {path}{more}"))
    }

    /// The letters that a line begins with.
    fn columns(&self, status: &Status, props: State, tree: char) -> String {
        let place = match (status.switched, status.file_external) {
            (true, _) => 'S',
            (_, true) => 'X',
            _ => ' ',
        };
        let letters = [
            combined(status).letter(),
            props.letter(),
            if status.wc_locked { 'L' } else { ' ' },
            if status.copied { '+' } else { ' ' },
            place,
            self.lock_letter(status),
            tree,
        ];
        letters.into_iter().collect()
    }

    fn lock_letter(&self, status: &Status) -> char {
        let own = status.lock.as_ref();
        match status.remote.lock.as_ref().filter(|_| self.updates) {
            Some(there) => match own {
                Some(own) if own.token == there.token => 'K',
                Some(_) => 'T',
                None => 'O',
            },
            None if own.is_some() && self.updates => 'B',
            None if own.is_some() => 'K',
            None => ' ',
        }
    }

    fn print_xml(
        &self,
        target: &StatusTarget,
        path: &str,
        wc: &WorkingCopy,
        status: &Status,
    ) -> SvnResult<()> {
        if status.node == State::None && status.remote.node == State::None {
            return Ok(());
        }
        let mut text = String::new();
        xml::open(&mut text, "entry", Tag::Normal, &[("path", local_style(path))]);
        let attributes = wc_status(target, wc, status);
        let names: Vec<&str> = attributes.iter().map(|(name, _)| *name).collect();
        let order = hashorder::order(names.iter().copied());
        let ordered: Vec<(&str, &str)> = order
            .iter()
            .filter_map(|at| usize::try_from(*at).ok().and_then(|at| attributes.get(at)))
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        xml::open(&mut text, "wc-status", Tag::Normal, &ordered);
        if let Some(revision) = status.changed.revision {
            let date =
                (status.changed.date != 0).then(|| Timestamp(status.changed.date).to_string());
            let author = status.changed.author.as_deref();
            xml_out::commit(&mut text, &revision.to_string(), author, date.as_deref());
        }
        if let Some(lock) = &status.lock {
            xml_lock(&mut text, lock);
        }
        xml::close(&mut text, "wc-status");
        let remote = &status.remote;
        if remote.node != State::None || remote.lock.is_some() {
            let attributes =
                [("item", combined_remote(status).word()), ("props", remote.props.word())];
            xml::open(&mut text, "repos-status", Tag::Normal, &attributes);
            if let Some(lock) = &remote.lock {
                xml_lock(&mut text, lock);
            }
            xml::close(&mut text, "repos-status");
        }
        xml::close(&mut text, "entry");
        self.out.bytes(text.as_bytes())
    }

    /// Prints what is on changelists.
    fn changelists(&mut self) -> SvnResult<()> {
        let order = hashorder::order(self.order.iter().map(String::as_str));
        let names: Vec<String> = order
            .iter()
            .filter_map(|at| usize::try_from(*at).ok().and_then(|at| self.order.get(at)))
            .cloned()
            .collect();
        for name in names {
            if self.xml {
                let mut text = String::new();
                xml::open(&mut text, "changelist", Tag::Normal, &[("name", &name)]);
                self.out.bytes(text.as_bytes())?;
            } else {
                self.out.text(&format!("\n--- Changelist '{name}':\n"))?;
            }
            for held in self.lists.remove(&name).into_iter().flatten() {
                self.print(&held.target, &held.path, &held.wc, &held.status)?;
            }
            if self.xml {
                let mut text = String::new();
                xml::close(&mut text, "changelist");
                self.out.bytes(text.as_bytes())?;
            }
        }
        Ok(())
    }

    fn summary(&self) -> SvnResult<()> {
        let [text, props, tree] = self.conflicts;
        if [text, props, tree] == [0, 0, 0] {
            return Ok(());
        }
        self.out.text("Summary of conflicts:\n")?;
        for (kind, count) in [("Text", text), ("Property", props), ("Tree", tree)] {
            if count > 0 {
                self.out.text(&format!("  {kind} conflicts: {count}\n"))?;
            }
        }
        Ok(())
    }
}

/// The attributes of the element `wc-status`.
fn wc_status(
    target: &StatusTarget,
    wc: &WorkingCopy,
    status: &Status,
) -> Vec<(&'static str, String)> {
    let props = if status.node == State::Deleted { State::None } else { status.props };
    let mut attributes: Vec<(&'static str, String)> =
        vec![("item", combined(status).word().into()), ("props", props.word().into())];
    let mut flag = |on: bool, name| {
        if on {
            attributes.push((name, "true".to_owned()));
        }
    };
    flag(status.wc_locked, "wc-locked");
    flag(status.copied, "copied");
    flag(status.switched, "switched");
    flag(status.file_external, "file-external");
    flag(status.tree_conflicted && status.conflicted, "tree-conflicted");
    if status.versioned && !status.copied {
        let number = status.revision.map_or("-1".to_owned(), |r| r.to_string());
        attributes.push(("revision", number));
    }
    if let Some(from) = &status.moved_from {
        attributes.push(("moved-from", relative(target, &wc.abspath(from))));
    }
    if let Some(to) = &status.moved_to {
        attributes.push(("moved-to", relative(target, &wc.abspath(to))));
    }
    attributes
}

fn xml_lock(text: &mut String, lock: &LockInfo) {
    xml::open(text, "lock", Tag::Normal, &[]);
    xml_out::text_element(text, "token", &lock.token);
    xml_out::optional_element(text, "owner", lock.owner.as_deref());
    xml_out::optional_element(text, "comment", lock.comment.as_deref());
    if lock.date != 0 {
        xml_out::text_element(text, "created", &Timestamp(lock.date).to_string());
    }
    xml::close(text, "lock");
}

/// Deletions and replacements without history show what they are of.
fn before_operation(wc: &WorkingCopy, status: &mut Status) -> SvnResult<()> {
    let hides = matches!(status.node, State::Deleted | State::Replaced);
    if !status.versioned || status.revision.is_some() || status.copied || !hides {
        return Ok(());
    }
    let layers = wc.db().layers(&status.relpath)?;
    let Some(base) = layers.iter().find(|row| row.op_depth == 0) else { return Ok(()) };
    status.revision = base.revision;
    if status.node == State::Deleted {
        status.changed.revision = base.changed_revision;
        status.changed.date = base.changed_date.map_or(0, |t| t.0);
        status.changed.author.clone_from(&base.changed_author);
    }
    Ok(())
}

/// The lines about where a node was moved.
fn moves(target: &Rc<StatusTarget>, wc: &WorkingCopy, status: &Status) -> String {
    match (&status.moved_from, &status.moved_to) {
        (Some(from), Some(to)) if from == to => {
            format!("\n        > swapped places with {}", relative(target, &wc.abspath(from)))
        }
        (from, to) => {
            let to = to
                .as_ref()
                .map(|to| format!("\n        > moved to {}", relative(target, &wc.abspath(to))));
            let from = from
                .as_ref()
                .map(|at| format!("\n        > moved from {}", relative(target, &wc.abspath(at))));
            [to, from].into_iter().flatten().collect()
        }
    }
}

/// A path of a working copy as it is shown from the target, with `..` where it is not below.
fn relative(target: &StatusTarget, path: &Path) -> String {
    if let Ok(below) = path.strip_prefix(&target.abspath) {
        return join_shown(&target.path, &below.to_string_lossy());
    }
    let common = target.abspath.components().zip(path.components()).take_while(|(a, b)| a == b);
    let common = common.count();
    let up = target.abspath.components().skip(common).map(|_| "..".to_owned());
    let down = path.components().skip(common).map(|c| c.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}
