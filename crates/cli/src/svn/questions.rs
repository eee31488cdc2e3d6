//! Questions at the terminal about a conflict: of a text, and of each property.
//!
//! The letters, the words of the choices and the order of questions are those of 1.14. Each answer is applied
//! at once, one part of a node's conflict after the other.

use std::fs;
use std::path::PathBuf;

use sapwood_client::Context;
use sapwood_client::resolver::Knowledge;
use sapwood_core::exact::Exact;
use sapwood_core::paths::RelPath;
use sapwood_core::props::{is_binary_mime_type, names};
use sapwood_core::{ErrorCode, PropList, SvnError, SvnResult};
use sapwood_diff::{ConflictStyle, Labels, Options, diff3, unified, write_header, write_merged};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::{Conflict, Operation, PropConflict, TextConflict};
use sapwood_wc::local::{Choice, Part};

use super::Invocation;
use super::external_merge::run_merge_tool;
use super::notify::display_below;
use crate::question::ask_openly;
use crate::remote::editor;
use crate::{input, report};

/// The meaning of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Postpone,
    Quit,
    Settle(Choice),
    Edit,
    ShowDiff,
    ShowConflicts,
    Merge,
    Launch,
    BuiltIn,
    List,
}

/// An answer that can be given.
#[derive(Clone, Copy, Debug)]
struct Answer {
    code: &'static str,
    label: &'static str,
    /// Its description, and the argument of `--accept` that does the same.
    does: &'static str,
    accept: &'static str,
    meaning: Meaning,
}

const fn answer(
    code: &'static str,
    label: &'static str,
    does: &'static str,
    accept: &'static str,
    meaning: Meaning,
) -> Answer {
    Answer { code, label, does, accept, meaning }
}

const POSTPONE: Answer = answer(
    "p",
    "Postpone",
    "skip this conflict and leave it unresolved",
    "postpone",
    Meaning::Postpone,
);
const QUIT: Answer =
    answer("q", "Quit resolution", "postpone all remaining conflicts", "", Meaning::Quit);

#[rustfmt::skip]
const OF_TEXTS: [Answer; 14] = [
    POSTPONE,
    answer("tf", "Accept incoming", "accept incoming version of entire file", "theirs-full",
        Meaning::Settle(Choice::TheirsFull)),
    answer("mf", "Reject incoming", "reject all incoming changes for this file", "mine-full",
        Meaning::Settle(Choice::MineFull)),
    answer("tc", "Accept incoming for conflicts", "accept incoming changes only where they conflict",
        "theirs-conflict", Meaning::Settle(Choice::TheirsConflict)),
    answer("mc", "Reject conflicts", "reject incoming changes which conflict and accept the rest",
        "mine-conflict", Meaning::Settle(Choice::MineConflict)),
    answer("r", "Mark as resolved", "accept the file as it appears in the working copy", "working",
        Meaning::Settle(Choice::Working)),
    QUIT,
    answer("e", "Edit file", "change merged file in an editor", "edit", Meaning::Edit),
    answer("df", "Show diff", "show all changes made to merged file", "", Meaning::ShowDiff),
    answer("dc", "Display conflict", "show all conflicts (ignoring merged version)", "",
        Meaning::ShowConflicts),
    answer("m", "Merge", "use merge tool to resolve conflict", "", Meaning::Merge),
    answer("l", "Launch tool", "launch external merge tool to resolve conflict", "launch",
        Meaning::Launch),
    answer("i", "Internal merge tool", "use built-in merge tool to resolve conflict", "",
        Meaning::BuiltIn),
    answer("s", "Show all options", "show this list (also 'h', '?')", "", Meaning::List),
];

#[rustfmt::skip]
const OF_BINARIES: [Answer; 4] = [
    POSTPONE,
    answer("tf", "Accept incoming", "accept incoming version of binary file", "theirs-full",
        Meaning::Settle(Choice::TheirsFull)),
    answer("mf", "Mark as resolved", "accept binary file as it appears in the working copy",
        "mine-full", Meaning::Settle(Choice::MineFull)),
    QUIT,
];

#[rustfmt::skip]
const OF_PROPS: [Answer; 10] = [
    POSTPONE,
    answer("tf", "Accept incoming", "accept incoming version of entire property value",
        "theirs-full", Meaning::Settle(Choice::TheirsFull)),
    answer("mf", "Mark as resolved", "accept working copy version of entire property value",
        "mine-full", Meaning::Settle(Choice::MineFull)),
    answer("tc", "Accept incoming for conflicts", "accept incoming changes only where they conflict",
        "theirs-conflict", Meaning::Settle(Choice::TheirsConflict)),
    answer("mc", "Reject conflicts", "reject changes which conflict and accept the rest",
        "mine-conflict", Meaning::Settle(Choice::MineConflict)),
    answer("r", "Accept merged", "accept merged version of property value", "working",
        Meaning::Settle(Choice::Working)),
    QUIT,
    answer("dc", "Display conflict", "show conflicts in this property", "",
        Meaning::ShowConflicts),
    answer("e", "Edit property", "change merged property value in an editor", "edit",
        Meaning::Edit),
    answer("h", "Help", "show this help (also '?')", "", Meaning::List),
];

/// How wide a line of choices may be.
const WIDTH: usize = 70;

/// How a conversation about a node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// All is resolved or postponed.
    Done,
    /// No more questions are to be asked.
    Quit,
}

/// How a conversation about one conflict ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Settled,
    Postponed,
    Quit,
}

/// The conversation about one node.
pub(super) struct Questions<'q> {
    pub(super) inv: &'q Invocation,
    /// Receives the notifications.
    pub(super) ctx: &'q Context,
    /// The repositories' answers about tree conflicts.
    pub(super) knowledge: &'q Knowledge,
    pub(super) wc: &'q WorkingCopy,
    pub(super) relpath: &'q RelPath,
}

impl Questions<'_> {
    /// Asks until every conflict that can be asked about is resolved or postponed.
    pub(super) fn ask(&self) -> SvnResult<End> {
        let mut described = false;
        loop {
            let record = self.wc.db().actual(self.relpath)?.and_then(|row| row.conflict_data);
            let Some(record) = record else { return Ok(End::Done) };
            let conflict = Conflict::parse(&record)?;
            match self.round(&conflict, &mut described) {
                Ok(Verdict::Quit) => return Ok(End::Quit),
                // Conflicts that resolving a tree conflict leaves are visited as new conflicts.
                Ok(Verdict::Settled) if conflict.tree.is_some() => return Ok(End::Done),
                Ok(Verdict::Postponed) => return Ok(End::Done),
                // A conflict that was postponed before another one was resolved is asked again, as by 1.14.
                Ok(Verdict::Settled) => {}
                // A user who sees the reason may choose something else.
                Err(error) if error.code() == ErrorCode::WC_CONFLICT_RESOLVER_FAILURE => {
                    self.inv.out.warn(&error);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn round(&self, conflict: &Conflict, described: &mut bool) -> SvnResult<Verdict> {
        let mut last = Verdict::Postponed;
        if let Some(text) = conflict.text.as_ref().filter(|_| conflict.tree.is_none()) {
            last = self.ask_text(conflict, text, described)?;
        }
        // After a text is quit, a single property is still asked about, as by 1.14.
        let enough = last == Verdict::Quit;
        if let Some(props) = &conflict.prop {
            let mut postponed = false;
            let mut names: Vec<&String> = props.names.iter().collect();
            names.sort_unstable();
            for name in names {
                last = self.ask_prop(conflict, props, name)?;
                postponed |= last == Verdict::Postponed;
                if enough || last == Verdict::Quit {
                    return Ok(Verdict::Quit);
                }
            }
            if !postponed && conflict.tree.is_none() {
                // A text that was left for later stays.
                return Ok(Verdict::Postponed);
            }
        }
        if conflict.tree.is_some() { self.ask_tree(described) } else { Ok(last) }
    }

    fn resolve(&self, part: Part<'_>, choice: Choice) -> SvnResult<()> {
        let ctx = self.ctx;
        self.wc
            .resolve_part(self.relpath, part, choice, ctx.cancel(), &|notice| ctx.notify(notice))?;
        Ok(())
    }

    pub(super) fn display_path(&self, relpath: &RelPath) -> String {
        let here = self.inv.ctx.here.to_string_lossy();
        display_below(&here, &self.wc.abspath(relpath).to_string_lossy())
    }

    fn ask_text(
        &self,
        conflict: &Conflict,
        text: &TextConflict,
        described: &mut bool,
    ) -> SvnResult<Verdict> {
        let view = self.wc.require_view(self.relpath)?;
        let binary = view.props()?.get(names::MIME_TYPE).is_some_and(is_binary_mime_type);
        let shown = self.display_path(self.relpath);
        if !std::mem::replace(described, true) {
            let what = if binary { "binary file" } else { "file" };
            self.say(&format!("Merge conflict discovered in {what} '{shown}'.\n"))?;
        }
        let answers: &[Answer] = if binary { &OF_BINARIES } else { &OF_TEXTS };
        let can_diff = !binary && text.old.is_some();
        let mut knows = false;
        loop {
            let mut offered = vec!["p"];
            if can_diff {
                offered.extend(text.mine.as_ref().map(|_| "df"));
                offered.push("e");
                offered.extend(text.mine.as_ref().map(|_| "m"));
                offered.extend(knows.then_some("r"));
            } else {
                offered.extend((knows || binary).then_some("r"));
                offered.extend((text.mine.is_some() || binary).then_some("mf"));
                offered.push("tf");
            }
            offered.push("s");
            let Some(given) = self.choose(answers, &offered)? else { continue };
            match given.meaning {
                Meaning::Postpone => return Ok(Verdict::Postponed),
                Meaning::Quit => return Ok(Verdict::Quit),
                Meaning::Settle(Choice::Working) if !knows && can_diff => self.say(
                    "Invalid option; use diff/edit/merge/launch before choosing 'mark \
                     resolved'.\n\n",
                )?,
                Meaning::Settle(choice) => {
                    self.resolve(Part::Text, choice)?;
                    return Ok(Verdict::Settled);
                }
                Meaning::List => self.say(&format!("\n{}\n", list(answers)))?,
                Meaning::ShowConflicts => knows |= self.show_conflicts(text)?,
                Meaning::ShowDiff => knows |= self.show_diff(conflict, text)?,
                Meaning::Edit => knows |= self.edit(self.wc.abspath(self.relpath))?,
                Meaning::Merge | Meaning::Launch | Meaning::BuiltIn => {
                    knows |= self.merge(text, given.meaning)?;
                }
            }
        }
    }

    fn ask_prop(
        &self,
        conflict: &Conflict,
        props: &PropConflict,
        name: &str,
    ) -> SvnResult<Verdict> {
        let shown = self.display_path(self.relpath);
        self.say(&format!("Conflict for property '{name}' discovered on '{shown}'.\n"))?;
        let operation = match conflict.operation {
            Some(Operation::Update) => "upon update",
            Some(Operation::Switch) => "upon switch",
            Some(Operation::Merge) => "upon merge",
            None => "upon none",
        };
        // Where the text is in conflict too, 1.14 speaks of that.
        let changes = if conflict.text.is_some() {
            "local edit, incoming edit".to_owned()
        } else {
            changes_of(name, props)
        };
        self.say(&format!("{changes} {operation}\n"))?;
        let value = |list: &Option<PropList>| {
            list.as_ref().and_then(|list| list.get(name)).unwrap_or(b"").to_vec()
        };
        let (old, mine, theirs) = (value(&props.old), value(&props.mine), value(&props.theirs));
        let mut merged: Option<Vec<u8>> = None;
        loop {
            let mut offered = vec!["p", "mf", "tf", "dc", "e"];
            offered.extend(merged.as_ref().map(|_| "r"));
            offered.extend(["q", "h"]);
            let Some(given) = self.choose(&OF_PROPS, &offered)? else { continue };
            match given.meaning {
                Meaning::Postpone => return Ok(Verdict::Postponed),
                Meaning::Quit => return Ok(Verdict::Quit),
                Meaning::ShowConflicts => {
                    let text = marked(&old, merged.as_ref().unwrap_or(&mine), &theirs)?;
                    self.inv.out.bytes(&text)?;
                    self.inv.out.flush()?;
                }
                Meaning::Edit => {
                    if let Some(edited) = self.edit_value(&marked(&old, &mine, &theirs)?)? {
                        merged = Some(edited);
                    }
                }
                Meaning::Settle(Choice::Working) => match &merged {
                    None => self.say("Invalid option; please edit the property first.\n\n")?,
                    Some(value) => {
                        self.resolve(Part::Prop(name, Some(value)), Choice::Working)?;
                        return Ok(Verdict::Settled);
                    }
                },
                Meaning::Settle(choice) => {
                    self.resolve(Part::Prop(name, None), choice)?;
                    return Ok(Verdict::Settled);
                }
                _ => {}
            }
        }
    }

    /// Asks once; `None` when the answer was none, or asked for help, which was given.
    fn choose<'t>(&self, answers: &'t [Answer], offered: &[&str]) -> SvnResult<Option<&'t Answer>> {
        self.inv.out.flush()?;
        let given = ask_openly(&question(answers, offered))?;
        if given == "h" || given == "?" {
            self.say(&format!("\n{}\n", list(answers)))?;
            return Ok(None);
        }
        let found = answers.iter().find(|known| known.code == given);
        if found.is_none() {
            self.say("Unrecognized option.\n\n")?;
        }
        Ok(found)
    }

    /// Says something on standard error, after all that was said before.
    pub(super) fn say(&self, text: &str) -> SvnResult<()> {
        self.inv.out.flush()?;
        report::stderr(text);
        Ok(())
    }

    pub(super) fn read(&self, relpath: &RelPath) -> SvnResult<Vec<u8>> {
        input::contents(&self.wc.abspath(relpath).to_string_lossy())
    }

    /// Shows where the three texts do not agree.
    fn show_conflicts(&self, text: &TextConflict) -> SvnResult<bool> {
        let (Some(old), Some(mine), Some(theirs)) = (&text.old, &text.mine, &text.theirs) else {
            self.say("Invalid option; original files not available.\n\n")?;
            return Ok(false);
        };
        let (old, mine, theirs) = (self.read(old)?, self.read(mine)?, self.read(theirs)?);
        let labels = Labels {
            modified: "<<<<<<< MINE (select with 'mc')",
            original: "||||||| ORIGINAL",
            separator: "=======",
            latest: ">>>>>>> THEIRS (select with 'tc')",
        };
        let shown = merge_texts(&old, &mine, &theirs, &labels, ConflictStyle::OnlyConflicts)?;
        self.inv.out.bytes(&shown)?;
        self.inv.out.flush()?;
        Ok(true)
    }

    /// Shows what the operation changed: against what was here before a merge, against what came with an update.
    fn show_diff(&self, conflict: &Conflict, text: &TextConflict) -> SvnResult<bool> {
        let merge = conflict.operation == Some(Operation::Merge);
        let (from, word) = if merge { (&text.mine, "MINE") } else { (&text.theirs, "THEIRS") };
        let Some(from) = from.as_ref().filter(|_| text.mine.is_some()) else {
            self.say("Invalid option; there's no merged version to diff.\n\n")?;
            return Ok(false);
        };
        let (old, new) = (self.read(from)?, self.read(self.relpath)?);
        let mut shown = Vec::new();
        let old_label = format!("{}\t- {word}", self.display_path(from));
        write_header(
            &mut shown,
            &old_label,
            &format!("{}\t- MERGED", self.display_path(self.relpath)),
        );
        if unified(&usual(), &old, &new, &mut shown) {
            self.inv.out.bytes(&shown)?;
            self.inv.out.flush()?;
        }
        Ok(true)
    }

    fn edit(&self, path: PathBuf) -> SvnResult<bool> {
        self.inv.out.flush()?;
        let given = self.inv.opt.editor_cmd.as_deref();
        match editor::edit_file(given, self.inv.ctx.config(), &path) {
            Ok(()) => Ok(true),
            Err(error) => self.report_failure(error, ErrorCode::CL_NO_EXTERNAL_EDITOR),
        }
    }

    /// Says that a program failed, or was not there; other errors go on.
    fn report_failure(&self, error: SvnError, missing: ErrorCode) -> SvnResult<bool> {
        if ![missing, ErrorCode::EXTERNAL_PROGRAM].contains(&error.code()) {
            return Err(error);
        }
        self.say(&format!("{}\n", error.message()))?;
        Ok(false)
    }

    fn edit_value(&self, text: &[u8]) -> SvnResult<Option<Vec<u8>>> {
        let failed = |e| SvnError::io(&e, "Can't write a temporary file");
        let file = tempfile::Builder::new().prefix("svn-").suffix(".tmp").tempfile();
        let file = file.map_err(failed)?;
        fs::write(file.path(), text).map_err(failed)?;
        if !self.edit(file.path().to_owned())? {
            return Ok(None);
        }
        input::contents(&file.path().to_string_lossy()).map(Some)
    }

    /// Merges with another program, or with what is built in.
    fn merge(&self, text: &TextConflict, how: Meaning) -> SvnResult<bool> {
        let missing = ErrorCode::CL_NO_EXTERNAL_MERGE_TOOL;
        if how == Meaning::Merge && text.mine.is_none() {
            self.say("Invalid option; there's no base path to merge.\n\n")?;
            return Ok(false);
        }
        if how != Meaning::BuiltIn {
            match run_merge_tool(self.inv, self.wc, self.relpath, text) {
                Ok(Some(_)) => return Ok(true),
                Ok(None) => {
                    self.say("Invalid option.\n\n")?;
                    return Ok(false);
                }
                Err(error) if how == Meaning::Merge && error.code() == missing => {}
                Err(error) => return self.report_failure(error, missing),
            }
        }
        self.merge_here(text)
    }
}

fn usual() -> Options {
    Options { ignore_eol_style: true, ..Options::default() }
}

fn merge_texts(
    old: &[u8],
    mine: &[u8],
    theirs: &[u8],
    labels: &Labels<'_>,
    style: ConflictStyle,
) -> SvnResult<Vec<u8>> {
    let diff = diff3(&usual(), old, mine, theirs);
    let mut out = Vec::new();
    write_merged(&mut out, &diff, (old, mine, theirs), labels, style)
        .map_err(|e| SvnError::io(&e, "Can't merge texts"))?;
    Ok(out)
}

/// Three values of a property as one, with marks.
fn marked(old: &[u8], mine: &[u8], theirs: &[u8]) -> SvnResult<Vec<u8>> {
    let labels = Labels {
        modified: "<<<<<<< MINE",
        original: "||||||| ORIGINAL",
        separator: "=======",
        latest: ">>>>>>> THEIRS",
    };
    merge_texts(old, mine, theirs, &labels, ConflictStyle::ModifiedOriginalLatest)
}

/// The question, with the answers that are offered.
fn question(answers: &[Answer], offered: &[&str]) -> String {
    let found = offered.iter().filter_map(|code| answers.iter().find(|a| a.code == *code));
    breaks_line(found.map(|answer| (answer.code, answer.label)))
}

/// A question with codes and labels, in lines that are not too long.
pub(super) fn breaks_line<'t>(answers: impl Iterator<Item = (&'t str, &'t str)>) -> String {
    let mut text = "Select:".to_owned();
    let margin = text.len();
    let mut width = margin;
    for (number, (code, label)) in answers.enumerate() {
        if number > 0 {
            text.push(',');
        }
        let piece = format!(" ({code}) {label}");
        if width.plus(piece.len()) > WIDTH {
            text.push_str(&format!("\n{:margin$}", ""));
            width = margin;
        }
        text.push_str(&piece);
        width = width.plus(piece.len());
    }
    text.push_str(": ");
    text
}

/// All answers, with what they do.
fn list(answers: &[Answer]) -> String {
    option_list(answers.iter().map(|answer| (answer.code, answer.does, answer.accept)))
}

/// Codes, what they do, and the arguments of `--accept`.
pub(super) fn option_list<'t>(
    answers: impl Iterator<Item = (&'t str, &'t str, &'t str)>,
) -> String {
    let mut text = String::new();
    for (code, does, accept) in answers {
        let code = format!("  ({code})");
        text.push_str(&format!("{code:<6} - {does}"));
        if !accept.is_empty() {
            text.push_str(&format!("  [{accept}]"));
        }
        text.push('\n');
    }
    text.push_str("Words in square brackets are the corresponding --accept option arguments.\n");
    text
}

/// Both sides' changes of a property, in 1.14's words.
fn changes_of(name: &str, props: &PropConflict) -> String {
    let has = |list: &Option<PropList>| list.as_ref().is_some_and(|list| list.get(name).is_some());
    let had = has(&props.old);
    let change = |has: bool| match (has, had) {
        (false, _) => "delete",
        (true, false) => "add",
        (true, true) => "edit",
    };
    let (local, incoming) = (change(has(&props.mine)), change(has(&props.theirs)));
    format!("local {local}, incoming {incoming}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_questions_are_broken() {
        assert_eq!(
            question(&OF_TEXTS, &["p", "df", "e", "m", "r", "s"]),
            "Select: (p) Postpone, (df) Show diff, (e) Edit file, (m) Merge,\n        \
             (r) Mark as resolved, (s) Show all options: "
        );
    }

    #[test]
    fn what_is_not_known_is_not_offered() {
        assert_eq!(
            question(&OF_BINARIES, &["p", "r", "mf", "tf", "s"]),
            "Select: (p) Postpone, (mf) Mark as resolved, (tf) Accept incoming: "
        );
    }
}
