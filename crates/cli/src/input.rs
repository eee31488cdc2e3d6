//! Files that the user names, read whole. The only place of the programs that opens them for that: a
//! name may stand for a pipe, a device or (`-`) standard input, so nothing is asked of a file before
//! it is read, and it is read once.

use std::fs::File;
use std::io::{ErrorKind, Read};

use sapwood_core::{SvnError, SvnResult};

/// The name for standard input.
const STDIN: &str = "-";

/// Opens a file to be read as a stream.
///
/// # Errors
/// Errors of the system.
pub(crate) fn open(path: &str) -> SvnResult<File> {
    File::open(path).map_err(|e| SvnError::io(&e, format_args!("Can't open file '{path}'")))
}

/// A file whose errors name it.
pub(crate) struct NamedFile {
    file: File,
    name: String,
}

impl Read for NamedFile {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.file.read(buf).map_err(|e| match e.kind() {
            ErrorKind::Interrupted => e,
            _ => {
                let what = format_args!("Can't read file '{}'", self.name);
                std::io::Error::other(SvnError::io(&e, what))
            }
        })
    }
}

/// Opens a file to be read as a stream whose errors name it.
///
/// # Errors
/// Errors of the system.
pub(crate) fn open_named(path: &str) -> SvnResult<NamedFile> {
    Ok(NamedFile { file: open(path)?, name: path.to_owned() })
}

/// The error of opening a name that is the current folder's, which in canonical form is empty.
pub(crate) fn nowhere() -> SvnError {
    let no_such_file = std::io::Error::from_raw_os_error(2);
    SvnError::io(&no_such_file, "Can't open file '.'")
}

/// All of a file, or with `-` of standard input.
///
/// # Errors
/// Errors of the system.
pub(crate) fn contents(path: &str) -> SvnResult<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == STDIN {
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|e| SvnError::io(&e, "Can't read stdin"))?;
        return Ok(bytes);
    }
    let read = open(path)?.read_to_end(&mut bytes);
    read.map_err(|e| SvnError::io(&e, format_args!("Can't read file '{path}'")))?;
    Ok(bytes)
}

/// The same for what need not be there: `None` when it is not.
///
/// # Errors
/// Errors of the system.
pub(crate) fn contents_if_there(path: &std::path::Path) -> SvnResult<Option<Vec<u8>>> {
    let shown = path.display();
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(SvnError::io(&e, format_args!("Can't open file '{shown}'"))),
    };
    let mut bytes = Vec::new();
    let read = file.read_to_end(&mut bytes);
    read.map_err(|e| SvnError::io(&e, format_args!("Can't read file '{shown}'")))?;
    Ok(Some(bytes))
}
