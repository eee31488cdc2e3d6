//! `svnauthz`: checks authz files and prints what they allow; `svnauthz-validate`, its old form.

use std::ffi::OsString;
use std::process::ExitCode;

use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, NodeKind, SvnError, SvnResult, path};
use sapwood_fs::Root;
use sapwood_repos::{Access, Authz, ConfigSource};

use crate::command::{
    HELP, HELP_MARK, Invocation, OptionSpec, Program, Runner, Subcommand, VERSION, name,
    usage_error,
};
use crate::report;

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    SVNAUTHZ.main(args)
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    SVNAUTHZ.manual()
}

/// The `main` of the program's old form, which takes a file and no options.
pub(crate) fn run_validate(args: Vec<OsString>) -> ExitCode {
    let mut all = vec![OsString::from("help")];
    if !args.is_empty() {
        all = vec![OsString::from("validate"), OsString::from("--")];
        all.extend(args);
    }
    SVNAUTHZ.main(all)
}

const OPTIONS: &[OptionSpec] = &[
    HELP,
    HELP_MARK,
    VERSION,
    name::USERNAME.value(None, "the user to ask for, else an anonymous one"),
    name::PATH.value(None, "the path in the repository to ask for"),
    name::REPOSITORY.value(None, "the repository's name in the authz file"),
    name::TRANSACTION.value(Some('t'), "the transaction called ARG"),
    name::IS.value(
        None,
        "print nothing, but test whether access is exactly ARG:\n                             \
         \x20  rw    reading and writing\n                             \
         \x20   r    reading only\n                             \
         \x20  no    nothing",
    ),
    name::GROUPS_FILE.value(None, "take the groups from file ARG"),
    name::RECURSIVE.flag(Some('R'), "access to all that is below the path, too"),
];

static SVNAUTHZ: Program = Program {
    name: "svnauthz",
    help_header: "general usage: svnauthz SUBCOMMAND TARGET [ARGS & OPTIONS ...]\n               \
        svnauthz-validate TARGET\n\
        \n\
        Under a name that starts with 'svnauthz-validate', it behaves as before 1.8: it\n\
        runs the 'validate' subcommand on TARGET.\n\
        \n\
        Type 'svnauthz help <subcommand>' for help on a specific subcommand.\n\
        Type 'svnauthz --version' to see the program version.\n\
        \n\
        Available subcommands:\n",
    options: OPTIONS,
    version_options: &[],
    failure: 2,
    bare_is_help: false,
    suggest_help: |error| {
        let text = error.message();
        text.starts_with("--recursive") || text.ends_with("for --is")
    },
    on_error: |error| match error.code() {
        ErrorCode::AUTHZ_INVALID_CONFIG | ErrorCode::MALFORMED_FILE => Some(1),
        ErrorCode::AUTHZ_UNREADABLE
        | ErrorCode::AUTHZ_UNWRITABLE
        | ErrorCode::AUTHZ_PARTIALLY_READABLE => Some(3),
        _ => None,
    },
    subcommands: &[
        Subcommand::help(
            "usage: svnauthz help [SUBCOMMAND...]\n\n\
                 Explain this program or its subcommands.\n",
        ),
        Subcommand {
            name: "validate",
            aliases: &[],
            help: "Checks an authz file.\n\
                 usage: 1. svnauthz validate TARGET\n       \
                 2. svnauthz validate --transaction TXN REPOS_PATH FILE_PATH\n\n  \
                 1. The file is a local one, or a file:// URL into a repository.\n\n  \
                 2. The file is in a transaction of a repository.\n\n\
                 Returns:\n    0   when it is valid\n    1   when it is not\n    \
                 2   when it could not be looked at\n",
            options: &[name::TRANSACTION],
            overrides: &[],
            run: Runner::Arguments(validate),
        },
        Subcommand {
            name: "accessof",
            aliases: &[],
            help: "Tells what an authz file allows.\n\
                 usage: 1. svnauthz accessof TARGET\n       \
                 2. svnauthz accessof -t TXN REPOS_PATH FILE_PATH\n\n  \
                 1. The file is a local one, or a file:// URL into a repository.\n\n  \
                 2. The file is in a transaction of a repository.\n\n  \
                 Asks for the user --username (an anonymous one) at --path (anywhere in the\n  \
                 repository).\n\n\
                 Prints one of these:\n     rw    reading and writing\n      r    reading\n     \
                 no    nothing\n\n\
                 Returns:\n    0   when the file is valid, and access is what --is says\n    \
                 1   when the file is not valid\n    2   when it could not be looked at\n    \
                 3   when access is not what --is says\n",
            options: &[
                name::TRANSACTION,
                name::USERNAME,
                name::PATH,
                name::REPOSITORY,
                name::IS,
                name::GROUPS_FILE,
                name::RECURSIVE,
            ],
            overrides: &[],
            run: Runner::Arguments(accessof),
        },
    ],
    ..Program::DEFAULT
};

/// A file argument in the form in which it is read.
fn file_argument(arg: &str, in_transaction: bool) -> SvnResult<String> {
    if arg.starts_with("^/") {
        return Err(usage_error(format!(
            "'{arg}' is a repository relative URL when it should be a local path or file:// URL"
        )));
    }
    let is_url = crate::repo::is_url(arg);
    if is_url && in_transaction {
        return Err(usage_error(format!(
            "'{arg}' is a URL when it should be a repository-relative path"
        )));
    }
    Ok(if is_url {
        arg.trim_end_matches('/').to_owned()
    } else if in_transaction {
        path::canonical_fspath(arg).into_owned()
    } else {
        crate::repo::canonical_path(arg)
    })
}

fn read_in_transaction(root: &Root, file: &FsPath) -> SvnResult<Vec<u8>> {
    let node = root.find(file)?.filter(|node| node.kind() == NodeKind::File);
    let Some(node) = node else {
        let text = format!("Path '{file}' is not a file");
        return Err(SvnError::new(ErrorCode::FS_NOT_FILE, text));
    };
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut node.contents()?, &mut bytes)
        .map_err(|e| crate::output::write_error(&e))?;
    Ok(bytes)
}

/// Reads the authz file that the arguments name.
fn read(invocation: &mut Invocation<'_>) -> SvnResult<Authz> {
    let prefix = invocation.prefix();
    let mut warn = |warning: SvnError| report::warning(&warning, &prefix);
    let transaction = invocation.options.value(name::TRANSACTION)?;
    let groups = invocation.options.value(name::GROUPS_FILE)?;
    let in_transaction = transaction.is_some();
    let args = invocation.take_args(0, usize::MAX)?;
    let (repository, file) = match (args.as_slice(), in_transaction) {
        ([repository, file], true) => (crate::repo::canonical_path(repository), file),
        (_, true) => return Err(usage_error("Repository and authz file arguments required")),
        ([file], false) => (String::new(), file),
        (_, false) => return Err(usage_error("Authz file argument required")),
    };
    let file = file_argument(file, in_transaction)?;
    let groups = groups.map(|groups| file_argument(&groups, in_transaction)).transpose()?;
    if let Some(name) = transaction {
        let repository = crate::repo::open(&repository, &invocation.options)?;
        let root = repository.fs().txn_root(&name)?;
        let rules = read_in_transaction(&root, &FsPathBuf::canonicalize(&file))?;
        let groups = groups
            .map(|groups| read_in_transaction(&root, &FsPathBuf::canonicalize(&groups)))
            .transpose()?;
        return Authz::parse(&rules, groups.as_deref(), &mut warn)
            .map_err(|e| e.context(format!("Error parsing authz file: '{file}':")));
    }
    let (caches, options) = crate::repo::caches(&invocation.options)?;
    let source = ConfigSource { caches: &caches, options: &options, must_exist: true };
    Authz::read(&source, &file, groups.as_deref(), "authz", &mut warn)
}

fn validate(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    read(invocation).map(drop)
}

fn accessof(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let options = &invocation.options;
    let recursive = options.has(name::RECURSIVE);
    let user = options.value(name::USERNAME)?;
    let repository = options.value(name::REPOSITORY)?.unwrap_or_default();
    let path = options.value(name::PATH)?.map(|p| FsPathBuf::canonicalize(&p));
    let is = options.value(name::IS)?;
    if recursive && path.is_none() {
        return Err(usage_error("--recursive not valid without --path"));
    }
    if let Some(is) = &is
        && !matches!(is.as_str(), "rw" | "r" | "no")
    {
        return Err(usage_error(format!("'{is}' is not a valid argument for --is")));
    }
    let rules = read(invocation)?.for_user(&repository, user.as_deref());
    let allows = |access| rules.allows(path.as_deref(), access, recursive);
    let access = if allows(Access::WRITE) {
        "rw"
    } else if allows(Access::READ) {
        "r"
    } else {
        "no"
    };
    let Some(is) = is else { return invocation.out.text(&format!("{access}\n")) };
    let what = path.as_deref().map_or("Repository", FsPath::as_str);
    match (is.as_str(), access) {
        ("rw", "r" | "no") => Err(SvnError::new(
            ErrorCode::AUTHZ_UNWRITABLE,
            format!("{what} is '{access}', not writable"),
        )),
        ("r", "rw" | "no") => Err(SvnError::new(
            ErrorCode::AUTHZ_UNREADABLE,
            format!("{what} is '{access}', not read only"),
        )),
        ("no", "rw" | "r") => Err(SvnError::new(
            ErrorCode::AUTHZ_PARTIALLY_READABLE,
            format!("{what} is '{access}', not no access"),
        )),
        _ => Ok(()),
    }
}
