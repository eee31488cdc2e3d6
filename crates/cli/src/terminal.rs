//! The terminal of the process, for all programs: whether there is one, what it can show, and the line of progress on
//! it. What is asked there is in `question`.
//!
//! Invariant: nothing here names a program. No other file looks at the terminal's size or decides about colours.

pub(crate) mod progress_line;

use std::fs::File;
use std::io::{IsTerminal as _, stderr, stdin, stdout};

use rustix::termios::tcgetwinsize;

pub(crate) use self::progress_line::{hold, make_room};

/// Section and option of the `config` file that ask for colours.
pub(crate) const COLOUR_OPTION: (&str, &str) = ("sapwood", "color");

/// The width of a terminal that does not say it, in characters.
const USUAL_WIDTH: usize = 80;

/// Opens the terminal that the process belongs to, wherever its streams go.
pub(crate) fn open() -> std::io::Result<File> {
    File::options().read(true).write(true).open("/dev/tty")
}

/// Whether standard input comes from a terminal.
pub(crate) fn stdin_is_one() -> bool {
    stdin().is_terminal()
}

/// Whether standard output goes to a terminal: a user watches.
pub(crate) fn stdout_is_one() -> bool {
    stdout().is_terminal()
}

/// Whether standard error goes to a terminal.
pub(crate) fn stderr_is_one() -> bool {
    stderr().is_terminal()
}

/// Whether the terminal can neither move its cursor nor show colours.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term == "dumb")
}

/// Whether standard output shows colours, and the user did not refuse them by `NO_COLOR`.
pub(crate) fn stdout_has_colours() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !is_dumb() && !refused && stdout_is_one()
}

/// The width of the terminal of standard error, in characters.
fn stderr_width() -> usize {
    let width = tcgetwinsize(stderr()).map_or(0, |size| usize::from(size.ws_col));
    if width == 0 { USUAL_WIDTH } else { width }
}

/// The width of the terminal that the process belongs to, in characters; without one, what `COLUMNS` says.
pub(crate) fn width() -> usize {
    let size = open().ok().and_then(|terminal| tcgetwinsize(terminal).ok());
    match size {
        Some(size) => usize::from(size.ws_col),
        None => {
            let columns = std::env::var("COLUMNS").ok();
            columns.and_then(|text| text.parse().ok()).unwrap_or(USUAL_WIDTH)
        }
    }
}
