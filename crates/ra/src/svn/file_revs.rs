//! One revision of a file, with its text as a delta in chunks.

use sapwood_core::SvnResult;
use sapwood_delta::{Decoder, EncodedDelta, TextDelta, Version, Window};
use sapwood_wire_svn::data::{read_prop_changes, read_props};

use super::connection::Connection;
use super::streams::next;
use crate::session::{FileRev, FileRevReceiver};

/// Receives one revision of a file; false when there are no more.
pub(super) fn file_rev(
    conn: &mut Connection,
    chunks: &mut Chunks,
    receiver: &mut dyn FileRevReceiver,
) -> SvnResult<bool> {
    let mut found = None;
    let more = next(conn, "Revision entry not a list", |mut tuple| {
        let path = tuple.fspath()?.into_owned();
        let revision = tuple.rev()?;
        let revprops = read_props(tuple.list()?)?;
        let changes = read_prop_changes(tuple.list()?)?;
        found = Some((path, revision, revprops, changes, tuple.opt_bool()?.unwrap_or(false)));
        Ok(())
    })?;
    let Some((path, revision, revprops, prop_changes, merged_revision)) = found.filter(|_| more)
    else {
        return Ok(false);
    };
    let rev = FileRev {
        path: &path,
        revision,
        revprops: &revprops,
        merged_revision,
        prop_changes: &prop_changes,
    };
    let mut delta = ChunkedDelta::new(conn, chunks);
    if delta.fetch()? {
        delta.chunks.unread = true;
        receiver.file_rev(&rev, Some(&mut delta))?;
        while delta.fetch()? {}
    } else {
        receiver.file_rev(&rev, None)?;
    }
    Ok(true)
}

/// What is kept from text to text: buffers.
#[derive(Default)]
pub(super) struct Chunks {
    chunk: Vec<u8>,
    /// The chunk was not passed on yet.
    unread: bool,
}

/// A text delta that comes as a series of strings, the last of them empty.
struct ChunkedDelta<'c> {
    conn: &'c mut Connection,
    chunks: &'c mut Chunks,
    decoder: Decoder,
    ended: bool,
}

impl<'c> ChunkedDelta<'c> {
    fn new(conn: &'c mut Connection, chunks: &'c mut Chunks) -> Self {
        chunks.unread = false;
        Self { conn, chunks, decoder: Decoder::new(), ended: false }
    }

    fn fetch(&mut self) -> SvnResult<bool> {
        if self.ended {
            return Ok(false);
        }
        let more =
            self.conn.receive_chunk(&mut self.chunks.chunk, "Text delta chunk not a string")?;
        self.ended = !more;
        Ok(more)
    }
}

impl TextDelta for ChunkedDelta<'_> {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        loop {
            if std::mem::take(&mut self.chunks.unread) {
                self.decoder.push(&self.chunks.chunk);
            }
            if let Some(window) = self.decoder.next_window()? {
                return Ok(Some(window));
            }
            if !self.fetch()? {
                self.decoder.finish()?;
                return Ok(None);
            }
            self.decoder.push(&self.chunks.chunk);
        }
    }

    fn encoded(&mut self, newest: Version) -> Option<&mut dyn EncodedDelta> {
        let header = self.chunks.chunk.first_chunk().filter(|_| self.chunks.unread)?;
        let version = Version::of_header(*header).ok()?;
        if version <= newest { Some(self) } else { None }
    }
}

impl EncodedDelta for ChunkedDelta<'_> {
    fn next_bytes(&mut self) -> SvnResult<Option<&[u8]>> {
        if !std::mem::take(&mut self.chunks.unread) && !self.fetch()? {
            return Ok(None);
        }
        Ok(Some(&self.chunks.chunk))
    }
}
