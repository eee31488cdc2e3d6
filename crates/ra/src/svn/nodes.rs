//! Nodes of a revision: what they are, directories, inherited properties.

use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, NodeKind, Revnum, SvnError, SvnResult};
use sapwood_wire_svn::data::read_props;
use sapwood_wire_svn::{Encode as _, Error as WireError, Tuple};

use super::connection::Connection;
use super::locks::{OLD_SERVER, read_get_lock, write_get_lock};
use super::replies::{read_dirent, read_listed, write_fields};
use super::session::{SvnSession, old_server};
use super::streams::{in_step, next};
use crate::session::{
    Dirent, DirentFields, EntryReceiver, FetchedDir, HeadNode, InheritedProps, ListRequest,
    Locks as _, Nodes, Revisions as _,
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

/// Asks for the youngest revision, and for a node of it.
fn write_head(out: &mut Vec<u8>, path: &RelPath) {
    out.raw(b"( get-latest-rev ( ) ) ");
    write_stat(out, path, None);
}

impl SvnSession {
    /// Reads the answers to [`write_head`], which other commands may follow.
    fn read_head(&self, conn: &mut Connection) -> SvnResult<(Revnum, SvnResult<Option<Dirent>>)> {
        let asked = self.authenticate_reader(conn);
        let revision = asked.and_then(|()| conn.reply(|mut reply| Ok(reply.rev()?)));
        if revision.is_err() {
            // The answers to the rest are on their way.
            conn.give_up();
        }
        let revision = revision?;
        let dirent = self.authenticate(conn).and_then(|()| conn.reply(read_stat));
        Ok((revision, dirent))
    }

    /// What is known of a node in `revision`, when this was found in what was the youngest a moment later: a commit may
    /// have come between the two questions.
    fn of_head(
        &self,
        path: &RelPath,
        revision: Revnum,
        found: SvnResult<Option<Dirent>>,
    ) -> SvnResult<Option<Dirent>> {
        match found {
            Ok(Some(found)) if found.created_rev <= revision => Ok(Some(found)),
            _ => self.stat(path, Some(revision)),
        }
    }
}

impl Nodes for SvnSession {
    fn check_path(&self, path: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<NodeKind>> {
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

    fn stat(&self, path: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<Dirent>> {
        let path = self.at(path);
        let mut conn = self.conn()?;
        write_stat(conn.out(), &path, revision);
        self.authenticate_new(&mut conn, "'stat' not implemented")?;
        conn.reply(read_stat)
    }

    /// The youngest revision, a node in it and its lock. The three questions go out together where the server knows the
    /// user: otherwise it might ask for a name before it answers one of them.
    fn stat_head(&self, path: &RelPath) -> SvnResult<HeadNode> {
        if !self.repository.is_logged_in {
            let revision = self.latest_revnum()?;
            let dirent = self.stat(path, Some(revision))?;
            let lock = if dirent.is_some() { self.get_lock(path) } else { Ok(None) };
            return Ok(HeadNode { revision, dirent, lock });
        }
        let below = self.at(path);
        let mut conn = self.conn()?;
        write_head(conn.out(), &below);
        write_get_lock(conn.out(), &below);
        let (revision, dirent) = self.read_head(&mut conn)?;
        let lock = self.authenticate(&mut conn).and_then(|()| conn.reply(read_get_lock));
        drop(conn);
        let dirent = self.of_head(path, revision, dirent)?;
        Ok(HeadNode { revision, dirent, lock: lock.map_err(|e| old_server(e, OLD_SERVER)) })
    }

    /// Both questions go out together where the server knows the user.
    fn kind_at_head(&self, path: &RelPath) -> SvnResult<(Revnum, Option<NodeKind>)> {
        if !self.repository.is_logged_in {
            let revision = self.latest_revnum()?;
            return Ok((revision, self.check_path(path, Some(revision))?));
        }
        let below = self.at(path);
        let mut conn = self.conn()?;
        write_head(conn.out(), &below);
        let (revision, dirent) = self.read_head(&mut conn)?;
        drop(conn);
        let dirent = self.of_head(path, revision, dirent)?;
        Ok((revision, dirent.and_then(|found| found.kind)))
    }

    fn get_dir(
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

    fn list(&self, request: &ListRequest<'_>, receiver: EntryReceiver<'_>) -> SvnResult<()> {
        if !self.knows("list") {
            return Err(SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, ""));
        }
        let path = self.at(request.path);
        let mut conn = self.conn()?;
        let out = conn.out();
        out.raw(b"( list ( ");
        out.text(&path);
        out.bracketed_rev(request.revision);
        out.depth(request.depth);
        write_fields(out, request.fields);
        if let Some(patterns) = request.patterns {
            out.open();
            for pattern in patterns {
                out.text(pattern);
            }
            out.close();
        }
        out.raw(b") ) ");
        self.authenticate_reader(&mut conn)?;
        let result = loop {
            let more = next(&mut conn, "List entry not a list", |tuple| {
                let (path, dirent) = read_listed(tuple)?;
                receiver(&path, &dirent)
            });
            match more {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(e) => break Err(e),
            }
        };
        in_step(&mut conn, result)?;
        conn.reply(|_| Ok(()))
    }

    fn inherited_props(
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
}
