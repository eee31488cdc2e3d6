//! Standard output: buffered, in the terminal's encoding, with the reference's errors. The only
//! way to write there: `print!` and `println!` panic when the reader has gone, and are denied.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::{locale, report};

/// How much is collected before it is written, in bytes.
const BUFFER: usize = 64 << 10;

/// Standard output, or a file in its place.
pub(crate) struct Output {
    to: BufWriter<Box<dyn Write>>,
}

/// The error for output that cannot be written. A pipe whose reader has gone has a code of its
/// own, which is not reported.
pub(crate) fn write_error(error: &io::Error) -> SvnError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<SvnError>()) {
        Some(inner) => inner.clone(),
        None if error.kind() == io::ErrorKind::BrokenPipe => broken_pipe(),
        None => SvnError::io(error, "Write error"),
    }
}

/// The same for what is written as a stream.
pub(crate) fn stream_error(error: &io::Error) -> SvnError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<SvnError>()) {
        Some(inner) => inner.clone(),
        None if error.kind() == io::ErrorKind::BrokenPipe => broken_pipe(),
        None => SvnError::io(error, "Can't write to stream"),
    }
}

/// Whether output was to go to a pipe whose reader has gone.
static PIPE_BROKE: AtomicBool = AtomicBool::new(false);
/// Whether this program dies of that.
static PIPE_KILLS: AtomicBool = AtomicBool::new(false);

fn broken_pipe() -> SvnError {
    PIPE_BROKE.store(true, Ordering::Relaxed);
    SvnError::new(ErrorCode::IO_PIPE_WRITE_ERROR, "")
}

/// Says whether this program dies of SIGPIPE where its output is read no more.
pub(crate) fn dies_of_broken_pipes(dies: bool) {
    PIPE_KILLS.store(dies, Ordering::Relaxed);
}

/// The end of a program: it dies of SIGPIPE, if it is one that does.
pub(crate) fn end() {
    if PIPE_BROKE.load(Ordering::Relaxed) && PIPE_KILLS.load(Ordering::Relaxed) {
        crate::signals::die(signal_hook::consts::SIGPIPE);
    }
}

fn write_out(text: &str) -> SvnResult<()> {
    let mut out = Output::stdout();
    out.text(text)?;
    out.flush()
}

/// Prints a text that is all that `program` has to say, and gives its exit code.
pub(crate) fn print(program: &str, text: &str) -> ExitCode {
    match write_out(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::exit_error(&error, &format!("{program}: "));
            ExitCode::FAILURE
        }
    }
}

/// Prints a help text. As with the reference it is no failure of any program that it cannot be
/// written, and it is always `svn` that says so.
pub(crate) fn help(text: &str) {
    help_written(write_out(text));
}

/// The message when a help text could not be written.
pub(crate) fn help_written(result: SvnResult<()>) {
    if let Err(error) = result {
        report::exit_error(&error, "svn: ");
    }
}

impl Output {
    pub(crate) fn stdout() -> Self {
        Self::to(Box::new(io::stdout().lock()))
    }

    /// A buffer before something else.
    pub(crate) fn to(writer: Box<dyn Write>) -> Self {
        Self { to: BufWriter::with_capacity(BUFFER, writer) }
    }

    /// Writes text in the terminal's encoding.
    pub(crate) fn text(&mut self, text: &str) -> SvnResult<()> {
        self.bytes(&locale::encode(text))
    }

    /// Writes bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> SvnResult<()> {
        self.to.write_all(bytes).map_err(|e| write_error(&e))
    }

    /// Writes bytes as they are, as part of a stream: contents of a file, a dump. Errors say so.
    pub(crate) fn stream(&mut self, bytes: &[u8]) -> SvnResult<()> {
        self.to.write_all(bytes).map_err(|e| stream_error(&e))
    }

    /// Hands everything to the system, at the end of a stream.
    pub(crate) fn end_stream(&mut self) -> SvnResult<()> {
        self.to.flush().map_err(|e| stream_error(&e))
    }

    /// Hands everything to the system.
    pub(crate) fn flush(&mut self) -> SvnResult<()> {
        self.to.flush().map_err(|e| write_error(&e))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
