//! Log entries, as text and as XML.

use std::borrow::Cow;

use sapwood_client::diff::writer::Style;
use sapwood_client::diff::{Request, Sink, diff};
use sapwood_client::{Context, Revision, Target};
use sapwood_core::date::Timestamp;
use sapwood_core::props::names;
use sapwood_core::{Depth, NodeKind, Revnum, SvnResult, ascii, fold, glob, path};
use sapwood_ra::{LogChange, LogEntry};

use super::count_lines;
use crate::svn::Invocation;
use crate::svn::diff::Method;
use crate::svn::options::Opt;
use crate::svn::out::Out;
use crate::svn::xml_out::text_element;
use crate::user_date;
use crate::xml::{self, Tag};

/// The line before each entry.
pub(in crate::svn) const SEPARATOR: &str =
    "------------------------------------------------------------------------\n";

/// Prints entries one after the other.
pub(in crate::svn) struct Printer<'a> {
    out: Out,
    quiet: bool,
    /// The options of `--diff`.
    diff: Option<Differences<'a>>,
    /// Any group, all patterns of it; folded, with `*` around them.
    search: Vec<Vec<String>>,
    /// The merging revisions that this one is printed below.
    merging: Vec<Revnum>,
}

/// Prints the diff of `--diff` with each revision.
struct Differences<'a> {
    ctx: &'a Context,
    target: &'a Target,
    depth: Depth,
    method: Method,
    out: Out,
}

impl Differences<'_> {
    /// Prints what a revision changed at and below the target. What was deleted is only named.
    fn print(&self, revision: Revnum) -> SvnResult<()> {
        // Before r0 there is nothing: it is compared with itself.
        let before = Revnum(revision.0.saturating_sub(1));
        let default = if self.target.is_url() { Revision::Head } else { Revision::Working };
        let request = Request {
            old: &self.target.text,
            old_revision: Revision::Number(before),
            new: &self.target.text,
            new_revision: Revision::Number(revision),
            peg: self.target.peg.or(default),
            depth: self.depth,
            ignore_ancestry: false,
            changelists: &[],
        };
        let external = self.method.external();
        let style = Style { no_deleted: true, ..self.method.style(&external)? };
        let mut sink = self.out.clone();
        diff(self.ctx, &request, Sink::Diff { style, out: &mut sink })
    }
}

/// Author, date and message of an entry.
struct StandardProps<'e> {
    author: Option<Cow<'e, str>>,
    date: Option<Cow<'e, str>>,
    message: Option<Cow<'e, str>>,
}

impl<'e> StandardProps<'e> {
    fn of(entry: &'e LogEntry<'_>) -> Self {
        let text = |name| entry.revprop(name).map(ascii::readable);
        Self { author: text(names::AUTHOR), date: text(names::DATE), message: text(names::LOG) }
    }
}

/// A date as text.
fn human_date(date: Option<&str>) -> String {
    match date {
        None | Some("") => "(no date)".to_owned(),
        Some(date) => match Timestamp::parse(date.as_bytes()) {
            Ok(at) => user_date::human(at.0),
            Err(_) => "(invalid date)".to_owned(),
        },
    }
}

/// Changed paths in the order in which they are shown.
fn sorted<'c, 'e>(entry: &'c LogEntry<'e>) -> Vec<&'c LogChange<'e>> {
    let mut changes: Vec<&LogChange<'_>> = entry.changes.iter().collect();
    changes.sort_by(|a, b| path::compare(a.path, b.path));
    changes
}

impl<'a> Printer<'a> {
    pub(in crate::svn) fn new(
        invocation: &'a Invocation,
        target: &'a Target,
        depth: Depth,
    ) -> Self {
        let pattern = |text: &String| format!("*{}*", fold::fold(text));
        let search = &invocation.opt.search;
        Self {
            out: invocation.out.clone(),
            quiet: invocation.has(Opt::Quiet),
            diff: invocation.has(Opt::Diff).then(|| Differences {
                ctx: &invocation.ctx,
                target,
                depth,
                method: Method::of(invocation),
                out: invocation.out.clone(),
            }),
            search: search.iter().map(|group| group.iter().map(pattern).collect()).collect(),
            merging: Vec::new(),
        }
    }

    /// Whether the entry is one that was searched for.
    fn is_wanted(&self, entry: &LogEntry<'_>, texts: [Option<&str>; 3]) -> bool {
        if self.search.is_empty() {
            return true;
        }
        let matches = |pattern: &String| {
            let found = |text: &str| glob::matches(pattern.as_bytes(), fold::fold(text).as_bytes());
            texts.into_iter().flatten().any(found)
                || entry.changes.iter().any(|change| {
                    found(change.path) || change.copy_from.is_some_and(|(from, _)| found(from))
                })
        };
        self.search.iter().any(|group| group.iter().all(matches))
    }

    fn begin_merged(&mut self, entry: &LogEntry<'_>) {
        if let Some(revision) = entry.revision.filter(|_| entry.has_children) {
            self.merging.push(revision);
        }
    }

    /// Prints an entry as text.
    pub(in crate::svn) fn text(&mut self, entry: &LogEntry<'_>) -> SvnResult<()> {
        let Some(revision) = entry.revision else {
            self.merging.pop();
            return Ok(());
        };
        let standard = StandardProps::of(entry);
        if revision == Revnum::ZERO && standard.message.is_none() {
            return Ok(());
        }
        let author = standard.author.as_deref().unwrap_or("(no author)");
        let date = human_date(standard.date.as_deref());
        let message = match standard.message.as_deref() {
            None if !self.quiet => Some(""),
            message => message,
        };
        if !self.is_wanted(entry, [Some(author), Some(&date), message]) {
            self.begin_merged(entry);
            return Ok(());
        }
        let mut text = format!("{SEPARATOR}r{revision} | {author} | {date}");
        if let Some(message) = message {
            let lines = count_lines(message);
            text.push_str(&format!(" | {lines} line{}", if lines == 1 { "" } else { "s" }));
        }
        text.push('\n');
        if !entry.changes.is_empty() {
            text.push_str("Changed paths:\n");
            for change in sorted(entry) {
                text.push_str(&format!("   {} {}", char::from(change.action), change.path));
                if let Some((from, revision)) = change.copy_from {
                    text.push_str(&format!(" (from {from}:{revision})"));
                }
                text.push('\n');
            }
        }
        if !self.merging.is_empty() {
            let words = if entry.subtractive_merge { "Reverse merged" } else { "Merged" };
            let via: Vec<String> = self.merging.iter().map(|r| format!(" r{r}")).collect();
            text.push_str(&format!("{words} via:{}\n", via.join(",")));
        }
        if let Some(message) = message {
            text.push_str(&format!("\n{message}\n"));
        }
        self.out.text(&text)?;
        self.out.show()?;
        if let Some(differences) = &self.diff {
            self.out.text("\n")?;
            differences.print(revision)?;
            self.out.text("\n")?;
        }
        self.begin_merged(entry);
        Ok(())
    }

    /// Prints an entry as XML.
    pub(super) fn xml(&mut self, entry: &LogEntry<'_>) -> SvnResult<()> {
        let mut text = String::new();
        let Some(revision) = entry.revision else {
            self.merging.pop();
            xml::close(&mut text, "logentry");
            return self.out.bytes(text.as_bytes());
        };
        let standard = StandardProps::of(entry);
        if revision == Revnum::ZERO && standard.message.is_none() {
            return Ok(());
        }
        let (author, date, message) =
            (standard.author.as_deref(), standard.date.as_deref(), standard.message.as_deref());
        if !self.is_wanted(entry, [author, date, message]) {
            self.begin_merged(entry);
            return Ok(());
        }
        let number = revision.to_string();
        let mut attributes = vec![("revision", number.as_str())];
        if !self.merging.is_empty() {
            attributes
                .push(("reverse-merge", if entry.subtractive_merge { "true" } else { "false" }));
        }
        xml::open(&mut text, "logentry", Tag::Normal, &attributes);
        for (name, value) in [("author", author), ("date", date.filter(|d| !d.is_empty()))] {
            if let Some(value) = value {
                text_element(&mut text, name, &xml::fuzzy(value));
            }
        }
        if !entry.changes.is_empty() {
            xml::open(&mut text, "paths", Tag::Normal, &[]);
            sorted(entry).into_iter().for_each(|change| xml_change(&mut text, change));
            xml::close(&mut text, "paths");
        }
        if let Some(message) = message {
            text_element(&mut text, "msg", &xml::fuzzy(message));
        }
        let others = || {
            let standard = [names::AUTHOR, names::DATE, names::LOG];
            entry.revprops.iter().filter(move |(name, _)| !standard.contains(name))
        };
        if others().next().is_some() {
            xml::open(&mut text, "revprops", Tag::Normal, &[]);
            others().for_each(|(name, value)| xml::property(&mut text, "property", name, value));
            xml::close(&mut text, "revprops");
        }
        if entry.has_children {
            self.merging.push(revision);
        } else {
            xml::close(&mut text, "logentry");
        }
        self.out.bytes(text.as_bytes())
    }
}

fn xml_change(text: &mut String, change: &LogChange<'_>) {
    let action = char::from(change.action).to_string();
    let from = change.copy_from.map(|(from, revision)| (from, revision.to_string()));
    let mut attributes = vec![("action", action.as_str())];
    if let Some((from, revision)) = &from {
        attributes.extend([("copyfrom-path", from.as_str()), ("copyfrom-rev", revision.as_str())]);
    }
    let word = |yes| if yes { "true" } else { "false" };
    attributes.extend([
        ("kind", change.kind.map_or("", NodeKind::word)),
        ("text-mods", word(change.text_mod)),
        ("prop-mods", word(change.prop_mod)),
    ]);
    xml::open(text, "path", Tag::Text, &attributes);
    xml::escape(text, change.path, false);
    xml::close(text, "path");
}
