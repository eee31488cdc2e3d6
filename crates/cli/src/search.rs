//! `sapwood search`: which names, log messages, texts, properties and changed lines of a repository on this machine have some words.
//!
//! Invariant: what is printed was read from the repository, not from the index.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_repos::authorizer::Everything;
use sapwood_search::{Index, Scope};
use sapwood_web::{Fault, Hits, Section, View};

use crate::command::{OptionSpec, Options, name};
use crate::manual::Manual;
use crate::output::Output;
use crate::tool::Tool;
use crate::{repo, signals, user_folders};

const INDEX: OptionSpec = OptionSpec::value(
    "index",
    None,
    "keep the index in the folder ARG, as 'search-folder' of a server says (default: the user's folder of caches)",
);
const IN: OptionSpec = OptionSpec::value(
    "in",
    None,
    "search in 'paths', 'revisions', 'texts', 'properties' or 'changes' only, with more hits",
);

const OPTIONS: &[OptionSpec] = &[
    INDEX,
    IN,
    name::HELP.flag(Some('h'), "print this"),
    name::HELP_MARK.flag(Some('?'), "print this"),
];

const TEXT: &str = "\
Says where the words are in the repository at PATH: in names of files and directories, in log messages and
authors, in texts and properties of the newest revision, and in lines that a revision added or removed.
Upper and lower case are alike, and a word may be a part of one; in quotes, several words are one. Filters:
path:/trunk, ext:c, author:ada, rev:10-20, date:2024-05 or date:2024-01..2024-06.

The first search makes an index, which takes a while in a large repository; later ones add what is new. What
is inside the folders of 'tags' and 'branches' is left out.

Exit code: 0 if something was found, 1 if not or for errors.
";

static TOOL: Tool = Tool {
    name: "sapwood search",
    arguments: "PATH WORD...",
    options: OPTIONS,
    text: TEXT,
    run: search,
};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    TOOL.main(args)
}

/// The manual page.
pub(crate) fn manual() -> Manual {
    TOOL.manual()
}

fn search(options: &Options, arguments: Vec<String>, out: &mut Output) -> SvnResult<ExitCode> {
    let Some((path, words @ [_, ..])) = arguments.split_first() else {
        return Ok(TOOL.wrong_usage("a repository and words are needed"));
    };
    let section = match options.value(IN.name())? {
        Some(name) => Section::named(&name).map_err(failure)?,
        None => Section::All,
    };
    let folder = options.value(INDEX.name())?.map_or_else(user_folders::caches, PathBuf::from);
    let repository = repo::open(path, &Options::default())?;
    let cancel = signals::cancel_token();
    let mut index = Index::up_to_date(&folder, &repository, &Scope::default(), &cancel)?;
    while index.older(&repository, &Scope::default(), &cancel)? {
        cancel.check()?;
    }
    let view = View::new(&repository, &Everything, &cancel);
    let hits = Hits::find(&view, &index, &question(words), section, None).map_err(failure)?;
    print(&hits, out)?;
    Ok(if hits.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The words as one question: an argument with spaces was quoted for the shell.
fn question(words: &[String]) -> String {
    let is_phrase = |word: &str| word.contains(char::is_whitespace) && !word.contains('"');
    let quoted = words.iter().map(|word| match word.split_once(':') {
        _ if !is_phrase(word) => word.clone(),
        Some((filter, value)) if !filter.contains(char::is_whitespace) => {
            format!("{filter}:\"{value}\"")
        }
        _ => format!("\"{word}\""),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn failure(fault: Fault) -> SvnError {
    match fault {
        Fault::Failed(error) => error,
        Fault::Bad(why) | Fault::TooMuch(why) => {
            SvnError::new(ErrorCode::CL_ARG_PARSING_ERROR, why)
        }
        Fault::TooLong => SvnError::new(ErrorCode::CANCELLED, "The search takes too long"),
        Fault::Missing => SvnError::new(ErrorCode::FS_NOT_FOUND, "There is no search index"),
    }
}

fn print(hits: &Hits, out: &mut Output) -> SvnResult<()> {
    for one in &hits.paths {
        out.text(&format!("{}{}\n", one.path.as_str(), if one.is_dir { "/" } else { "" }))?;
    }
    for change in &hits.revisions {
        let line = change.message.as_deref().unwrap_or("").trim().lines().next().unwrap_or("");
        let (author, date) = (change.author.as_deref(), change.date.as_deref());
        let (author, date) = (author.unwrap_or("(no author)"), date.unwrap_or("(no date)"));
        let day = date.get(..10).unwrap_or(date);
        out.text(&format!("r{} | {author} | {day} | {line}\n", change.revision))?;
    }
    for hit in &hits.texts {
        for (number, line) in &hit.lines {
            out.text(&format!("{}:{number}: {line}\n", hit.path.as_str()))?;
        }
    }
    for hit in &hits.properties {
        for line in &hit.lines {
            out.text(&format!("{}: {line}\n", hit.path.as_str()))?;
        }
    }
    for hit in &hits.changes {
        for (is_added, line) in &hit.lines {
            let sign = if *is_added { '+' } else { '-' };
            out.text(&format!("r{} {} {sign}{line}\n", hit.change.revision, hit.path.as_str()))?;
        }
    }
    if !hits.is_whole {
        out.text("The search ended early: more words or a path: make it quicker\n")?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_with_spaces_are_phrases() {
        let of = |words: &[&str]| {
            question(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(of(&["one", "two words", "ext:c"]), "one \"two words\" ext:c");
        assert_eq!(of(&["author:Ada Lovelace", "a b:c"]), "author:\"Ada Lovelace\" \"a b:c\"");
        assert_eq!(of(&["\"a b\" c"]), "\"a b\" c");
    }
}
