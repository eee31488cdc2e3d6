//! `svnmucc`: several changes to URLs, committed as one revision. Options, arguments and messages
//! are here; `sapwood_client::url_changes` collects the changes and commits them.

mod actions;
mod source;

use std::cell::RefCell;
use std::ffi::OsString;
use std::process::ExitCode;

use sapwood_client::url_changes::{Plan, anchor, commit};
use sapwood_core::paths::{Url, UrlBuf};
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, PropList, Revnum, SvnError, SvnResult};
use sapwood_ra::{CommitInfo, Settings};

use crate::command::{
    Name, OptionSpec, Options, RA_MODULES, name, plain_text, to_text, usage_error, version_text,
};
use crate::getopt::{Item, Parser};
use crate::output::{self, Output};
use crate::pegs::{Of, Part};
use crate::remote::target::any_canonical_url;
use crate::remote::{self, Credentials, Manner, editor, revprops};
use crate::{input, locale, repo, report};

const HELP: &str = "usage: svnmucc ACTION...\n\
    Commits one or more changes of URLs as one revision.\n\
    Type 'svnmucc --version' to see the program version and RA modules.\n\
    \n\
    Actions:\n  \
      cp REV SRC-URL DST-URL : copy SRC-URL as of REV (or HEAD) to DST-URL\n  \
      mkdir URL              : make the directory URL\n  \
      mv SRC-URL DST-URL     : move SRC-URL to DST-URL\n  \
      rm URL                 : delete URL\n  \
      put SRC-FILE URL       : make or change the file URL: its contents are those of\n                           \
      SRC-FILE (\"-\" after \"--\": of standard input)\n  \
      propset NAME VALUE URL : set the property NAME of URL to VALUE\n  \
      propsetf NAME FILE URL : set the property NAME of URL to what FILE contains\n  \
      propdel NAME URL       : delete the property NAME of URL\n\
    \n\
    Valid options:\n";

const OPTIONS: &[OptionSpec] = &[
    name::HELP.flag(Some('h'), "print this"),
    name::HELP_MARK.flag(Some('?'), "print this"),
    name::MESSAGE.value(Some('m'), "the log message is ARG"),
    name::FILE.value(Some('F'), "the log message is in the file ARG"),
    name::USERNAME.value(Some('u'), "commit as the user ARG"),
    name::PASSWORD.value(Some('p'), "log in with the password ARG"),
    remote::PASSWORD_FROM_STDIN,
    name::ROOT_URL.value(Some('U'), "URLs of actions are relative to ARG"),
    name::REVISION.value(Some('r'), "the changes are to revision ARG"),
    name::WITH_REVPROP.value(None, "set a revision property, ARG is NAME[=VALUE]"),
    remote::NON_INTERACTIVE,
    remote::FORCE_INTERACTIVE,
    remote::TRUST_SERVER_CERT,
    remote::TRUST_SERVER_CERT_FAILURES,
    name::EXTRA_ARGS.value(
        Some('X'),
        "take more arguments from the file ARG, one a line\n                             \
         (\"-\": from standard input)",
    ),
    remote::CONFIG_DIR,
    remote::CONFIG_OPTION,
    remote::NO_AUTH_CACHE,
    name::VERSION.flag(None, "say which version this is"),
];

/// The error for arguments that make no sense.
pub(super) fn wrong(text: impl Into<String>) -> SvnError {
    SvnError::new(ErrorCode::INCORRECT_PARAMS, text)
}

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let mut out = Output::stdout();
    let result = sub_main(args, &mut out);
    match result.and_then(|code| out.flush().map(|()| code)) {
        Ok(code) => code,
        Err(error) => {
            let _ = out.flush();
            report::exit_error(&error, "svnmucc: ");
            ExitCode::FAILURE
        }
    }
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    let specs = OPTIONS.iter().filter(|option| !option.long.is_empty());
    let lines = HELP.split("\n\nValid options").next().unwrap_or("");
    crate::manual::Manual {
        synopsis: vec!["svnmucc [OPTIONS] ACTION...".to_owned()],
        text: "Commits one or more changes of URLs as one revision, without a working copy."
            .to_owned(),
        laid_out: lines.split_once("\n\n").map_or("", |(_, rest)| rest).to_owned(),
        options: specs.map(crate::manual::OptionText::of).collect(),
        ..crate::manual::Manual::default()
    }
}

fn help() -> String {
    let mut text = HELP.to_owned();
    for option in OPTIONS.iter().filter(|option| !option.long.is_empty()) {
        text.push_str(&option.line());
    }
    text
}

/// The arguments on the command line.
struct Arguments {
    options: Options,
    root_url: Option<UrlBuf>,
    base: Option<Revnum>,
    revprops: PropList,
    filedata: Option<Vec<u8>>,
    arguments: Vec<String>,
}

/// Parses the command line; `None` when it was wrong, which is already reported.
fn take(args: Vec<OsString>) -> SvnResult<Option<Arguments>> {
    let mut given = Arguments {
        options: Options::default(),
        root_url: None,
        base: None,
        revprops: PropList::new(),
        filedata: None,
        arguments: Vec::new(),
    };
    let mut parser = Parser::new(OPTIONS, args);
    loop {
        match parser.next() {
            Ok(None) => return Ok(Some(given)),
            Ok(Some(Item::Argument(arg))) => given.arguments.push(to_text(&arg)?),
            Ok(Some(Item::Option(spec, value))) => {
                if let Some(value) = &value {
                    let taken_as_it_is =
                        [name::USERNAME, name::PASSWORD, name::REVISION, name::WITH_REVPROP];
                    let as_text = match taken_as_it_is.contains(&spec.name()) {
                        true => plain_text(value)?,
                        false => to_text(value)?,
                    };
                    take_value(&mut given, spec.name(), &as_text)?;
                }
                given.options.push(spec.name(), value);
            }
            Err(what) => {
                report::as_it_is(&format!("svnmucc: {what}\nType 'svnmucc --help' for usage.\n"));
                return Ok(None);
            }
        }
    }
}

fn take_value(given: &mut Arguments, option: Name, value: &str) -> SvnResult<()> {
    match option {
        name::FILE => {
            // The reference takes a message for a C string.
            let mut bytes = input::contents(value)?;
            bytes.truncate(bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len()));
            given.filedata = Some(bytes);
        }
        name::ROOT_URL => {
            if !repo::is_url(value) {
                return Err(wrong(format!("'{value}' is not a URL\n")));
            }
            let value = Of::all("svnmucc", Part::Root).whole(value)?;
            given.root_url = Some(any_canonical_url(&value)?);
        }
        name::REVISION => {
            let number = value.trim_start_matches('r').parse::<u64>().ok();
            let number = number.filter(|n| i64::try_from(*n).is_ok());
            given.base = Some(Revnum(
                number.ok_or_else(|| usage_error(format!("Invalid revision number '{value}'")))?,
            ));
        }
        name::WITH_REVPROP => revprops::take(&mut given.revprops, value)?,
        name::CONFIG_OPTION => remote::config::check(value, "svnmucc")?,
        _ => {}
    }
    Ok(())
}

fn sub_main(args: Vec<OsString>, out: &mut Output) -> SvnResult<ExitCode> {
    let Some(mut given) = take(args)? else { return Ok(ExitCode::FAILURE) };
    if given.options.has(name::HELP) || given.options.has(name::HELP_MARK) {
        output::help(&help());
        return Ok(ExitCode::SUCCESS);
    }
    if given.options.has(name::VERSION) {
        out.text(&version_text("svnmucc", false, RA_MODULES))?;
        return Ok(ExitCode::SUCCESS);
    }
    let manner = Manner {
        prefix: "svnmucc: ",
        makes_folder: false,
        looks_for_terminal: true,
        unreadable: crate::remote::config::Unreadable::Warns,
    };
    remote::check(&given.options, remote::is_non_interactive(&given.options, manner))?;
    take_extra_arguments(&mut given)?;
    let credentials = Credentials::from_options(&given.options)?;
    let settings = remote::settings(&given.options, credentials, manner)?;
    let message = log_message(&mut given)?;
    if given.arguments.iter().any(|a| matches!(a.as_str(), "?" | "h" | "help"))
        && matches!(given.arguments.first().map(String::as_str), Some("?" | "h" | "help"))
    {
        out.text(&help())?;
        return Ok(ExitCode::SUCCESS);
    }
    let actions = actions::parse(&given.arguments, given.root_url.as_deref())?;
    let Some(anchor) = anchor(&actions)? else {
        report::stderr(&help());
        return Ok(ExitCode::FAILURE);
    };
    let session = sapwood_ra::open(&anchor, &settings)?;
    let mut plan = Plan::new(session.as_ref(), given.base)?;
    let relative = |url: &Url| url.relpath(&anchor);
    for action in actions {
        action.enter(&mut plan, &relative)?;
    }
    let is_interactive = !remote::is_non_interactive(&given.options, manner);
    if let Some(info) = commit_plan(plan, &given.revprops, &settings, (message, is_interactive))? {
        report_commit(out, &info)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Commits with a log message, which is asked of an editor where there is none and a person is there. One that cannot be
/// committed stays in its file.
fn commit_plan(
    plan: Plan<'_>,
    revprops: &PropList,
    settings: &Settings,
    (message, is_interactive): (Option<Vec<u8>>, bool),
) -> SvnResult<Option<CommitInfo>> {
    let left = RefCell::new(None);
    let message = || match message {
        Some(message) => Ok(Some(message)),
        None if !is_interactive => Err(SvnError::new(
            ErrorCode::CL_INSUFFICIENT_ARGS,
            "Cannot invoke editor to get log message when non-interactive",
        )),
        None => {
            let (text, path) = editor::log_message("svnmucc-commit", &settings.config)?;
            left.replace(Some(path));
            Ok(text)
        }
    };
    let done = commit(plan, revprops, &settings.cancel, message);
    match (done, left.take()) {
        (Err(error), Some(path)) => Err(editor::left_in(error, editor::MESSAGE, &path)),
        (done, path) => {
            path.into_iter().for_each(|path| drop(std::fs::remove_file(path)));
            done
        }
    }
}

/// Reads more arguments from the file of `--extra-args`, one a line.
fn take_extra_arguments(given: &mut Arguments) -> SvnResult<()> {
    let Some(path) = given.options.value(name::EXTRA_ARGS)? else { return Ok(()) };
    let text = match String::from_utf8(input::contents(&path)?) {
        Ok(text) => text,
        Err(other) => locale::decode(other.into_bytes())?,
    };
    let lines = text.split(['\n', '\r']).filter(|line| !line.is_empty());
    given.arguments.extend(lines.map(str::to_owned));
    Ok(())
}

fn report_commit(out: &mut Output, info: &CommitInfo) -> SvnResult<()> {
    out.text(&format!(
        "r{} committed by {} at {}\n",
        info.revision,
        info.author.as_deref().unwrap_or("(no author)"),
        info.date.as_deref().unwrap_or("(null)"),
    ))?;
    match &info.post_commit_error {
        Some(warning) => out.text(&format!("\nWarning: {warning}\n")),
        None => Ok(()),
    }
}

/// The log message, if one of the ways to give one was used. At most one may be.
fn log_message(given: &mut Arguments) -> SvnResult<Option<Vec<u8>>> {
    let message = given.options.value(name::MESSAGE)?;
    let from_prop = given.revprops.remove(names::LOG);
    let ways = [message.is_some(), given.filedata.is_some(), from_prop.is_some()];
    if ways.into_iter().filter(|way| *way).count() > 1 {
        return Err(usage_error(
            "--message (-m), --file (-F), and --with-revprop=svn:log are mutually exclusive",
        ));
    }
    let text = from_prop.or(given.filedata.take()).or(message.map(String::into_bytes));
    text.map(|text| revprops::normalized(&text, "Error normalizing log message to internal format"))
        .transpose()
}
