//! Help texts and `--version`, made from the tables.

use sapwood_core::SvnResult;

use super::experiments::commands;
use super::options::{GLOBAL, Opt};
use super::{COMMANDS, Command, Invocation, find};
use crate::command::{RA_MODULES, name, to_text, version_text};
use crate::report;

pub(super) const COMMAND: Command = Command {
    name: "help",
    aliases: &["?", "h"],
    help: "Describe the usage of this program or its subcommands.\n\
        usage: help [SUBCOMMAND...]\n",
    options: &[Opt::Verbose],
    overrides: &[(Opt::Verbose, "show options too that are global or experimental")],
    run,
    ..Command::DEFAULT
};

const HEADER: &str = "usage: svn <subcommand> [options] [args]\n\
    Subversion command-line client.\n\
    Type 'svn help <subcommand>' for help on a specific subcommand.\n\
    Type 'svn --version' to see the program version and RA modules,\n     \
         'svn --version --verbose' to see dependency versions as well,\n     \
         'svn --version --quiet' to see just the version number.\n\
    \n\
    Subcommands work on files and folders, and on all that is below the folders;\n\
    most of them take the current folder when nothing else is named.\n\
    \n\
    Available subcommands:\n";

const FOOTER: &str = "This is Sapwood's svn: Subversion built anew.\n\
    'sapwood help' names its other programs.\n";

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let verbose = invocation.opt.has(Opt::Verbose);
    if !invocation.args.is_empty() {
        for arg in std::mem::take(&mut invocation.args) {
            let arg = to_text(&arg)?;
            match find(&arg) {
                Some(command) => invocation.out.text(&of_command(command, verbose))?,
                None => invocation.out.stderr(&format!("\"{arg}\": unknown command.\n\n")),
            }
        }
        return Ok(());
    }
    if invocation.opt.has(Opt::Version) {
        let quiet = invocation.opt.has(Opt::Quiet);
        let mut text = version_text("svn", quiet, RA_MODULES);
        if !quiet {
            text.push_str(&credential_caches(invocation));
        }
        if verbose && !quiet {
            text.push_str(&system());
        }
        return invocation.out.text(&text);
    }
    invocation.out.text(&general(verbose))
}

/// Where credentials are kept.
fn credential_caches(invocation: &Invocation) -> String {
    let given = invocation.opt.session.os_value(name::CONFIG_DIR).map(std::path::PathBuf::from);
    let dir = given.or_else(crate::remote::config::user_dir);
    let mut text = "The following authentication credential caches are available:\n\n".to_owned();
    if let Some(dir) = dir {
        text.push_str(&format!("* Plaintext cache in {}\n", dir.display()));
    }
    text.push('\n');
    text
}

fn system() -> String {
    let uname = rustix::system::uname();
    format!(
        "System information:\n\n* running on {}-{}\n  - {} {}\n\n",
        std::env::consts::ARCH,
        std::env::consts::OS,
        uname.sysname().to_string_lossy(),
        uname.release().to_string_lossy(),
    )
}

fn general(verbose: bool) -> String {
    let mut text = format!("{HEADER}{}", list(COMMANDS));
    match (commands(), verbose) {
        ([], _) => {}
        (experiments, true) => {
            text.push_str(&format!("Experimental subcommands:\n{}", list(experiments)));
        }
        (_, false) => text.push_str("(Use '-v' to show experimental subcommands.)\n\n"),
    }
    text.push_str(FOOTER);
    text
}

/// The names of subcommands, a line each.
fn list(commands: &[Command]) -> String {
    let names = commands.iter().filter(|command| !command.name.is_empty()).map(title);
    names.map(|title| format!("   {title}\n")).chain(["\n".to_owned()]).collect()
}

/// A subcommand's name with its aliases.
fn title(command: &Command) -> String {
    if command.aliases.is_empty() {
        return command.name.to_owned();
    }
    format!("{} ({})", command.name, command.aliases.join(", "))
}

/// A subcommand's explanation, followed by its options.
fn of_command(command: &Command, verbose: bool) -> String {
    let mut text = format!("{}: {}", title(command), command.help);
    let (experimental, plain): (Vec<Opt>, Vec<Opt>) =
        command.options.iter().partition(|opt| opt.is_experimental());
    if !command.options.is_empty() {
        text.push_str("\nValid options:\n");
        describe(&mut text, &plain, command);
    }
    if verbose && !experimental.is_empty() {
        text.push_str("\nExperimental options:\n");
        describe(&mut text, &experimental, command);
    }
    if verbose {
        text.push_str("\nGlobal options:\n");
        describe(&mut text, GLOBAL, command);
    } else {
        text.push_str("\n(Use '-v' to show global and experimental options.)\n");
    }
    text.push('\n');
    text
}

fn describe(text: &mut String, options: &[Opt], command: &Command) {
    for opt in options {
        let about = command
            .overrides
            .iter()
            .find(|(other, _)| other == opt)
            .map_or(opt.spec().about, |(_, about)| about);
        text.push_str(&format!("  {:<24} : {about}\n", opt.display(true)));
    }
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    use crate::manual::{Manual, OptionText, Part};
    let described = |opt: &Opt, command: Option<&Command>| {
        let own = command.and_then(|c| c.overrides.iter().find(|(other, _)| other == opt));
        let option = OptionText { shown: opt.display(true), ..OptionText::of(opt.spec()) };
        own.map_or(option.clone(), |(_, about)| option.explained(about))
    };
    let part = |command: &Command| Part {
        title: title(command),
        names: [command.name].iter().chain(command.aliases).map(|n| (*n).to_owned()).collect(),
        text: command.help.to_owned(),
        options: command.options.iter().map(|opt| described(opt, Some(command))).collect(),
    };
    Manual {
        synopsis: vec![
            "svn SUBCOMMAND [OPTIONS] [ARGS]".to_owned(),
            "svn help SUBCOMMAND".to_owned(),
        ],
        text: "Works on files and folders of a working copy, and on URLs of a repository.\n\n\
            With SVN_EXPERIMENTAL_COMMANDS=shelf2 or shelf3 in the environment there are more \
            subcommands: x-shelve, x-unshelve and their kin put local changes aside and bring them \
            back. 'svn help -v' lists them."
            .to_owned(),
        options: GLOBAL.iter().map(|opt| described(opt, None)).collect(),
        parts: COMMANDS.iter().filter(|c| !c.name.is_empty()).map(part).collect(),
        files: vec![
            ("~/.subversion/config", "the user's configuration"),
            ("~/.subversion/servers", "configuration by server"),
        ],
        ..Manual::default()
    }
}

/// Says where help is to be found, after wrong usage.
pub(super) fn point_to() {
    report::stderr("Type 'svn help' for usage.\n");
}
