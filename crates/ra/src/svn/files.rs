//! A file's properties and contents.
//!
//! Invariant: the reply is read to its end, whatever becomes of the contents.

use sapwood_core::checksum::Md5Hasher;
use sapwood_core::paths::RelPath;
use sapwood_core::{Md5, Revnum, SvnError, SvnResult};
use sapwood_wire_svn::Encode as _;
use sapwood_wire_svn::data::read_props;

use super::connection::Connection;
use super::session::SvnSession;
use crate::session::{FetchedFile, FileReceiver, Files};

impl SvnSession {
    /// Asks for a file, and receives its properties and the checksum of its contents.
    fn ask_for_file(
        &self,
        conn: &mut Connection,
        path: &RelPath,
        revision: Option<Revnum>,
        (want_props, want_contents): (bool, bool),
    ) -> SvnResult<(FetchedFile, Option<Md5>)> {
        let out = conn.out();
        out.raw(b"( get-file ( ");
        out.text(path);
        out.bracketed_rev(revision);
        out.bool(want_props);
        out.bool(want_contents);
        // Servers 1.8.0 to 1.8.8 take what is missing here for "true".
        out.bool(false);
        out.raw(b") ) ");
        self.authenticate_reader(conn)?;
        conn.reply(|mut reply| {
            let expected = reply.bracketed_bytes()?.and_then(Md5::parse);
            let revision = reply.rev()?;
            let props = read_props(reply.list()?)?;
            Ok((FetchedFile { revision, props }, expected))
        })
    }
}

impl Files for SvnSession {
    fn file_head(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        want_props: bool,
    ) -> SvnResult<FetchedFile> {
        let path = self.at(path);
        let mut conn = self.conn()?;
        Ok(self.ask_for_file(&mut conn, &path, revision, (want_props, false))?.0)
    }

    fn read_file(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        want_props: bool,
        receiver: &mut dyn FileReceiver,
    ) -> SvnResult<()> {
        let path = self.at(path);
        let mut conn = self.conn()?;
        let (file, expected) = self.ask_for_file(&mut conn, &path, revision, (want_props, true))?;
        let mut sink = receiver.begin(file);
        let mut sum = Md5Hasher::new();
        let mut chunk = Vec::new();
        // The server goes on sending whatever happens here.
        while conn.receive_chunk(&mut chunk, "Non-string as part of file contents")? {
            sum.update(&chunk);
            if let Ok(to) = &mut sink
                && let Err(error) = to.write_all(&chunk)
            {
                sink = Err(SvnError::from_stream(error));
            }
        }
        conn.reply(|_| Ok(()))?;
        sink?;
        if let Some(expected) = expected {
            let actual = sum.finish();
            if expected != actual {
                return Err(SvnError::checksum_mismatch(path, expected, actual));
            }
        }
        Ok(())
    }
}
