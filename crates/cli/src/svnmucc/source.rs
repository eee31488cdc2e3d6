//! Files and standard input as new contents of files.

use std::fs::File;
use std::io::{self, Read};

use sapwood_client::url_changes::Source;
use sapwood_core::SvnResult;

use crate::input;

/// Where a file's new contents come from.
#[derive(Debug)]
pub(super) enum Contents {
    Stdin,
    File(String),
    /// A file that can be opened only once: a pipe, a device.
    Opened(String, File),
}

impl Source for Contents {
    fn prepare(&mut self) -> SvnResult<()> {
        let Self::File(name) = self else { return Ok(()) };
        if crate::repo::canonical_path(name).is_empty() {
            return Err(input::nowhere());
        }
        let opened = input::open(name)?;
        if !opened.metadata().is_ok_and(|m| m.is_file()) {
            *self = Self::Opened(std::mem::take(name), opened);
        }
        Ok(())
    }

    fn display_path(&self) -> String {
        match self {
            Self::Stdin => "stdin".to_owned(),
            Self::File(name) | Self::Opened(name, _) => format!("file '{name}'"),
        }
    }

    fn open(&self) -> SvnResult<Box<dyn Read + '_>> {
        Ok(match self {
            Self::Stdin => Box::new(io::stdin().lock()),
            Self::File(name) => Box::new(input::open(name)?),
            Self::Opened(_, file) => Box::new(file),
        })
    }

    fn look(&self) -> SvnResult<Option<Box<dyn Read + '_>>> {
        match self {
            Self::File(name) => Ok(Some(Box::new(input::open(name)?))),
            Self::Stdin | Self::Opened(..) => Ok(None),
        }
    }
}
