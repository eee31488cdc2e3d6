//! `sapwood user`: the accounts of `sapwood serve`: users, passwords, groups and tokens. The crate `accounts` has the
//! rules and the file; this file has the command line, and `show` what is printed.

mod show;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use sapwood_accounts::{AccountsFile, Token, TokenScope};
use sapwood_core::date::{MICROS_PER_SEC, Timestamp};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::command::{OptionSpec, Options, name};
use crate::manual::Manual;
use crate::output::Output;
use crate::question::ask_hidden;
use crate::remote::prompt;
use crate::tool::Tool;

/// The file that is meant when none is named.
const DEFAULT_FILE: &str = "/var/lib/sapwood/accounts.toml";

const FILE: OptionSpec =
    OptionSpec::value("accounts", None, "the file of accounts (/var/lib/sapwood/accounts.toml)");
const GROUP: OptionSpec = OptionSpec::value("group", None, "put a new user into group ARG");
const NO_PASSWORD: OptionSpec =
    OptionSpec::flag("no-password", None, "a new user logs in by tokens only");
const READ_ONLY: OptionSpec = OptionSpec::flag("read-only", None, "a new token may only read");
const REPOSITORY: OptionSpec = OptionSpec::value(
    "repository",
    None,
    "a new token is for repository ARG only (several times: for these)",
);
const DAYS: OptionSpec = OptionSpec::value("days", None, "a new token ends after ARG days");

const OPTIONS: &[OptionSpec] = &[
    FILE,
    GROUP,
    NO_PASSWORD,
    name::PASSWORD_FROM_STDIN.flag(None, "the password is a line of standard input"),
    READ_ONLY,
    REPOSITORY,
    DAYS,
    name::HELP.flag(Some('h'), "print this"),
    name::HELP_MARK.flag(Some('?'), "print this"),
];

const TEXT: &str = "\
Looks after the accounts that a [[location]] of 'sapwood serve' names with 'accounts'. A change counts
from the next request on, without a reload of the server.

  add USER                 add a user, whose password is asked for
  passwd USER              change a password
  disable USER             let a user in no more, by password or token
  enable USER              let a disabled user in again
  remove USER              remove a user, with all tokens
  groups USER [GROUP...]   put a user into these groups, and into no others
  list                     list all users
  show USER                show a user, with the tokens and when each was used last
  add-token USER TOKEN     make a token, which a client sends in place of the password; it is
                           printed once, and kept nowhere
  revoke-token USER TOKEN  end a token

In an authz file, 'group:GROUP' as a member of a group stands for the users in GROUP:

  [groups]
  developers = group:devs, bob

A repository has the name that authz files have for it.
";

static TOOL: Tool = Tool {
    name: "sapwood user",
    arguments: "ACTION [ARG...]",
    options: OPTIONS,
    text: TEXT,
    run: run_action,
};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    TOOL.main(args)
}

/// The manual page.
pub(crate) fn manual() -> Manual {
    TOOL.manual()
}

fn run_action(options: &Options, arguments: Vec<String>, out: &mut Output) -> SvnResult<ExitCode> {
    let path = options.value(FILE.name())?.unwrap_or_else(|| DEFAULT_FILE.to_owned());
    let file = AccountsFile::at(Path::new(&path));
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["add", user] => add(options, &file, user, out)?,
        ["passwd", user] => {
            // No password is asked for where there is no such user.
            file.read()?.user(user)?;
            let password = new_password(options, user)?;
            file.change(|accounts| accounts.set_password(user, &password))?;
            out.text(&format!("The password of '{user}' is changed.\n"))?;
        }
        [action @ ("disable" | "enable"), user] => {
            file.change(|accounts| accounts.set_disabled(user, *action == "disable"))?;
            out.text(&format!("User '{user}' is {action}d.\n"))?;
        }
        ["remove", user] => {
            file.change(|accounts| accounts.remove(user))?;
            out.text(&format!("User '{user}' is removed.\n"))?;
        }
        ["groups", user, groups @ ..] => {
            let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
            file.change(|accounts| accounts.set_groups(user, &groups))?;
            out.text(&format!("Groups of '{user}': {}\n", show::list(&groups)))?;
        }
        ["list"] => out.text(&show::all(&file.read()?))?,
        ["show", user] => out.text(&show::one(&file, user)?)?,
        ["add-token", user, token] => add_token(options, &file, (user, token), out)?,
        ["revoke-token", user, token] => {
            file.change(|accounts| accounts.revoke_token(user, token))?;
            out.text(&format!("Token '{token}' of '{user}' is revoked.\n"))?;
        }
        [] => return Ok(TOOL.wrong_usage("an action is needed")),
        [action, ..] => {
            let what = format!("wrong arguments, or no action: '{action}'");
            return Ok(TOOL.wrong_usage(&what));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn add(options: &Options, file: &AccountsFile, user: &str, out: &mut Output) -> SvnResult<()> {
    let groups = options.values(GROUP.name())?;
    let password = match options.has(NO_PASSWORD.name()) {
        true => None,
        false => Some(new_password(options, user)?),
    };
    file.change(|accounts| accounts.add(user, password.as_deref(), &groups))?;
    out.text(&format!("User '{user}' is added.\n"))
}

/// A password that is typed twice, or comes from standard input.
fn new_password(options: &Options, user: &str) -> SvnResult<String> {
    if options.has(name::PASSWORD_FROM_STDIN) {
        return prompt::stdin_line();
    }
    let password = ask_hidden(&format!("New password for '{user}': "))?;
    if ask_hidden("The same again: ")? != password {
        return Err(SvnError::new(ErrorCode::INCORRECT_PARAMS, "The passwords differ"));
    }
    Ok(password)
}

fn add_token(
    options: &Options,
    file: &AccountsFile,
    (user, name): (&str, &str),
    out: &mut Output,
) -> SvnResult<()> {
    let now = Timestamp::now();
    let expires = options.value(DAYS.name())?.map(|days| after_days(now, &days)).transpose()?;
    let scope = TokenScope {
        read_only: options.has(READ_ONLY.name()),
        repositories: options.values(REPOSITORY.name())?,
    };
    let (token, text) = Token::make(scope, now, expires)?;
    file.change(|accounts| accounts.add_token(user, name, token))?;
    out.text(&format!("{text}\n"))
}

/// The end of a token.
fn after_days(now: Timestamp, days: &str) -> SvnResult<Timestamp> {
    let wrong = || {
        let message = format!("'{days}' is no number of days from 1 to 36500");
        SvnError::new(ErrorCode::CL_ARG_PARSING_ERROR, message)
    };
    let number = days.parse::<i64>().ok().filter(|days| (1..=36_500).contains(days));
    let micros = number.and_then(|days| days.checked_mul(24 * 60 * 60 * MICROS_PER_SEC));
    micros.and_then(|micros| now.0.checked_add(micros)).map(Timestamp).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_now() {
        let now = Timestamp(1_000);
        assert_eq!(after_days(now, "1").unwrap(), Timestamp(86_400_001_000));
        for wrong in ["0", "-1", "36501", "x", "", "9223372036854775807"] {
            assert!(after_days(now, wrong).is_err(), "{wrong}");
        }
    }
}
