//! Standard output: buffered, in the terminal's encoding, with the reference's errors. And files that
//! options name.

use std::io::{self, BufWriter, Write};

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::locale;

/// How much is collected before it is written, in bytes.
const BUFFER: usize = 64 << 10;

/// Standard output, or a file in its place.
pub(crate) struct Output {
    to: BufWriter<Box<dyn Write>>,
}

/// The error for output that cannot be written. A pipe that nobody reads from has a code of its
/// own, which is not reported.
pub(crate) fn write_error(error: &io::Error) -> SvnError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<SvnError>()) {
        Some(inner) => inner.clone(),
        None if error.kind() == io::ErrorKind::BrokenPipe => {
            SvnError::new(ErrorCode::IO_PIPE_WRITE_ERROR, "")
        }
        None => SvnError::io(error, "Write error"),
    }
}

/// The same for what is written as a stream.
pub(crate) fn stream_error(error: &io::Error) -> SvnError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<SvnError>()) {
        Some(inner) => inner.clone(),
        None if error.kind() == io::ErrorKind::BrokenPipe => {
            SvnError::new(ErrorCode::IO_PIPE_WRITE_ERROR, "")
        }
        None => SvnError::io(error, "Can't write to stream"),
    }
}

impl Output {
    pub(crate) fn stdout() -> Self {
        Self { to: BufWriter::with_capacity(BUFFER, Box::new(io::stdout().lock())) }
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

/// A whole file, or with `-` all of standard input.
pub(crate) fn read_file(path: &str) -> SvnResult<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    if path == "-" {
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|e| SvnError::io(&e, "Can't read stdin"))?;
        return Ok(bytes);
    }
    let file = std::fs::File::open(path);
    let mut file = file.map_err(|e| SvnError::io(&e, format_args!("Can't open file '{path}'")))?;
    let read = file.read_to_end(&mut bytes);
    read.map_err(|e| SvnError::io(&e, format_args!("Can't read file '{path}'")))?;
    Ok(bytes)
}
