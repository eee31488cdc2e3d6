//! `svnversion`: a working copy in one line, for version stamps.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use sapwood_core::paths::absolute_from;
use sapwood_core::{CancelToken, SvnError, SvnResult};
use sapwood_wc::{Options, WorkingCopy};

use crate::command::{HELP, OptionSpec, VERSION, to_text, version_text};
use crate::getopt::{Item, Parser};
use crate::manual::{Manual, OptionText};
use crate::output::Output;
use crate::pegs::{Of, Part};
use crate::report;

static OPTIONS: &[OptionSpec] = &[
    OptionSpec::flag("no-newline", Some('n'), "end the line without a newline"),
    OptionSpec::flag("committed", Some('c'), "revisions of last changes, not those checked out"),
    HELP,
    VERSION,
    OptionSpec::flag("quiet", Some('q'), "with --version, only the number"),
];

const TEXT: &str = "\
Prints one line about the working copy at WC_PATH (the current folder if none is given): its
revision, or the lowest and the highest one with a colon between, then letters:

  M  something is modified
  S  something is switched
  P  something is left out

TRAIL_URL is the end of the URL that WC_PATH should have; another one counts as switched. For what
is not versioned the line says what it is.

  4123         one revision, unmodified, not switched, all of it
  4123:4168    mixed revisions
  4123:4168MS  mixed, modified and partly switched
";

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    match line(args) {
        Ok(code) => code,
        Err(error) => {
            report::exit_error(&error, "svnversion: ");
            ExitCode::FAILURE
        }
    }
}

/// The manual page.
pub(crate) fn manual() -> Manual {
    Manual {
        synopsis: vec!["[OPTIONS] [WC_PATH [TRAIL_URL]]".to_owned()],
        laid_out: TEXT.to_owned(),
        options: OPTIONS.iter().map(OptionText::of).collect(),
        ..Manual::default()
    }
}

fn usage() -> ExitCode {
    report::stderr("Type 'svnversion --help' for usage.\n");
    ExitCode::FAILURE
}

fn line(args: Vec<OsString>) -> SvnResult<ExitCode> {
    let mut given = Vec::new();
    let mut words = Vec::new();
    let mut parser = Parser::new(OPTIONS, args);
    loop {
        match parser.next() {
            Ok(None) => break,
            Ok(Some(Item::Argument(arg))) => words.push(to_text(&arg)?),
            Ok(Some(Item::Option(spec, _))) => given.push(spec.long),
            Err(what) => {
                report::as_it_is(&format!("svnversion: {what}\n"));
                return Ok(usage());
            }
        }
    }
    let has = |name: &str| given.contains(&name);
    let mut out = Output::stdout();
    if has("help") {
        let options: String = OPTIONS.iter().map(OptionSpec::line).collect();
        out.text(&format!(
            "usage: svnversion [OPTIONS] [WC_PATH [TRAIL_URL]]\n{TEXT}\nValid options:\n{options}\n"
        ))?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    if has("version") {
        out.text(&version_text("svnversion", has("quiet"), ""))?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    if words.len() > 2 {
        return Ok(usage());
    }
    let end = if has("no-newline") { "" } else { "\n" };
    let path = words.first().map_or(".", String::as_str);
    let trail = words.get(1).map(String::as_str);
    let Some(text) = describe(path, trail, has("committed"))? else {
        return Ok(ExitCode::FAILURE);
    };
    out.text(&format!("{text}{end}"))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The line; `None` when there is nothing at the path, which is already reported.
fn describe(path: &str, trail: Option<&str>, committed: bool) -> SvnResult<Option<String>> {
    let here =
        std::env::current_dir().map_err(|e| SvnError::io(&e, "Can't get working directory"))?;
    let abspath =
        absolute_from(&here, Path::new(&Of::all("svnversion", Part::Folder).whole(path)?));
    let summary = WorkingCopy::find(&abspath, Options::default())
        .and_then(|(wc, relpath)| wc.summary(&relpath, trail, committed, &CancelToken::new()))
        .map_err(SvnError::from);
    let summary = match summary {
        Err(e) if e.is_not_versioned() => {
            return Ok(unversioned(&abspath));
        }
        other => other?,
    };
    let Some((least, most)) = summary.revisions else {
        return Ok(Some("Uncommitted local addition, copy or move".to_owned()));
    };
    let mut text = least.to_string();
    if most != least {
        text.push_str(&format!(":{most}"));
    }
    for (on, letter) in [(summary.modified, 'M'), (summary.switched, 'S'), (summary.sparse, 'P')] {
        if on {
            text.push(letter);
        }
    }
    Ok(Some(text))
}

fn unversioned(path: &Path) -> Option<String> {
    let word = match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => "symlink",
        Ok(found) if found.is_dir() => "directory",
        Ok(found) if found.is_file() => "file",
        Ok(_) => {
            report::stderr(&format!("'{}' is of unknown type\n", path.display()));
            return None;
        }
        Err(_) => {
            report::stderr(&format!("'{}' doesn't exist\n", path.display()));
            return None;
        }
    };
    Some(format!("Unversioned {word}"))
}
