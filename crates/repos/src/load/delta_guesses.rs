//! Guessing, while a stream is read ahead, how its texts will be stored.

use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_fs::txn::{DeltaAhead, Writer};

use super::place;
use crate::dumpstream::{Headers, header};

/// The writer: a stream's UUID makes it another one.
pub(super) type CurrentWriter = Arc<Mutex<Arc<Writer>>>;

/// What the reading side knows of the place where texts go.
pub(super) struct DeltaGuesses {
    writer: CurrentWriter,
    parent_dir: Option<FsPathBuf>,
    /// The file that the next text belongs to; `Some(None)` for a new one.
    node: Option<Option<FsPathBuf>>,
}

impl DeltaGuesses {
    /// For a load below `parent_dir`; `None` when there is no processor left to guess with.
    pub(super) fn new(writer: &CurrentWriter, parent_dir: Option<&FsPath>) -> Option<Self> {
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        (cpus > 1).then(|| Self {
            writer: Arc::clone(writer),
            parent_dir: parent_dir.map(FsPath::to_owned),
            node: None,
        })
    }

    /// A node begins.
    pub(super) fn node(&mut self, headers: &Headers) {
        let is_file = headers.get(header::NODE_KIND) == Some(b"file");
        let copied = headers.get(header::COPYFROM_PATH).is_some();
        self.node = match headers.get(header::NODE_ACTION) {
            Some(b"change") => {
                let relpath = headers.get(header::NODE_PATH).unwrap_or(&[]);
                place(self.parent_dir.as_deref(), relpath).ok().map(Some)
            }
            Some(b"add" | b"replace") if is_file && !copied => Some(None),
            // What is copied is not known here.
            _ => None,
        };
    }

    /// Guesses how the text of the present node will be stored.
    pub(super) fn text(&mut self, text: &[u8]) -> Option<DeltaAhead> {
        let path = self.node.take()?;
        let writer = Arc::clone(&self.writer.lock());
        writer.delta_ahead(path.as_deref(), text)
    }
}
