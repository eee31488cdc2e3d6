//! Requests whose reply is one item, or contents of a file.

use sapwood_core::checksum::Md5Hasher;
use sapwood_core::date::Timestamp;
use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_wire_svn::data::{DirentFields, read_props};
use sapwood_wire_svn::{Encode as _, Error as WireError, Tuple};

use super::connection::Connection;
use super::locks::{OLD_SERVER, read_get_lock, write_get_lock};
use super::replies::{read_dirent, write_fields};
use super::session::{SvnSession, old_server};
use crate::session::{
    Dirent, FetchedDir, FetchedFile, FileReceiver, HeadNode, InheritedProps, MergeinfoRequest,
    RevpropChange, Session as _,
};

fn write_stat(out: &mut Vec<u8>, path: &RelPath, revision: Option<Revnum>) {
    out.raw(b"( stat ( ");
    out.text(path);
    out.bracketed_rev(revision);
    out.raw(b") ) ");
}

fn read_stat(mut reply: Tuple<'_>) -> SvnResult<Option<Dirent>> {
    let found = reply.tuple()?.opt_list()?;
    found.map(|list| read_dirent(list.tuple())).transpose()
}

impl SvnSession {
    pub(super) fn get_dated_rev(&self, time: Timestamp) -> SvnResult<Revnum> {
        self.exchange(
            |out| {
                out.raw(b"( get-dated-rev ( ");
                out.text(&time.to_string());
                out.raw(b") ) ");
            },
            |mut reply| Ok(reply.rev()?),
        )
    }

    pub(super) fn get_rev_proplist(&self, revision: Revnum) -> SvnResult<PropList> {
        self.exchange(
            |out| {
                out.raw(b"( rev-proplist ( ");
                out.rev(revision);
                out.raw(b") ) ");
            },
            |mut reply| Ok(read_props(reply.list()?)?),
        )
    }

    pub(super) fn get_rev_prop(&self, revision: Revnum, name: &str) -> SvnResult<Option<Vec<u8>>> {
        self.exchange(
            |out| {
                out.raw(b"( rev-prop ( ");
                out.rev(revision);
                out.text(name);
                out.raw(b") ) ");
            },
            |mut reply| Ok(reply.bracketed_bytes()?.map(<[u8]>::to_vec)),
        )
    }

    pub(super) fn set_rev_prop(&self, change: &RevpropChange<'_>) -> SvnResult<()> {
        let atomic = self.knows("atomic-revprops");
        if change.expected.is_some() && !atomic {
            return Err(SvnError::new(
                ErrorCode::RA_NOT_IMPLEMENTED,
                "Server doesn't support atomic changes of revision properties",
            ));
        }
        let mut conn = self.conn()?;
        let out = conn.out();
        if atomic {
            out.raw(b"( change-rev-prop2 ( ");
            out.rev(change.revision);
            out.text(change.name);
            out.bracketed(change.value);
            out.open();
            out.bool(change.expected.is_none());
            if let Some(Some(old)) = change.expected {
                out.string(old);
            }
            out.raw(b") ) ) ");
        } else {
            out.raw(b"( change-rev-prop ( ");
            out.rev(change.revision);
            out.text(change.name);
            if let Some(value) = change.value {
                out.string(value);
            }
            out.raw(b") ) ");
        }
        self.authenticate(&mut conn)?;
        conn.reply(|_| Ok(()))
    }

    pub(super) fn kind_of(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
    ) -> SvnResult<Option<NodeKind>> {
        let path = self.at(path);
        self.exchange(
            |out| {
                out.raw(b"( check-path ( ");
                out.text(&path);
                out.bracketed_rev(revision);
                out.raw(b") ) ");
            },
            |mut reply| Ok(NodeKind::from_word(reply.word()?.as_bytes())),
        )
    }

    pub(super) fn dirent_of(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
    ) -> SvnResult<Option<Dirent>> {
        let path = self.at(path);
        let mut conn = self.conn()?;
        write_stat(conn.out(), &path, revision);
        self.authenticate_new(&mut conn, "'stat' not implemented")?;
        conn.reply(read_stat)
    }

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

    pub(super) fn fetch_file(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        want_props: bool,
    ) -> SvnResult<FetchedFile> {
        let path = self.at(path);
        let mut conn = self.conn()?;
        Ok(self.ask_for_file(&mut conn, &path, revision, (want_props, false))?.0)
    }

    pub(super) fn fetch_text(
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

    /// The youngest revision, a node in it and its lock. The three questions go out together where the server knows the
    /// user: otherwise it might ask for a name before it answers one of them.
    pub(super) fn look_at_head(&self, path: &RelPath) -> SvnResult<HeadNode> {
        let below = self.at(path);
        let mut conn = self.conn()?;
        let (revision, dirent, lock) = if self.repository.is_logged_in {
            let out = conn.out();
            out.raw(b"( get-latest-rev ( ) ) ");
            write_stat(out, &below, None);
            write_get_lock(out, &below);
            self.authenticate_reader(&mut conn)?;
            let revision = conn.reply(|mut reply| Ok(reply.rev()?))?;
            let dirent = self.authenticate(&mut conn).and_then(|()| conn.reply(read_stat));
            let lock = self.authenticate(&mut conn).and_then(|()| conn.reply(read_get_lock));
            drop(conn);
            // A commit may have come between the first question and the second one.
            let is_of_it = |found: &Dirent| found.created_rev <= revision;
            let dirent = match dirent {
                Ok(Some(found)) if is_of_it(&found) => Some(found),
                _ => self.dirent_of(path, Some(revision))?,
            };
            (revision, dirent, lock.map_err(|error| old_server(error, OLD_SERVER)))
        } else {
            drop(conn);
            let revision = self.latest_revnum()?;
            let dirent = self.dirent_of(path, Some(revision))?;
            let lock = if dirent.is_some() { self.fetch_lock(path) } else { Ok(None) };
            (revision, dirent, lock)
        };
        Ok(HeadNode { revision, dirent, lock })
    }

    pub(super) fn fetch_dir(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        entries: Option<DirentFields>,
        want_props: bool,
    ) -> SvnResult<FetchedDir> {
        let path = self.at(path);
        self.exchange(
            |out| {
                out.raw(b"( get-dir ( ");
                out.text(&path);
                out.bracketed_rev(revision);
                out.bool(want_props);
                out.bool(entries.is_some());
                write_fields(out, entries.unwrap_or_default());
                out.bool(false);
                out.raw(b") ) ");
            },
            |mut reply| {
                let revision = reply.rev()?;
                let props = read_props(reply.list()?)?;
                let mut dir = FetchedDir { revision, props, entries: Vec::new() };
                for item in reply.list()? {
                    let entry =
                        item.list().map_err(|_| WireError::Part("Dirlist element not a list"))?;
                    let mut entry = entry.tuple();
                    let name = entry.text()?;
                    if name.is_empty() || name.contains('/') {
                        return Err(SvnError::new(
                            ErrorCode::RA_SVN_MALFORMED_DATA,
                            format!("Invalid directory entry name '{name}'"),
                        ));
                    }
                    dir.entries.push((name.to_owned(), read_dirent(entry)?));
                }
                Ok(dir)
            },
        )
    }

    pub(super) fn fetch_inherited(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
    ) -> SvnResult<InheritedProps> {
        if !self.knows("inherited-props") {
            return Err(SvnError::new(ErrorCode::RA_NOT_IMPLEMENTED, ""));
        }
        let path = self.at(path);
        self.exchange(
            |out| {
                out.raw(b"( get-iprops ( ");
                out.text(&path);
                out.bracketed_rev(revision);
                out.raw(b") ) ");
            },
            |mut reply| {
                let mut found = InheritedProps::new();
                for item in reply.list()? {
                    let entry = item
                        .list()
                        .map_err(|_| WireError::Part("Inherited proplist element not a list"))?;
                    let mut entry = entry.tuple();
                    found.push((entry.relpath()?.into_owned(), read_props(entry.list()?)?));
                }
                Ok(found)
            },
        )
    }

    pub(super) fn fetch_mergeinfo(
        &self,
        request: &MergeinfoRequest<'_>,
    ) -> SvnResult<Vec<(RelPathBuf, Mergeinfo)>> {
        let paths = self.all_at(request.paths);
        self.exchange(
            |out| {
                out.raw(b"( get-mergeinfo ( ( ");
                for path in &paths {
                    out.text(path);
                }
                out.close();
                out.bracketed_rev(request.revision);
                out.word(request.inherit.word());
                out.bool(request.include_descendants);
                out.raw(b") ) ");
            },
            |mut reply| {
                let mut catalog = Vec::new();
                for item in reply.list()? {
                    let entry = item
                        .list()
                        .map_err(|_| WireError::Part("Mergeinfo element is not a list"))?;
                    let mut entry = entry.tuple();
                    let path = self.client_path(entry.text()?);
                    catalog.push((path, Mergeinfo::parse(entry.bytes()?)?));
                }
                Ok(catalog)
            },
        )
    }

    pub(super) fn fetch_deleted_rev(
        &self,
        path: &RelPath,
        peg: Revnum,
        end: Revnum,
    ) -> SvnResult<Option<Revnum>> {
        let path = self.at(path);
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( get-deleted-rev ( ");
        out.text(&path);
        out.rev(peg);
        out.rev(end);
        out.raw(b") ) ");
        self.authenticate_new(&mut conn, "'get-deleted-rev' not implemented")?;
        match conn.reply(|mut reply| Ok(reply.rev()?)) {
            Ok(revision) => Ok(Some(revision)),
            // The protocol has no other word for "not deleted".
            Err(e) if e.code() == ErrorCode::ENTRY_MISSING_REVISION => Ok(None),
            Err(e) => Err(e),
        }
    }
}
