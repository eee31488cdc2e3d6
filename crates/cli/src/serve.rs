//! `sapwood serve PATH`: serves a repository, or a folder of repositories, with good defaults, and
//! says how to use it. `sapwood serve --demo` brings a repository of its own.

mod demo;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use sapwood_core::{ErrorCode, SvnError, SvnResult, uri};
use sapwood_repos::Repository;
use sapwood_server::listener::DEFAULT_PORT;
use sapwood_server::oplog::OpLog;
use sapwood_server::{Listener, Settings, Shared};

use crate::command::OptionSpec;
use crate::getopt::{Item, Parser};
use crate::output::{self, Output};
use crate::{report, svnserve};

const SPECS: &[OptionSpec] = &[
    OptionSpec::flag("demo", None, ""),
    OptionSpec::value("listen", None, ""),
    OptionSpec::value("port", None, ""),
    OptionSpec::value("log-file", None, ""),
    OptionSpec::flag("help", Some('h'), ""),
];

const HELP: &str = "\
usage: sapwood serve PATH
       sapwood serve --demo [PATH]

Serves the repository at PATH, or all repositories in the folder PATH, over svn://,
until Ctrl-C. Each repository's conf/svnserve.conf says who may read and write.

With --demo, a small repository with some history is made first, at PATH or in the
user's data folder, if there is none. Everybody may read it; the user 'demo' with the
password 'demo' may commit.

Options:
  --listen ADDRESS   listen there (127.0.0.1: this machine only; 0.0.0.0: everywhere)
  --port PORT        listen there (3690)
  --log-file FILE    write a line for each request
  -h [--help]        show this help
";

/// How many repositories of a folder are listed with their URLs.
const MAX_LISTED: usize = 20;

#[derive(Default)]
struct Options {
    demo: bool,
    help: bool,
    listen: Option<String>,
    port: Option<u16>,
    log_file: Option<PathBuf>,
    path: Option<PathBuf>,
}

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let options = match parse(args) {
        Ok(options) => options,
        Err(words) => {
            report::stderr(&format!("sapwood serve: {words}\n"));
            report::stderr("Type 'sapwood serve --help' for usage.\n");
            return ExitCode::FAILURE;
        }
    };
    if options.help {
        return output::print("sapwood serve", HELP);
    }
    match serve(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::exit_error(&error, "sapwood serve: ");
            ExitCode::FAILURE
        }
    }
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    let (usage, text) = HELP.split_once("\n\n").unwrap_or_default();
    crate::manual::Manual {
        synopsis: usage.lines().map(|l| l.trim_start_matches("usage:").trim().to_owned()).collect(),
        laid_out: text.to_owned(),
        ..crate::manual::Manual::default()
    }
}

fn parse(args: Vec<OsString>) -> Result<Options, String> {
    let mut options = Options::default();
    let mut parser = Parser::new(SPECS, args);
    while let Some(item) = parser.next()? {
        let (name, value) = match item {
            Item::Argument(path) if options.path.is_none() => {
                options.path = Some(path.into());
                continue;
            }
            Item::Argument(path) => {
                return Err(format!("one PATH only, not '{}' too", path.display()));
            }
            Item::Option(spec, value) => (spec.long, value.unwrap_or_default()),
        };
        match name {
            "demo" => options.demo = true,
            "help" => options.help = true,
            "listen" => options.listen = Some(value.to_string_lossy().into_owned()),
            "log-file" => options.log_file = Some(value.into()),
            _ => {
                let text = value.to_string_lossy();
                options.port = Some(text.parse().map_err(|_| format!("'{text}' is no port"))?);
            }
        }
    }
    if !options.help && !options.demo && options.path.is_none() {
        return Err("a repository, or a folder of repositories, is needed (or --demo)".to_owned());
    }
    Ok(options)
}

fn serve(options: &Options) -> SvnResult<()> {
    let path = options.path.clone().unwrap_or_else(demo::default_place);
    if options.demo {
        demo::unpack(&path).map_err(|e| {
            SvnError::io(&e, format_args!("Can't make the demonstration in '{}'", path.display()))
        })?;
    }
    let root = std::fs::canonicalize(&path)
        .map_err(|e| SvnError::io(&e, format_args!("Can't open '{}'", path.display())))?;
    let repositories = find_repositories(&root);
    if repositories.is_empty() {
        return Err(SvnError::new(
            ErrorCode::RA_SVN_REPOS_NOT_FOUND,
            format!("No repository found in '{}'", root.display()),
        ));
    }
    let log = options.log_file.as_deref().map(OpLog::file).transpose()?;
    let listener = listen(options)?;
    // A repository is served under its own name, as it would be in a folder of several.
    let served_root = if repositories == [root.clone()] {
        root.parent().unwrap_or(&root).to_owned()
    } else {
        root.clone()
    };
    let mut settings = Settings::new(served_root.clone());
    settings.limits.connections_per_address = settings.limits.connections;
    let only = (repositories == [root.clone()]).then(|| root.clone());
    settings.only = only;
    let shared = Arc::new(Shared::new(settings, log));
    let mut out = Output::stdout();
    let hello = hello(&listener, &served_root, &repositories, options.demo);
    told(out.text(&hello).and_then(|()| out.flush()))?;
    svnserve::serve(&listener, &shared, false)?;
    told(out.text("\nEnded.\n").and_then(|()| out.flush()))
}

/// Listens as asked. When no port was asked for and the usual one is taken, any will do.
fn listen(options: &Options) -> SvnResult<Listener> {
    let host = options.listen.as_deref().unwrap_or("127.0.0.1");
    let prefer_ipv6 = host.contains(':');
    match options.port {
        Some(port) => Listener::bind(Some(host), port, prefer_ipv6),
        None => Listener::bind(Some(host), DEFAULT_PORT, prefer_ipv6)
            .or_else(|_| Listener::bind(Some(host), 0, prefer_ipv6)),
    }
}

/// The repository at `root`, or those in it, sorted.
fn find_repositories(root: &Path) -> Vec<PathBuf> {
    let is_repository = |path: &Path| Repository::find_root(path).is_some_and(|top| top == path);
    if is_repository(root) {
        return vec![root.to_owned()];
    }
    let mut found: Vec<PathBuf> = std::fs::read_dir(root)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| is_repository(path))
        .collect();
    found.sort();
    found
}

/// Nobody need read what is said: the server serves without.
fn told(result: SvnResult<()>) -> SvnResult<()> {
    match result {
        Err(error) if error.code() == ErrorCode::IO_PIPE_WRITE_ERROR => Ok(()),
        other => other,
    }
}

fn hello(listener: &Listener, root: &Path, repositories: &[PathBuf], is_demo: bool) -> String {
    let port = listener.address().map_or(DEFAULT_PORT, |a| a.port());
    let host = match listener.address().map(|a| a.ip()) {
        Some(ip) if !ip.is_unspecified() && ip.is_ipv6() => format!("[{ip}]"),
        Some(ip) if !ip.is_unspecified() => ip.to_string(),
        _ => "localhost".to_owned(),
    };
    let host = if port == DEFAULT_PORT { host } else { format!("{host}:{port}") };
    let urls: Vec<String> = repositories
        .iter()
        .map(|repository| {
            let name = repository.strip_prefix(root).unwrap_or(repository).to_string_lossy();
            format!("svn://{host}/{}", uri::encode(&name))
        })
        .collect();
    let mut text = String::from("Serving:\n");
    for url in urls.iter().take(MAX_LISTED) {
        text.push_str(&format!("  {url}\n"));
    }
    if urls.len() > MAX_LISTED {
        text.push_str(&format!("  ... and {} more\n", urls.len().saturating_sub(MAX_LISTED)));
    }
    if let Some(url) = urls.first() {
        text.push_str(&format!(
            "\nTry:\n  svn log -v {url}\n  svn ls -R {url}\n  svn checkout {url}\n"
        ));
        if is_demo {
            let user = "--username demo --password demo";
            text.push_str(&format!("  svn mkdir -m 'Something new.' {user} {url}/branches/new\n"));
        }
    }
    text.push_str("\nCtrl-C ends it.\n");
    text
}
