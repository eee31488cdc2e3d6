//! `sapwood watch`: the monitor of working copies, which spares `svn status` the look at every file.
//!
//! One process a user; it listens at a socket that only this user can reach ([`socket`]). `svn` asks
//! it where there is one and walks where there is none.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_watch::monitor::Monitor;
use sapwood_watch::{Error, ask};
use sapwood_wc::WorkingCopy;

use crate::command::{HELP, HELP_MARK, Invocation, OptionSpec, Program, Runner, Subcommand};
use crate::output::Output;

/// Names another socket.
const SOCKET: &str = "SAPWOOD_WATCH_SOCKET";
/// How long a monitor that was started may take until it listens.
const STARTING: Duration = Duration::from_secs(5);
/// How often one is started that gives up, and how long after the last.
const TRIES: u32 = 10;
const AGAIN: Duration = Duration::from_millis(50);

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    WATCH.main(args)
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    WATCH.manual()
}

/// Where the user's monitor listens: in the session's folder for such things, which goes with the
/// session, or else in a folder of the user's own below `/tmp`.
pub(crate) fn socket() -> PathBuf {
    if let Some(named) = std::env::var_os(SOCKET) {
        return named.into();
    }
    let own = match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => Path::new(&dir).join("sapwood"),
        None => format!("/tmp/sapwood-{}", rustix::process::geteuid().as_raw()).into(),
    };
    own.join("watch.socket")
}

const OPTIONS: &[OptionSpec] = &[HELP, HELP_MARK];

static WATCH: Program = Program {
    name: "sapwood watch",
    help_header: "usage: sapwood watch <subcommand> [args]\n\
        Watches working copies, so that 'svn status' need not look at every file.\n\
        Type 'sapwood watch help <subcommand>' for help on a specific subcommand.\n\
        \n\
        Available subcommands:\n",
    options: OPTIONS,
    subcommands: SUBCOMMANDS,
    hint_names_subcommand: true,
    ..Program::DEFAULT
};

const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand::help("usage: sapwood watch help [SUBCOMMAND...]\n\nExplains subcommands.\n"),
    Subcommand {
        name: "add",
        aliases: &[],
        help: "usage: sapwood watch add [PATH...]\n\n\
               Watches the working copies that the PATHs ('.') are in, from now on. Starts the\n\
               monitor, in the background, when none runs. A working copy that is watched stays so:\n\
               'svn status' tells the next monitor of it.\n\n\
               After the next 'svn status' of a whole working copy, one that asks for the same need\n\
               only look into directories that changed, and into those where it found a file with\n\
               other names (hard links). Network file systems cannot be watched. Two things are not\n\
               noticed: what is written through a name elsewhere that a file got after that status,\n\
               and what a program writes through a shared mapping (mmap) after it closed the file.\n",
        options: &[],
        overrides: &[],
        run: Runner::Arguments(add),
    },
    Subcommand {
        name: "forget",
        aliases: &[],
        help: "usage: sapwood watch forget [PATH...]\n\n\
               Watches the working copies that the PATHs ('.') are in no longer.\n",
        options: &[],
        overrides: &[],
        run: Runner::Arguments(forget),
    },
    Subcommand {
        name: "list",
        aliases: &["ls"],
        help: "usage: sapwood watch list\n\n\
               Lists the working copies that are watched, each after the number of directories.\n",
        options: &[],
        overrides: &[],
        run: Runner::Arguments(list),
    },
    Subcommand {
        name: "run",
        aliases: &[],
        help: "usage: sapwood watch run\n\n\
               Is the monitor, until it is told to stop: for systemd and the like.\n",
        options: &[],
        overrides: &[],
        run: Runner::Arguments(run_monitor),
    },
    Subcommand {
        name: "stop",
        aliases: &[],
        help: "usage: sapwood watch stop\n\n\
               Ends the monitor.\n",
        options: &[],
        overrides: &[],
        run: Runner::Arguments(stop),
    },
];

fn to_svn_error(error: &Error) -> SvnError {
    let code = match error {
        Error::Io { error, .. } => return SvnError::io(error, "The monitor"),
        Error::Unwatchable { .. } | Error::Refused(_) => ErrorCode::UNSUPPORTED_FEATURE,
        Error::NotOwn(_) => ErrorCode::AUTHZ_UNREADABLE,
        Error::Running | Error::NotRunning => ErrorCode::BASE,
    };
    SvnError::new(code, error.to_string())
}

/// The roots of the working copies that paths are in.
fn roots(invocation: &mut Invocation<'_>) -> SvnResult<Vec<PathBuf>> {
    let mut paths = invocation.take_args(0, usize::MAX)?;
    if paths.is_empty() {
        paths.push(".".to_owned());
    }
    let root = |path: &String| {
        let found = std::path::absolute(path);
        let found = found.map_err(|e| SvnError::io(&e, format!("Can't find '{path}'")))?;
        let (wc, _) = WorkingCopy::find(&found, sapwood_wc::Options::default())?;
        Ok(wc.root().to_owned())
    };
    paths.iter().map(root).collect()
}

fn add(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let socket = socket();
    let mut out = Output::stdout();
    for root in roots(invocation)? {
        match ask::add(&socket, &root) {
            Err(Error::NotRunning) => {
                start(&socket)?;
                ask::add(&socket, &root)
            }
            other => other,
        }
        .map_err(|e| to_svn_error(&e))?;
        out.text(&format!("Watching '{}'\n", root.display()))?;
    }
    out.flush()
}

fn forget(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let mut out = Output::stdout();
    for root in roots(invocation)? {
        ask::forget(&socket(), &root).map_err(|e| to_svn_error(&e))?;
        out.text(&format!("No longer watching '{}'\n", root.display()))?;
    }
    out.flush()
}

fn list(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let mut out = Output::stdout();
    for watched in ask::list(&socket()).map_err(|e| to_svn_error(&e))? {
        out.text(&format!("{:>9} {}\n", watched.directories, watched.path))?;
    }
    out.flush()
}

fn stop(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    ask::stop(&socket()).map_err(|e| to_svn_error(&e))
}

fn run_monitor(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let mut monitor = Monitor::new(&socket()).map_err(|e| to_svn_error(&e))?;
    let cancelled = crate::signals::cancel_token();
    monitor.run(&|| cancelled.is_cancelled()).map_err(|e| to_svn_error(&e))
}

/// Starts a monitor that goes on without this process, and waits until it listens.
fn start(socket: &Path) -> SvnResult<()> {
    let failed = |e: std::io::Error| SvnError::io(&e, "Can't start the monitor");
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(["watch", "run"]).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A group of its own: Ctrl-C at this terminal is not meant for it.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(failed)?;
    let began = Instant::now();
    let mut tries = 1;
    while ask::list(socket).is_err() {
        let ended = child.try_wait().map_err(failed)?.is_some();
        if began.elapsed() > STARTING || (ended && tries == TRIES) {
            let message = "The monitor did not start: see 'sapwood watch run'";
            return Err(SvnError::new(ErrorCode::BASE, message));
        }
        // It gives up at once where another one, which may just be killed, still has the lock.
        if ended {
            std::thread::sleep(AGAIN);
            child = command.spawn().map_err(failed)?;
            tries += 1;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
