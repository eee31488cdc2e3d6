//! `sapwood serve PATH`: serves a repository, or a folder of repositories, with good defaults, and
//! says how to use it. `sapwood serve --demo` brings a repository of its own.

mod acme;
mod check;
mod config;
mod demo;
mod directories;
mod disk;
mod hello;
mod https;
mod lines;
mod listed;
mod notifications;
mod options;
mod reload;
mod secret_file;
mod servers;
mod sign_in;
mod sockets;
mod status;
mod together;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_server::common::current::Current;
use sapwood_server::common::search_indexer::SearchIndexer;
use sapwood_server::dav::settings::HttpSettings;
use sapwood_server::dav::{Http, HttpServer};
use sapwood_server::{ServerState, Settings};

use self::hello::{authority, hello, hello_places};
use self::https::tls_settings;
use self::lines::Problem;
use self::listed::find_repositories;
use self::options::{HELP, Options, parse};
use self::reload::Reload;
use self::together::take_config;
pub(crate) use self::together::{examined, metrics_address};
use crate::output::{self, Output};
use crate::{report, svnserve, user_folders};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let options = match parse(args.clone()) {
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
    let checks = options.check;
    let served = take_config(options).and_then(|(options, problems)| {
        let is_fatal = problems.iter().any(|problem| !problem.is_warning);
        say(&options.file, &problems);
        match (checks, problems.is_empty()) {
            (true, true) => Ok(output::print("sapwood serve", "The configuration is sound.\n")),
            (true, false) => Ok(ExitCode::FAILURE),
            (false, _) if is_fatal => Ok(ExitCode::FAILURE),
            (false, _) => serve(args, options).map(|()| ExitCode::SUCCESS),
        }
    });
    served.unwrap_or_else(|error| {
        report::exit_error(&error, "sapwood serve: ");
        ExitCode::FAILURE
    })
}

/// Says what is wrong with a configuration.
fn say(file: &config::File, problems: &[Problem]) {
    for problem in problems {
        let kind = if problem.is_warning { "warning: " } else { "" };
        let text = problem.text(&file.name, &file.lines);
        report::stderr(&format!("sapwood serve: {kind}{text}\n"));
    }
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    crate::manual::Manual::of_help(HELP)
}

/// What the options and the disk say, before anything listens.
struct ServePlan {
    settings: Settings,
    http: HttpSettings,
    repositories: Vec<PathBuf>,
}

/// Finds what is served.
fn prepare(options: &Options) -> SvnResult<ServePlan> {
    let only_locations = options.only_locations();
    let path = match &options.path {
        Some(path) => path.clone(),
        None if only_locations => PathBuf::from("/"),
        None => demo::default_place(),
    };
    if options.demo {
        demo::unpack(&path).map_err(|e| {
            SvnError::io(&e, format_args!("Can't make the demonstration in '{}'", path.display()))
        })?;
    }
    let root = std::fs::canonicalize(&path)
        .map_err(|e| SvnError::io(&e, format_args!("Can't open '{}'", path.display())))?;
    let repositories = if only_locations { Vec::new() } else { find_repositories(&root)? };
    if repositories.is_empty() && !options.folder && !only_locations {
        let shown = root.display();
        let message = format!(
            "No repository found in '{shown}' (make one with 'sapwood svnadmin create {shown}/NAME', or \
             serve the empty folder with --folder)"
        );
        return Err(SvnError::new(ErrorCode::RA_SVN_REPOS_NOT_FOUND, message));
    }
    // A repository is served under its own name, as it would be in a folder of several.
    let is_one = repositories == [root.clone()];
    let served_root = match root.parent() {
        Some(parent) if is_one => parent.to_owned(),
        _ => root.clone(),
    };
    let mut settings = Settings::new(served_root);
    settings.limits.connections_per_address = settings.limits.connections;
    settings.scratch = std::env::temp_dir();
    settings.only = is_one.then_some(root);
    options.file.others(&mut settings)?;
    if options.demo {
        settings.search_folder.get_or_insert_with(user_folders::caches);
    }
    settings.users = options.users.clone();
    settings.config_file = match &options.config_file {
        Some(file) => Some(
            std::path::absolute(file)
                .map_err(|e| SvnError::io(&e, format_args!("Can't find '{}'", file.display())))?,
        ),
        None => None,
    };
    let http = HttpSettings { locations_only: only_locations, ..options.http.clone() };
    Ok(ServePlan { settings, http, repositories })
}

fn serve(args: Vec<OsString>, options: Options) -> SvnResult<()> {
    let ServePlan { settings, http, repositories } = prepare(&options)?;
    // How much may be open is decided by it from here on.
    svnserve::raise_file_limit();
    let log = options.open_log()?;
    let mut sockets = sockets::Sockets::open(&options, options.only_locations())?;
    let served_root = settings.root.clone();
    let server = Arc::new(ServerState::new(settings, log));
    server.set_notifications(options.file.targets()?, notifications::report(&server))?;
    let http = Http::new(&server, http)?;
    if let Some(file) = &server.settings.config_file {
        // Errors in it are reported now, not to the first client.
        server.files.server(file, true)?;
    }
    let server = Current::new(server);
    let tls = tls_settings(&options, &options.file).map(|tls| (tls, acme::report(&server)));
    let (plain, secure) = sockets.start_http(&http, tls)?;
    let monitor = sockets.start_monitor(&server)?;
    let peers = sockets.start_peers(&server, &http)?;
    let indexer = SearchIndexer::start(&server, notifications::report(&server.get()))?;
    sapwood_objects::trouble::set_report(notifications::report(&server.get()));
    let mut out = Output::stdout();
    let url = |scheme: &str, usual, server: &Option<HttpServer>| {
        let address = server.as_ref().map(HttpServer::address)?;
        Some(format!("{scheme}://{}", authority(Some(address), usual)))
    };
    let of_http = http.current();
    // A port that only redirects to https is not listed.
    let shown = url("http", 80, &plain).filter(|_| of_http.settings.redirect_to_https.is_none());
    let pages: Vec<String> = [shown, url("https", 443, &secure)].into_iter().flatten().collect();
    let hello = match &sockets.svn {
        Some(listener) => hello(listener, &pages, &served_root, &repositories, options.demo),
        None => hello_places(&pages, &of_http.settings.locations),
    };
    drop(of_http);
    ignore_closed_pipe(out.text(&hello).and_then(|()| out.flush()))?;
    if plain.is_some() || secure.is_some() {
        give_memory_back();
    }
    let reload = Reload::new(args, options, &server, &http);
    let reload = move || reload.run();
    match &sockets.svn {
        Some(listener) => svnserve::serve(listener, &server, false, reload)?,
        None => svnserve::wait(&server, reload)?,
    }
    [plain, secure].into_iter().flatten().for_each(HttpServer::stop);
    drop((monitor, peers));
    drop(indexer);
    ignore_closed_pipe(out.text("\nEnded.\n").and_then(|()| out.flush()))
}

/// Memory that no request uses goes back to the system when nothing is asked for, too: http clients keep connections
/// for the next command. The allocator looks for such memory when it is called, and otherwise by a thread of its
/// own, beside which a single large request takes some MiB more at its height.
fn give_memory_back() {
    // Without the thread it goes back with the next requests.
    #[cfg(feature = "jemalloc")]
    {
        let _ = tikv_jemalloc_ctl::max_background_threads::write(1);
        let _ = tikv_jemalloc_ctl::background_thread::write(true);
    }
}

/// A message need not be read: the server serves without a reader.
fn ignore_closed_pipe(result: SvnResult<()>) -> SvnResult<()> {
    match result {
        Err(error) if error.is_closed_pipe() => Ok(()),
        other => other,
    }
}
