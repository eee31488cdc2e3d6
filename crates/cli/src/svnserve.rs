//! `svnserve`: the svn:// server.
//!
//! In daemon mode the parent binds the socket, then starts itself once more in the background
//! with the socket as standard input, so that clients can connect as soon as the parent returns.

mod options;

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sapwood_core::{SvnError, SvnResult};
use sapwood_server::common::current::Current;
use sapwood_server::operation_log::OpLog;
use sapwood_server::settings::DEFAULT_CACHE_BYTES;
use sapwood_server::svn::transport::Transport;
use sapwood_server::{Listener, ServerState, Settings, Tunnel};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use self::options::{INHERITED, Mode, Options, Wrong, help_text};
use crate::command::usage_error;
use crate::manual::Manual;
use crate::{command, output, report, supervisor};

/// The caches of a process that serves one connection only.
const SINGLE_CACHE_BYTES: usize = 64 << 20;

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let options = match Options::parse(args.clone()) {
        Ok(options) => options,
        Err(Wrong::Usage(words)) => {
            report::as_it_is(&format!("svnserve: {words}\n"));
            return usage();
        }
        Err(Wrong::Value(error)) => return failure(&error),
    };
    if options.help {
        output::help(&help_text());
        return ExitCode::SUCCESS;
    }
    if options.version {
        let text = command::version_text("svnserve", options.quiet, command::FS_MODULES);
        return output::print("svnserve", &text);
    }
    if !options.arguments.is_empty() {
        return usage();
    }
    let [mode] = options.modes.as_slice() else {
        report::stderr("You must specify exactly one of -d, -i, -t or -X.\n");
        return usage();
    };
    if options.handling > 1 {
        report::stderr("You may only specify one of -T or --single-thread\n");
        return usage();
    }
    match start(*mode, &options, &args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure(&error),
    }
}

/// The manual page.
pub(crate) fn manual() -> Manual {
    let specs = self::options::SPECS.iter().filter(|spec| !spec.about.is_empty());
    Manual {
        section: 8,
        synopsis: vec!["svnserve [-d | -i | -t | -X] [options]".to_owned()],
        text: DESCRIPTION.to_owned(),
        options: specs.map(crate::manual::OptionText::of).collect(),
        files: vec![
            ("REPOSITORY/conf/svnserve.conf", "who may read and write; see svnserve.conf(5)"),
            ("REPOSITORY/conf/passwd", "names and passwords"),
            ("REPOSITORY/conf/authz", "rules for paths"),
        ],
        ..Manual::default()
    }
}

const DESCRIPTION: &str = "Serves the repositories below a folder to clients that speak the svn protocol. \
    With -d it is a daemon: it listens on port 3690, and goes to the background unless --foreground is \
    given. With -i or -t it serves one client on standard input and output, as inetd or ssh start it.\n\n\
    SIGTERM and SIGINT end the daemon, after the replies that are being sent. SIGHUP makes it read its \
    configuration again.\n\n\
    With -d --foreground it takes over a socket that systemd listens on (LISTEN_FDS), and tells systemd \
    when it is ready (NOTIFY_SOCKET), so that a unit may be of Type=notify.";

fn usage() -> ExitCode {
    let name = std::env::args_os().next().unwrap_or_else(|| "svnserve".into());
    let name = if Path::new(&name).file_stem().is_some_and(|n| n == "svnserve") {
        name.to_string_lossy().into_owned()
    } else {
        "svnserve".to_owned()
    };
    report::stderr(&format!("Type '{name} --help' for usage.\n"));
    ExitCode::FAILURE
}

/// Whether the error that the program ends with was already reported.
static REPORTED: AtomicBool = AtomicBool::new(false);

fn failure(error: &SvnError) -> ExitCode {
    if !REPORTED.load(Ordering::Relaxed) {
        report::exit_error(error, "svnserve: ");
    }
    ExitCode::FAILURE
}

fn start(mode: Mode, options: &Options, args: &[OsString]) -> SvnResult<()> {
    let settings = settings(mode, options);
    let log = match &options.log_file {
        Some(path) => Some(OpLog::file(path)?),
        None if mode == Mode::ListenOnce => Some(OpLog::stderr()),
        None => None,
    };
    let shared = Arc::new(ServerState::new(settings, log));
    let is_last = mode != Mode::Daemon || options.foreground || options.inherited;
    let reads = |path: &&PathBuf| is_last || std::fs::metadata(path).is_ok_and(|m| m.is_file());
    if let Some(path) = options.config_file.as_ref().filter(reads) {
        // Errors in it are reported now, not to the first client. (A pipe can be read only once,
        // and it is the process in the background that needs it.)
        shared.files.server(path, true)?;
    }
    if options.tunnel_user.is_some() && mode != Mode::Tunnel {
        return Err(usage_error("Option --tunnel-user is only valid in tunnel mode"));
    }
    match mode {
        Mode::Inetd | Mode::Tunnel => sapwood_server::serve_connection(&shared, pipes()?),
        Mode::ListenOnce => {
            let listener =
                Listener::bind(options.host.as_deref(), options.port, options.prefer_ipv6)?;
            write_pid_file(options, std::process::id())?;
            listener.serve_once(&shared, sapwood_server::serve_stream)
        }
        Mode::Daemon if options.inherited => serve_in_background(shared, options),
        Mode::Daemon => {
            if options.foreground
                && let Some(socket) = supervisor::socket()?
            {
                write_pid_file(options, std::process::id())?;
                return serve_plain(&Listener::from_lent(socket), shared, options);
            }
            let listener =
                Listener::bind(options.host.as_deref(), options.port, options.prefer_ipv6)?;
            if options.foreground {
                write_pid_file(options, std::process::id())?;
                serve_plain(&listener, shared, options)
            } else {
                let child = spawn_background(&listener, args)?;
                // A server that no client can find is ended, and the caller gets the error.
                write_pid_file(options, child).inspect_err(|_| {
                    let pid = i32::try_from(child).ok().and_then(rustix::process::Pid::from_raw);
                    if let Some(pid) = pid {
                        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
                    }
                })
            }
        }
    }
}

fn settings(mode: Mode, options: &Options) -> Settings {
    let mut settings = Settings::new(options.root.clone());
    settings.virtual_host = options.virtual_host;
    settings.read_only = options.read_only;
    settings.config_file = options.config_file.clone();
    settings.compression = options.compression;
    settings.cache_bytes = options.cache_bytes.unwrap_or(match mode {
        Mode::Daemon => DEFAULT_CACHE_BYTES,
        _ => SINGLE_CACHE_BYTES,
    });
    settings.limits.request_bytes = options.request_bytes;
    settings.limits.response_bytes = options.response_bytes;
    if let Some(threads) = options.max_threads {
        settings.limits.connections = threads;
    }
    if let Some(folders) = std::env::var_os("SASL_CONF_PATH") {
        settings.sasl_config = std::env::split_paths(&folders).collect();
    }
    if matches!(mode, Mode::Tunnel | Mode::Inetd) {
        settings.report_first = Some(|error| {
            REPORTED.store(true, Ordering::Relaxed);
            report::exit_error(error, "svnserve: ");
        });
    }
    if mode == Mode::Tunnel {
        settings.tunnel = Some(Tunnel { user: options.tunnel_user.clone().or_else(current_user) });
    }
    settings
}

/// The name of the user that the process runs as.
pub(crate) fn current_user() -> Option<String> {
    let id = rustix::process::getuid().as_raw().to_string();
    let passwd = std::fs::read("/etc/passwd").unwrap_or_default();
    let listed = passwd.split(|b| *b == b'\n').find_map(|line| {
        let mut fields = line.split(|b| *b == b':');
        let name = fields.next()?;
        (fields.nth(1)? == id.as_bytes()).then(|| String::from_utf8_lossy(name).into_owned())
    });
    // Users of directory services are not listed there.
    listed.or_else(|| {
        let output = Command::new("id").arg("-un").stderr(Stdio::null()).output().ok()?;
        let name = String::from_utf8(output.stdout).ok()?;
        Some(name.trim().to_owned()).filter(|n| !n.is_empty() && output.status.success())
    })
}

/// Standard input and output as a connection.
fn pipes() -> SvnResult<Transport> {
    let failed = |e: std::io::Error| SvnError::io(&e, "Can't open stdio file");
    let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let output = std::io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
    Ok(Transport::pipes(File::from(input), File::from(output)))
}

fn write_pid_file(options: &Options, pid: u32) -> SvnResult<()> {
    let Some(path) = &options.pid_file else { return Ok(()) };
    let failed = |what: &'static str| {
        move |e: std::io::Error| {
            SvnError::io(&e, format_args!("Can't {what} file '{}'", path.display()))
        }
    };
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed("remove")(e)),
        _ => {}
    }
    let mut file = File::create_new(path).map_err(failed("open"))?;
    writeln!(file, "{pid}").map_err(failed("write"))
}

/// The command that starts this program once more, by the name it was called by, so that it is
/// still found under that name in the list of processes.
fn this_program() -> SvnResult<Command> {
    let this = std::env::current_exe().map_err(|e| SvnError::io(&e, "Can't find this program"))?;
    if let Some(link) = called_by_link(&this) {
        return Ok(Command::new(link));
    }
    let mut command = Command::new(this);
    command.arg0("sapwood").arg("svnserve");
    Ok(command)
}

fn called_by_link(this: &Path) -> Option<PathBuf> {
    let name = std::env::args_os().next()?;
    let path = Path::new(&name);
    if path.file_stem()? != "svnserve" {
        return None;
    }
    let candidates: Vec<PathBuf> = if path.components().count() > 1 {
        vec![std::path::absolute(path).ok()?]
    } else {
        let dirs = std::env::var_os("PATH")?;
        std::env::split_paths(&dirs).map(|dir| dir.join(path)).collect()
    };
    let this = this.canonicalize().ok()?;
    candidates.into_iter().find(|c| c.canonicalize().is_ok_and(|c| c == this))
}

/// Starts the process in the background; returns its id.
fn spawn_background(listener: &Listener, args: &[OsString]) -> SvnResult<u32> {
    let failed = |e: std::io::Error| SvnError::io(&e, "Can't start the background process");
    let socket = listener.socket().as_fd().try_clone_to_owned().map_err(failed)?;
    let child = this_program()?
        .args(args)
        .arg(format!("--{INHERITED}"))
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    Ok(child.id())
}

/// The work of the process in the background.
fn serve_in_background(shared: Arc<ServerState>, options: &Options) -> SvnResult<()> {
    // Neither matters much: the process may lead a session already, or lack rights for `/`.
    let _ = rustix::process::setsid();
    let _ = std::env::set_current_dir("/");
    let socket = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(|e| SvnError::io(&e, "Can't create server socket"))?;
    serve_plain(&Listener::from_socket(TcpListener::from(socket)), shared, options)
}

/// Serves until a signal ends it. SIGHUP makes it read its configuration files again.
fn serve_plain(listener: &Listener, shared: Arc<ServerState>, options: &Options) -> SvnResult<()> {
    let server = Arc::clone(&shared);
    let reload = move || {
        if let (Err(error), Some(log)) = (server.reload(), &server.log) {
            log.error(Default::default(), &error, false);
        }
    };
    serve(listener, &Current::new(shared), options.single, reload)
}

/// Serves until a signal ends it. SIGHUP calls `reload`.
pub(crate) fn serve(
    listener: &Listener,
    server: &Arc<Current<ServerState>>,
    single: bool,
    reload: impl Fn() + Send + 'static,
) -> SvnResult<()> {
    raise_file_limit();
    let stopper = listener.stopper();
    let end = stopper.clone();
    watch_signals(server, reload, move || end.stop())?;
    supervisor::notify(supervisor::State::Ready);
    listener.serve(server, sapwood_server::serve_stream, single, &stopper)
}

/// Waits for the signal that ends a server whose listeners have threads of their own, and for what writes then.
pub(crate) fn wait(
    server: &Arc<Current<ServerState>>,
    reload: impl Fn() + Send + 'static,
) -> SvnResult<()> {
    raise_file_limit();
    let (send, ended) = std::sync::mpsc::channel();
    watch_signals(server, reload, move || {
        let _ = send.send(());
    })?;
    supervisor::notify(supervisor::State::Ready);
    // An error would mean that no thread watches for signals any more.
    let _ = ended.recv();
    let server = server.get();
    server.finish_writes();
    Ok(())
}

/// SIGTERM and SIGINT end the server, by `end`; a second one does not wait for commits in progress. SIGHUP calls `reload`.
fn watch_signals(
    server: &Arc<Current<ServerState>>,
    reload: impl Fn() + Send + 'static,
    end: impl Fn() + Send + 'static,
) -> SvnResult<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|e| SvnError::io(&e, "Can't watch for signals"))?;
    let server = Arc::clone(server);
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGHUP {
                supervisor::notify(supervisor::State::Reloading);
                reload();
                supervisor::notify(supervisor::State::Ready);
            } else {
                crate::signals::note(signal);
                supervisor::notify(supervisor::State::Stopping);
                server.get().begin_ending();
                end();
            }
        }
    });
    Ok(())
}

/// Every connection takes a file handle; the usual soft limit of 1024 is for programs that use
/// `select`.
pub(crate) fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
