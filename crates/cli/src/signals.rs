//! Signals that end a program: SIGINT (Ctrl-C), SIGTERM and SIGHUP.
//!
//! Long work is asked to stop through a [`CancelToken`], cleans up, and ends with an error; then
//! the process dies of the very signal ([`end`]), so that a shell's loop, cron and systemd see that it was
//! interrupted (130, 143 and 129 in a shell). What does not look at the token, because it
//! waits for a lock, a hook or a server that says nothing, is given [`STUCK`]; every file operation
//! is one that a killed process may stop at. Invariant: nothing lives longer than
//! [`STUCK`] + [`CLEANING`] after a signal, and a second signal ends it at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::{platform, report};

/// How long work that was asked to stop may take to notice.
const STUCK: Duration = Duration::from_secs(2);
/// How long it may clean up after it has noticed: give up locks over a slow connection, remove files.
const CLEANING: Duration = Duration::from_secs(10);

/// The first signal that was caught; 0 before.
static CAUGHT: AtomicI32 = AtomicI32::new(0);
/// Whether Ctrl-C is meant for a child that has the terminal, as an editor has.
static CHILD_HAS_TERMINAL: AtomicBool = AtomicBool::new(false);
/// Whether something is held for which others would wait for ever if it were not given up.
static HOLDS: AtomicBool = AtomicBool::new(false);
/// The prefix of this program's errors (`svnadmin: `).
static PREFIX: OnceLock<String> = OnceLock::new();

/// A token that is cancelled when a signal asks the program to end. Programs that never use it are
/// killed by a signal at once.
pub(crate) fn cancel_token() -> CancelToken {
    static TOKEN: OnceLock<CancelToken> = OnceLock::new();
    TOKEN
        .get_or_init(|| {
            let token = CancelToken::new();
            watch(token.clone());
            token
        })
        .clone()
}

/// Fails when a signal asked the program to end.
///
/// # Errors
/// E200015.
pub(crate) fn check() -> SvnResult<()> {
    if cancel_token().is_cancelled() { Err(caught()) } else { Ok(()) }
}

fn caught() -> SvnError {
    SvnError::new(ErrorCode::CANCELLED, "Caught signal")
}

/// Sets the program name that error messages begin with.
pub(crate) fn called(name: &str) {
    let _ = PREFIX.set(format!("{name}: "));
}

/// Records the signal that ended one of our servers.
pub(crate) fn note(signal: i32) {
    let _ = CAUGHT.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
}

/// The last thing that a program does: dies of the signal that was caught, if one was.
pub(crate) fn end() {
    match CAUGHT.load(Ordering::SeqCst) {
        0 => {}
        signal => die(signal),
    }
}

/// Ends the process as a signal does that nothing handles.
pub(crate) fn die(signal: i32) {
    crate::hidden_typing::show_typing_again();
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// Runs a child that has the terminal: Ctrl-C is for it alone, as `system` of the C library has it.
pub(crate) fn while_child_has_terminal<T>(work: impl FnOnce() -> T) -> T {
    let _held = crate::terminal::hold();
    CHILD_HAS_TERMINAL.store(true, Ordering::SeqCst);
    let done = work();
    CHILD_HAS_TERMINAL.store(false, Ordering::SeqCst);
    done
}

/// Something of ours is held at a server, until this is dropped: work that does not notice that it
/// was asked to stop gets as long as cleaning up.
#[must_use]
pub(crate) struct CleanupHold;

impl CleanupHold {
    pub(crate) fn begin() -> Self {
        HOLDS.store(true, Ordering::SeqCst);
        Self
    }
}

impl Drop for CleanupHold {
    fn drop(&mut self) {
        HOLDS.store(false, Ordering::SeqCst);
    }
}

fn watch(token: CancelToken) {
    // `nohup` starts programs that SIGHUP shall not end.
    let wanted =
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|s| *s != SIGHUP || !platform::is_ignored(*s));
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else { return };
    let watcher = std::thread::Builder::new().name("signals".to_owned());
    let _ = watcher.spawn(move || {
        for signal in signals.forever() {
            if signal == SIGINT && CHILD_HAS_TERMINAL.load(Ordering::SeqCst) {
                continue;
            }
            if CAUGHT.load(Ordering::SeqCst) != 0 {
                die(signal);
            }
            note(signal);
            token.cancel();
            let last = token.clone();
            let last = move || end_at_last(signal, &last);
            if std::thread::Builder::new().name("last".to_owned()).spawn(last).is_err() {
                die(signal);
            }
        }
    });
}

/// Ends a process that does not end by itself.
fn end_at_last(signal: i32, token: &CancelToken) {
    std::thread::sleep(STUCK);
    if token.was_noticed() || HOLDS.load(Ordering::SeqCst) {
        std::thread::sleep(CLEANING);
    }
    // Past the standard library's lock, which a thread may hold that waits for a full pipe.
    let text = report::lines(&caught(), PREFIX.get().map_or("", String::as_str));
    let mut room = [PollFd::from_borrowed_fd(rustix::stdio::stderr(), PollFlags::OUT)];
    if poll(&mut room, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|n| n > 0) {
        let _ = rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
    }
    die(signal);
}
